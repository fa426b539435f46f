//! The ground truth: the answers that no chain carries, kept beside the economy to judge analyses by.
//!
//! One Parquet file per table. Addresses and hashes are in the canonical text of their chain, raw amounts as decimal
//! text in the smallest unit, times as epoch seconds; a missing `contract` means the native coin.
//!
//! | file | one row per | order | columns |
//! |---|---|---|---|
//! | `addresses` | address that occurs on a chain | chain, address | `blockchain`, `address`, `role` ([`Role`]), `owner` |
//! | `cases` | step of a crime or scheme | time | `case`, `kind`, `step` (from 0), `stage`, `blockchain`, `tx_hash`, `from`, `to`, `contract`, `amount_raw` |
//! | `behaviours` | planted behaviour | time of its end | `blockchain`, `address`, `code` ([`Behaviour`]), `verdict` (`planted`, or `innocent` for what stays just below a threshold), `count` (transactions), `counterparties`, `usd_cents`, `first_tx_hash`, `last_tx_hash` |
//! | `bridge_transfers` | transfer over a bridge | time of payment | `bridge`, `id`, `class` (A to F: how its legs can be joined), `outcome` (`completed`, `refunded`, `pending`), both legs (of a refund the second is the way back; none while pending): `blockchain`, `tx_hash`, user, `contract`, `amount_raw`, `time` |
//! | `mixer_links` | deposit that was withdrawn | time of withdrawal | `blockchain`, `pool`, `deposit_tx_hash`, `depositor`, `withdrawal_tx_hash`, `recipient` |
//! | `true_balances` | holder of a token whose transfers do not show everything | end of the economy | `blockchain`, `address`, `contract`, `amount_raw` |
//! | `change_outputs` | bitcoin payment with change | time | `tx_hash`, `output_index` (from 0) |
//! | `clusters` | bitcoin address | address | `address`, `wallet` (one key store of one owner) |
//! | `wallets` | bitcoin wallet that occurs | order of making | `wallet`, `owner`, `software`, `script`, `change_address`, `change_place`, `coin_choice`, `version`, `lock_time`, `sequence` |
//! | `joint_transactions` | bitcoin transaction of several people, or that looks so | time | `tx_hash`, `kind` ([`JointKind`]), `coinjoin` |
//! | `labels` | claim of a public list, or freeze by an issuer | chain, address | `blockchain`, `address`, `code`, `entity`, `list`, `group`, `level`, `asserted_at`, `valid_until` (both may be missing), `correct` |
//! | `prices` | symbol and day | symbol, day | `symbol`, `time` (first second of the day), `usd_micros` |
//!
//! # Labels
//!
//! The folder `labels` beside the tables contains the lists as they are published ([`crate::LabelList`]), which do not
//! say which of their claims are right. The table `labels` does, for every claim of every list:
//!
//! - A claim is right when the address is what its code says. Lists err about strangers, victims and shops.
//! - The list `sanctions` names an EVM address once; the table has a row for every chain on which it occurs.
//!   `asserted_at` is the day of its listing, weeks to months after its party began; `valid_until` is the date of the
//!   second edition where the address is gone from it (a delisting). A mixer is delisted although the claim was right; a
//!   person is because it was wrong.
//! - Rows of `issuer-freezes` are in no file: they follow from the logs of the contracts of Tether and Circle, as block
//!   times. They are facts, and right even where an issuer freezes the innocent; `addresses` says whom.

mod address;
mod behaviour;
mod flow;
mod hidden;
mod joint;
mod label;
mod price;
mod table;
mod utxo;
mod wallet;
mod writer;

use std::path::Path;

pub use address::{AddressTruth, Role};
pub use behaviour::{Behaviour, Evidence, PlantedBehaviour, Verdict};
pub use flow::{BridgeClass, BridgeLeg, BridgeOutcome, BridgeTransfer, CaseStep, MixerLink};
pub use hidden::TrueBalance;
pub use joint::{JointKind, JointTransaction};
pub use label::PublicLabel;
pub use price::DayPrice;
pub use table::TruthError;
pub use utxo::{ChangeOutput, ClusterMember};
pub use wallet::WalletTruth;
pub use writer::TruthWriter;

/// The ground truth, or the part of it that one slice of time adds.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Truth {
    /// Role and owner of every address that occurs on a chain.
    pub addresses: Vec<AddressTruth>,
    /// The paths of the scams, step by step.
    pub cases: Vec<CaseStep>,
    /// The addresses that behave like an entry of the catalogue of behaviours, on purpose.
    pub behaviours: Vec<PlantedBehaviour>,
    /// Both legs of every bridge transfer.
    pub bridge_transfers: Vec<BridgeTransfer>,
    /// The deposit of a mixer that each withdrawal belongs to.
    pub mixer_links: Vec<MixerLink>,
    /// The true balances of holders of odd tokens at the end.
    pub true_balances: Vec<TrueBalance>,
    /// The change of every bitcoin payment that has some.
    pub change_outputs: Vec<ChangeOutput>,
    /// The wallet that every bitcoin address belongs to.
    pub clusters: Vec<ClusterMember>,
    /// The habits of every bitcoin wallet.
    pub wallets: Vec<WalletTruth>,
    /// Bitcoin transactions of several people, and what looks like them.
    pub joints: Vec<JointTransaction>,
    /// The claims of public lists and issuers: partial, and partly wrong.
    pub labels: Vec<PublicLabel>,
    /// Daily prices.
    pub prices: Vec<DayPrice>,
}

impl Truth {
    /// Adds the truth of a later slice.
    pub fn append(&mut self, later: Self) {
        self.addresses.extend(later.addresses);
        self.cases.extend(later.cases);
        self.behaviours.extend(later.behaviours);
        self.bridge_transfers.extend(later.bridge_transfers);
        self.mixer_links.extend(later.mixer_links);
        self.true_balances.extend(later.true_balances);
        self.change_outputs.extend(later.change_outputs);
        self.clusters.extend(later.clusters);
        self.wallets.extend(later.wallets);
        self.joints.extend(later.joints);
        self.labels.extend(later.labels);
        self.prices.extend(later.prices);
    }

    /// Writes one Parquet file per table.
    ///
    /// # Errors
    /// When the folder or a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), TruthError> {
        let mut writer = TruthWriter::create(folder)?;
        writer.append(self)?;
        writer.finish()
    }

    /// Reads what [`Self::write`] or a [`TruthWriter`] wrote.
    ///
    /// # Errors
    /// When a file is missing, is not Parquet, or holds what no truth holds.
    pub fn read(folder: &Path) -> Result<Self, TruthError> {
        Ok(Self {
            addresses: table::read(folder)?,
            cases: table::read(folder)?,
            behaviours: table::read(folder)?,
            bridge_transfers: table::read(folder)?,
            mixer_links: table::read(folder)?,
            true_balances: table::read(folder)?,
            change_outputs: table::read(folder)?,
            clusters: table::read(folder)?,
            wallets: table::read(folder)?,
            joints: table::read(folder)?,
            labels: table::read(folder)?,
            prices: table::read(folder)?,
        })
    }
}
