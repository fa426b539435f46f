//! The record of one movement, shared by lists and transaction detail.

use headwater_ledger::read::{Direction, MovementKind, Ordinal, Status, TransactionHead};
use headwater_types::{Address, Amount, Family};
use serde::Serialize;

use crate::asset_book::AssetView;
use crate::rebasing::rebases;
use crate::valuation::{Output, Valuer, decimal};

/// One movement of one asset.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransferRow {
    /// `{blockchain}:{tx_hash}:{kind}:{n}`: stable and unique.
    pub id: String,
    /// Chain.
    pub blockchain: String,
    /// Transaction.
    pub tx_hash: String,
    /// Block number.
    pub block_number: u64,
    /// Time of the block, epoch seconds.
    pub timestamp: i64,
    /// Position of the transaction in the block, where known.
    pub tx_index: Option<u32>,
    /// Log index or trace ordinal; on Bitcoin the place of the address in the transaction.
    pub log_index: Option<u64>,
    /// `native`, `internal`, `token`, `utxo`, `coinbase`, `mint` or `burn`.
    pub transfer_type: &'static str,
    /// Sender; null when there are several or none.
    pub from_address: Option<String>,
    /// Receiver; null when there are several or none.
    pub to_address: Option<String>,
    /// The other side, relative to the address asked about.
    pub counterparty: Option<String>,
    /// `send`, `receive` or `self`.
    pub action: Option<&'static str>,
    /// `To`, `From` or `Self`.
    pub direction: Option<&'static str>,
    /// Lowercase symbol; null when neither registry nor source names the asset.
    pub symbol: Option<String>,
    /// Contract; null for the native coin.
    pub contract: Option<String>,
    /// Decimals; null when unknown, then `amount` is null too.
    pub decimals: Option<u8>,
    /// Whole units as exact decimal text, never negative.
    pub amount: Option<String>,
    /// Smallest units.
    pub amount_raw: String,
    /// US dollars at the time of the transfer; null when there is no price.
    pub amount_usd: Option<f64>,
    /// `success`, `failed` or `unknown`.
    pub status: &'static str,
    /// Whether a registry vouches for the asset.
    pub verified: bool,
    /// Signs to look at: `zero_value`, `unverified_token`, `spoofed_symbol`, `dust`, `contract_creation`,
    /// `rebasing` (the token is known to change balances without transfers), `approximate` (a source rounded the amount
    /// to a double: it is in no balance), `status_unknown`.
    pub flags: Vec<&'static str>,
    /// Who the counterparty is; null until labels are built.
    pub counterparty_label: Option<String>,
    /// The amount in the unit of `output_asset`; only with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub amount_out: Option<Option<String>>,
    /// Bitcoin only: the other side, largest share first, at most 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub counterparties: Option<Vec<String>>,
    /// Bitcoin only: number of inputs of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inputs_count: Option<u64>,
    /// Bitcoin only: number of outputs of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs_count: Option<u64>,
}

/// What a row is made of.
pub(crate) struct RowParts<'a> {
    pub head: TransactionHead,
    pub kind: MovementKind,
    pub ordinal: Ordinal,
    pub from: Option<Address>,
    pub to: Option<Address>,
    pub asset: &'a AssetView,
    pub amount: Amount,
    pub status: Option<Status>,
    pub creates_contract: bool,
    /// Whether the amount is known to the precision of a double only.
    pub approximate: bool,
    /// Direction and counterparty as seen from the address asked about.
    pub seen: Option<(Direction, Option<Address>)>,
}

/// Outputs up to this many satoshis are dust: a P2PKH output of less costs more to spend than it holds.
const DUST_SATOSHI: u64 = 546;
/// Transfers below one cent are dust elsewhere.
const DUST_USD: f64 = 0.01;

