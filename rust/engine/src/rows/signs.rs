//! The names of movements, and the signs on them to look at.

use headwater_ledger::read::{MovementKind, Status};
use headwater_types::{Address, Amount, Family};

use crate::asset_book::AssetView;
use crate::fields::{TransactionStatus, TransferFlag, TransferType};

/// Outputs up to this many satoshis are dust: a P2PKH output of less costs more to spend than it holds.
const DUST_SATOSHI: u64 = 546;
/// Transfers below one cent are dust elsewhere.
const DUST_USD: f64 = 0.01;

/// Returns the type of a movement by its kind and ends. A net change in the transaction that mints a block reward is
/// [`TransferType::Coinbase`], which the transaction shows.
///
/// ```
/// use headwater_engine::{fields::TransferType, transfer_type};
/// use headwater_ledger::read::MovementKind;
/// use headwater_types::Address;
/// let (zero, bob) = (Address::Evm([0; 20]), Address::Evm([7; 20]));
/// assert_eq!(transfer_type(MovementKind::Token, Some(zero), Some(bob)), TransferType::Mint);
/// assert_eq!(transfer_type(MovementKind::Token, Some(bob), None), TransferType::Burn);
/// ```
#[must_use]
pub fn transfer_type(kind: MovementKind, from: Option<Address>, to: Option<Address>) -> TransferType {
    let is_zero = |address: Option<Address>| address.is_some_and(|address| address.is_zero());
    let nobody = |address: Option<Address>| address.is_none() || is_zero(address);
    match kind {
        // Of a redemption the owner may be unknown.
        MovementKind::Token if is_zero(to) && !is_zero(from) => TransferType::Burn,
        MovementKind::Token if nobody(from) => TransferType::Mint,
        MovementKind::Token if nobody(to) => TransferType::Burn,
        // Allocations and rewards are the only native movements without a sender.
        MovementKind::Native if from.is_none() => TransferType::Mint,
        MovementKind::Native => TransferType::Native,
        MovementKind::Internal => TransferType::Internal,
        MovementKind::Token => TransferType::Token,
        MovementKind::Utxo => TransferType::Utxo,
    }
}

/// The name of a status. A UTXO transaction in a block has succeeded.
#[must_use]
pub fn status_name(kind: MovementKind, status: Option<Status>) -> TransactionStatus {
    match (status, kind) {
        (Some(Status::Success), _) | (None, MovementKind::Utxo) => TransactionStatus::Success,
        (Some(Status::Failed), _) => TransactionStatus::Failed,
        (None, MovementKind::Native | MovementKind::Internal | MovementKind::Token) => TransactionStatus::Unknown,
    }
}

/// The facts of a movement that its flags follow from.
#[derive(Debug, Clone, Copy)]
pub struct MovementSigns<'a> {
    /// Family of the chain.
    pub family: Family,
    /// Kind of movement.
    pub kind: MovementKind,
    /// The receiver.
    pub to: Option<Address>,
    /// The asset that moved.
    pub asset: &'a AssetView,
    /// The amount.
    pub amount: Amount,
    /// Its value in US dollars; `None` without a price.
    pub usd: Option<f64>,
    /// The outcome of the transaction; `None` when unknown.
    pub status: Option<Status>,
    /// True if the movement created the receiving contract.
    pub creates_contract: bool,
    /// True if the amount is known to the precision of a double only.
    pub approximate: bool,
    /// True if balances of the asset change without transfers.
    pub rebases: bool,
}

impl MovementSigns<'_> {
    /// Returns the flags of the movement, in their order.
    #[must_use]
    pub fn flags(&self) -> Vec<TransferFlag> {
        let dust = match self.kind {
            MovementKind::Utxo => self.amount <= Amount::from(DUST_SATOSHI),
            MovementKind::Native | MovementKind::Internal | MovementKind::Token => {
                self.usd.is_some_and(|usd| usd < DUST_USD)
            }
        };
        // Votes and stakes on TRON have no receiver; what creates a contract there says which.
        let is_without_receiver = self.family == Family::Tron && self.to.is_none();
        let status_unknown = self.status.is_none() && self.kind != MovementKind::Utxo;
        [
            (TransferFlag::ZeroValue, self.amount.is_zero()),
            (TransferFlag::UnverifiedToken, !self.asset.verified),
            (TransferFlag::SpoofedSymbol, self.asset.spoofed),
            (TransferFlag::Dust, dust && !self.amount.is_zero()),
            (TransferFlag::ContractCreation, self.creates_contract && !is_without_receiver),
            (TransferFlag::Rebasing, self.rebases),
            (TransferFlag::Approximate, self.approximate),
            (TransferFlag::StatusUnknown, status_unknown),
        ]
        .into_iter()
        .filter_map(|(flag, raised)| raised.then_some(flag))
        .collect()
    }
}
