//! The record of one movement, shared by lists and transaction detail.

use headwater_ledger::read::{Direction, MovementKind, Ordinal, Status, TransactionHead};
use headwater_types::{Address, Amount};
use serde::Serialize;

use super::signs::{MovementSigns, status_name, transfer_type};
use crate::asset_book::AssetView;
use crate::fields::{
    Action, AddressText, ChainName, DecimalText, FlowDirection, HashText, OutputAmount, RawAmountText, Time,
    TransactionStatus, TransferFlag, TransferId, TransferType,
};
use crate::valuation::{Output, Valuer, decimal};

/// One movement of one asset.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct TransferRow {
    /// `{blockchain}:{tx_hash}:{kind}:{n}`: stable and unique.
    pub id: TransferId,
    /// Chain.
    pub blockchain: ChainName,
    /// Transaction.
    pub tx_hash: HashText,
    /// Block number.
    pub block_number: u64,
    /// Time of the block, epoch seconds.
    pub timestamp: Time,
    /// Position of the transaction in the block, where known.
    pub tx_index: Option<u32>,
    /// Log index or trace ordinal; on Bitcoin the place of the address in the transaction.
    pub log_index: Option<u64>,
    /// `native`, `internal`, `token`, `utxo`, `coinbase`, `mint` or `burn`.
    pub transfer_type: TransferType,
    /// Sender; null when there are several or none.
    pub from_address: Option<AddressText>,
    /// Receiver; null when there are several or none.
    pub to_address: Option<AddressText>,
    /// The other side, relative to the address asked about.
    pub counterparty: Option<AddressText>,
    /// `send`, `receive` or `self`.
    pub action: Option<Action>,
    /// `To`, `From` or `Self`.
    pub direction: Option<FlowDirection>,
    /// Lowercase symbol; null when neither registry nor source names the asset.
    pub symbol: Option<String>,
    /// Contract; null for the native coin.
    pub contract: Option<AddressText>,
    /// Decimals; null when unknown, then `amount` is null too.
    #[schema(maximum = 255)]
    pub decimals: Option<u8>,
    /// Whole units as exact decimal text, never negative.
    pub amount: Option<DecimalText>,
    /// Smallest units.
    pub amount_raw: RawAmountText,
    /// US dollars at the time of the transfer; null when there is no price.
    pub amount_usd: Option<f64>,
    /// `success`, `failed` or `unknown`.
    pub status: TransactionStatus,
    /// Whether a registry vouches for the asset.
    pub verified: bool,
    /// Signs to look at: `zero_value`, `unverified_token`, `spoofed_symbol`, `dust`, `contract_creation`,
    /// `rebasing` (the token is known to change balances without transfers), `approximate` (a source rounded the amount
    /// to a double: it is in no balance), `status_unknown`.
    pub flags: Vec<TransferFlag>,
    /// The entity behind the counterparty; null when none is known.
    pub counterparty_label: Option<String>,
    /// The amount in the unit of `output_asset`; only with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub amount_out: Option<OutputAmount>,
    /// Bitcoin only: the other side, largest share first, at most 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false, max_items = 10)]
    pub counterparties: Option<Vec<AddressText>>,
    /// Bitcoin only: number of inputs of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub inputs_count: Option<u64>,
    /// Bitcoin only: number of outputs of the transaction.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
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
    /// Whether balances of the asset change without transfers.
    pub rebases: bool,
    /// Direction and counterparty as seen from the address asked about.
    pub seen: Option<(Direction, Option<Address>)>,
}

impl RowParts<'_> {
    pub fn row(&self, valuer: &Valuer, output: &Output) -> TransferRow {
        let chain = self.head.chain;
        let hash = self.head.hash.display(chain.family());
        let usd = valuer.usd(self.asset, self.amount, self.head.time);
        let converted = valuer.converted(output, self.asset, self.amount, usd, self.head.time);
        let amount = self.asset.decimals.map(|decimals| DecimalText::new(self.amount, decimals));
        let (action, direction) = match self.seen.map(|(direction, _)| direction) {
            None => (None, None),
            Some(Direction::In) => (Some(Action::Receive), Some(FlowDirection::From)),
            Some(Direction::Out) => (Some(Action::Send), Some(FlowDirection::To)),
            Some(Direction::Own) => (Some(Action::Own), Some(FlowDirection::Own)),
        };
        TransferRow {
            id: TransferId(format!("{chain}:{hash}:{}:{}", self.kind.name(), self.ordinal.number())),
            blockchain: chain.into(),
            tx_hash: HashText(hash),
            block_number: self.head.block,
            timestamp: self.head.time.into(),
            tx_index: self.head.index,
            log_index: match self.kind {
                MovementKind::Native => None,
                MovementKind::Internal | MovementKind::Token | MovementKind::Utxo => self.ordinal.shown(),
            },
            transfer_type: transfer_type(self.kind, self.from, self.to),
            from_address: self.from.map(AddressText::from),
            to_address: self.to.map(AddressText::from),
            counterparty: self.seen.and_then(|(_, other)| other).map(AddressText::from),
            action,
            direction,
            symbol: self.asset.symbol.clone(),
            contract: self.asset.contract.clone(),
            decimals: self.asset.decimals,
            amount: amount.clone(),
            amount_raw: self.amount.into(),
            amount_usd: usd,
            status: status_name(self.kind, self.status),
            verified: self.asset.verified,
            flags: self.flags(usd),
            counterparty_label: None,
            amount_out: match output {
                Output::Own | Output::PerSymbol => None,
                Output::Asset { .. } if output.is_unit_of(self.asset) => Some(OutputAmount(amount)),
                Output::Usd | Output::Asset { .. } => Some(OutputAmount(converted.map(decimal))),
            },
            counterparties: None,
            inputs_count: None,
            outputs_count: None,
        }
    }

    fn flags(&self, usd: Option<f64>) -> Vec<TransferFlag> {
        let Self { kind, to, asset, amount, status, creates_contract, approximate, rebases, .. } = *self;
        let family = self.head.chain.family();
        MovementSigns { family, kind, to, asset, amount, usd, status, creates_contract, approximate, rebases }.flags()
    }
}