impl RowParts<'_> {
    pub fn row(&self, valuer: &Valuer, output: &Output) -> TransferRow {
        let chain = self.head.chain;
        let hash = self.head.hash.display(chain.family());
        let usd = valuer.usd(self.asset, self.amount, self.head.time);
        let converted = valuer.converted(output, self.asset, self.amount, usd, self.head.time);
        let amount = self.asset.decimals.map(|decimals| self.amount.to_decimal(decimals));
        let (action, direction) = match self.seen.map(|(direction, _)| direction) {
            None => (None, None),
            Some(Direction::In) => (Some("receive"), Some("From")),
            Some(Direction::Out) => (Some("send"), Some("To")),
            Some(Direction::Own) => (Some("self"), Some("Self")),
        };
        TransferRow {
            id: format!("{chain}:{hash}:{}:{}", self.kind.name(), self.ordinal.number()),
            blockchain: chain.name().to_owned(),
            tx_hash: hash,
            block_number: self.head.block,
            timestamp: self.head.time.secs(),
            tx_index: self.head.index,
            log_index: match self.kind {
                MovementKind::Native => None,
                MovementKind::Internal | MovementKind::Token | MovementKind::Utxo => self.ordinal.shown(),
            },
            transfer_type: self.transfer_type(),
            from_address: self.from.map(|address| address.to_string()),
            to_address: self.to.map(|address| address.to_string()),
            counterparty: self.seen.and_then(|(_, other)| other).map(|address| address.to_string()),
            action,
            direction,
            symbol: self.asset.symbol.clone(),
            contract: self.asset.contract.clone(),
            decimals: self.asset.decimals,
            amount: amount.clone(),
            amount_raw: self.amount.to_string(),
            amount_usd: usd,
            status: status_name(self.kind, self.status),
            verified: self.asset.verified,
            flags: self.flags(usd),
            counterparty_label: None,
            amount_out: match output {
                Output::Own | Output::PerSymbol => None,
                Output::Asset { .. } if output.is_unit_of(self.asset) => Some(amount),
                Output::Usd | Output::Asset { .. } => Some(converted.map(decimal)),
            },
            counterparties: None,
            inputs_count: None,
            outputs_count: None,
        }
    }

    fn transfer_type(&self) -> &'static str {
        let nobody = |address: Option<Address>| address.is_none_or(|address| address.is_zero());
        match self.kind {
            MovementKind::Token if nobody(self.from) => "mint",
            MovementKind::Token if nobody(self.to) => "burn",
            // Allocations and rewards are the only native movements without a sender.
            MovementKind::Native if self.from.is_none() => "mint",
            kind => kind.name(),
        }
    }

    fn flags(&self, usd: Option<f64>) -> Vec<&'static str> {
        let dust = match self.kind {
            MovementKind::Utxo => self.amount <= Amount::from(DUST_SATOSHI),
            MovementKind::Native | MovementKind::Internal | MovementKind::Token => {
                usd.is_some_and(|usd| usd < DUST_USD)
            }
        };
        // Votes and stakes on TRON have no receiver; what creates a contract there says which.
        let is_without_receiver = self.head.chain.family() == Family::Tron && self.to.is_none();
        let status_unknown = self.status.is_none() && self.kind != MovementKind::Utxo;
        [
            ("zero_value", self.amount.is_zero()),
            ("unverified_token", !self.asset.verified),
            ("spoofed_symbol", self.asset.spoofed),
            ("dust", dust && !self.amount.is_zero()),
            ("contract_creation", self.creates_contract && !is_without_receiver),
            ("rebasing", rebases(self.head.chain, &self.asset.asset)),
            ("approximate", self.approximate),
            ("status_unknown", status_unknown),
        ]
        .into_iter()
        .filter_map(|(flag, raised)| raised.then_some(flag))
        .collect()
    }
}

/// The name of a status. A UTXO transaction in a block has succeeded.
pub(crate) fn status_name(kind: MovementKind, status: Option<Status>) -> &'static str {
    match (status, kind) {
        (Some(Status::Success), _) | (None, MovementKind::Utxo) => "success",
        (Some(Status::Failed), _) => "failed",
        (None, MovementKind::Native | MovementKind::Internal | MovementKind::Token) => "unknown",
    }
}
