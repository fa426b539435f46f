//! Transfers over bridges as answers carry them.

use headwater_bridge::{BridgeChain, Half, MatchClass, Party, Status, Token, Transfer};
use headwater_intel::bridge::Legs;
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Amount, Asset, Family, Timestamp, TxHash};
use serde::Serialize;

use crate::Error;
use crate::asset_book::AssetBook;
use crate::fields::{DecimalText, RawAmountText, Time, values};
use crate::request::Warnings;
use crate::valuation::Valuer;

values! {
    /// What became of a transfer: `initiated` where the destination chain, or its time, is not held; `unmatched` where it is,
    /// and the other leg is not found.
    CrossingStatus {
        Initiated = "initiated", Completed = "completed", Failed = "failed", Refunded = "refunded", Unmatched = "unmatched",
    }
    /// What joins the legs of a transfer: an id that both contain, equal content, or receiver, amount and time alone.
    CrossingMatch { MessageId = "message_id", EventPair = "event_pair", AmountTime = "amount_time" }
}

/// A transfer over a bridge. The six fields that are always text are empty where nothing is known.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct CrossChainTransfer {
    /// The chain that it left: `ethereum`, `arbitrum`, `solana` ..., or `eip155:` and a number.
    pub source_chain: String,
    /// The chain that it went to.
    pub destination_chain: String,
    /// The transaction on the source chain.
    pub source_tx_hash: String,
    /// The transaction on the destination chain; of several the first.
    pub destination_tx_hash: String,
    /// The transaction that paid it back; null where none did.
    pub refund_tx_hash: Option<String>,
    /// Who sent.
    pub sender_address: String,
    /// Who received, or is to.
    pub receiver_address: String,
    /// What became of it; null with an error.
    pub status: Option<CrossingStatus>,
    /// Name of the bridge.
    pub bridge: Option<String>,
    /// What the legs share: an id, or a tuple with `:` between its parts.
    pub message_id: Option<String>,
    /// Lowercase symbol of what left; null where neither registry nor event names it.
    pub source_symbol: Option<String>,
    /// Contract of what left, or `native`.
    pub source_token: Option<String>,
    /// How much left, in whole units; null where decimals are not known.
    pub source_amount: Option<DecimalText>,
    /// The same in the smallest unit.
    pub source_amount_raw: Option<RawAmountText>,
    /// Lowercase symbol of what arrived.
    pub destination_symbol: Option<String>,
    /// Contract of what arrived, or `native`.
    pub destination_token: Option<String>,
    /// How much arrived, in whole units.
    pub destination_amount: Option<DecimalText>,
    /// The same in the smallest unit.
    pub destination_amount_raw: Option<RawAmountText>,
    /// Time of the source transaction, epoch seconds.
    pub source_timestamp: Option<Time>,
    /// Time of the destination transaction, epoch seconds.
    pub destination_timestamp: Option<Time>,
    /// US dollars of what left at that time, or of what arrived; null without a price.
    pub amount_usd: Option<f64>,
    /// What joins the legs; null where one is known alone.
    #[serde(rename = "match")]
    pub matched: Option<CrossingMatch>,
    /// How sure it is that the legs belong together, or that a lone leg is one.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
}

/// The transfers over bridges that a transaction is a leg of, in order of its logs.
pub(crate) fn crossings(
    ledger: &dyn Ledger,
    transaction: TransactionRef,
    warnings: &mut Warnings,
    cancel: &Cancel,
) -> Result<Vec<CrossChainTransfer>, Error> {
    let legs = Legs::read(ledger, &ledger.transaction(transaction)?, cancel)?;
    if legs.is_partial {
        warn_of_missing_legs(warnings);
    }
    legs.transfers().iter().map(|transfer| CrossChainTransfer::new(ledger, transfer)).collect()
}

/// Warns of legs of transfers that were not looked for.
pub(crate) fn warn_of_missing_legs(warnings: &mut Warnings) {
    let message = "not all legs were looked for: an index of bridges is missing (run `headwater compact`), or too many \
                   legs share a key";
    warnings.add("partial_match", None, message);
}

/// One side of a transfer, as far as its own leg, or the other one, tells of it.
#[derive(Default)]
struct Side {
    chain: Option<BridgeChain>,
    transaction: Option<TxHash>,
    time: Option<Timestamp>,
    token: Option<Token>,
    amount: Option<Amount>,
}

impl Side {
    fn of(leg: &Half) -> Self {
        Self {
            chain: Some(leg.chain),
            transaction: Some(leg.transaction),
            time: Some(leg.time),
            token: leg.token.clone(),
            amount: leg.amount,
        }
    }

    /// What a leg says of the other side.
    fn beyond(leg: &Half) -> Self {
        Self {
            chain: leg.other_chain,
            transaction: leg.other_transaction,
            time: None,
            token: leg.other_token.clone(),
            amount: leg.other_amount,
        }
    }

    /// The same with what another source knows where this one knows nothing.
    fn or(self, other: Self) -> Self {
        Self {
            chain: self.chain.or(other.chain),
            transaction: self.transaction.or(other.transaction),
            time: self.time.or(other.time),
            // Amounts belong to their token.
            amount: if self.token.is_some() { self.amount } else { self.amount.or(other.amount) },
            token: self.token.or(other.token),
        }
    }

    fn chain_name(&self) -> String {
        self.chain.map(BridgeChain::name).unwrap_or_default()
    }

    fn hash_text(&self) -> String {
        let family = match self.chain {
            Some(chain) => match chain.held() {
                Some(held) => held.family(),
                None if chain.evm_id().is_some() => Family::Evm,
                None => Family::Utxo,
            },
            None => Family::Evm,
        };
        self.transaction.map(|hash| hash.display(family)).unwrap_or_default()
    }

    /// Returns whether the ledger holds the chain at a time.
    fn is_held(&self, ledger: &dyn Ledger, time: Timestamp) -> bool {
        let coverage = self.chain.and_then(BridgeChain::held).and_then(|chain| ledger.coverage().get(&chain));
        let span = coverage.and_then(|coverage| coverage.first_time.zip(coverage.last_time));
        span.is_some_and(|(first, last)| first <= time && time < last)
    }
}

/// An amount of a token as answers write it.
#[derive(Default)]
struct Value {
    symbol: Option<String>,
    token: Option<String>,
    amount: Option<DecimalText>,
    raw: Option<RawAmountText>,
    usd: Option<f64>,
}

impl Value {
    fn new(ledger: &dyn Ledger, side: &Side) -> Result<Self, Error> {
        let mut value = Self {
            token: side
                .token
                .as_ref()
                .map(ToString::to_string)
                .filter(|_| !matches!(side.token, Some(Token::Symbol(_)))),
            raw: side.amount.map(RawAmountText::from),
            ..Self::default()
        };
        if let Some(Token::Symbol(symbol)) = &side.token {
            value.symbol = Some(symbol.to_lowercase());
        }
        let asset = match &side.token {
            Some(Token::Native) => Some(Asset::Native),
            Some(Token::Contract(Party::Account(address))) => Some(Asset::Token(*address)),
            Some(Token::Contract(_) | Token::Symbol(_)) | None => None,
        };
        let (Some(chain), Some(asset)) = (side.chain.and_then(BridgeChain::held), asset) else { return Ok(value) };
        let mut book = AssetBook::new(ledger, chain);
        let number = book.of_asset(asset)?;
        let view = book.view(number);
        value.symbol.clone_from(&view.symbol);
        if let Some(amount) = side.amount {
            value.amount = view.decimals.map(|decimals| DecimalText::new(amount, decimals));
            value.usd = side.time.and_then(|time| Valuer::new(ledger).usd(view, amount, time));
        }
        Ok(value)
    }
}

impl CrossChainTransfer {
    /// Creates a transfer of which nothing is known.
    pub(crate) fn empty() -> Self {
        Self {
            source_chain: String::new(),
            destination_chain: String::new(),
            source_tx_hash: String::new(),
            destination_tx_hash: String::new(),
            refund_tx_hash: None,
            sender_address: String::new(),
            receiver_address: String::new(),
            status: None,
            bridge: None,
            message_id: None,
            source_symbol: None,
            source_token: None,
            source_amount: None,
            source_amount_raw: None,
            destination_symbol: None,
            destination_token: None,
            destination_amount: None,
            destination_amount_raw: None,
            source_timestamp: None,
            destination_timestamp: None,
            amount_usd: None,
            matched: None,
            confidence: 0.0,
        }
    }

    fn new(ledger: &dyn Ledger, transfer: &Transfer<'_>) -> Result<Self, Error> {
        let arrived = transfer.destinations.first().or(transfer.failures.first()).copied();
        let refund = transfer.refunds.first().copied();
        let left = transfer.source.or(refund);
        let source = left.map(Side::of).unwrap_or_default().or(arrived.map(Side::beyond).unwrap_or_default());
        let mut destination = arrived.map(Side::of).unwrap_or_default();
        if transfer.destinations.len() > 1 {
            destination.amount = transfer.received_amount();
        }
        let destination = destination.or(left.map(Side::beyond).unwrap_or_default());
        let status = match transfer.status() {
            Status::Completed => CrossingStatus::Completed,
            Status::Failed => CrossingStatus::Failed,
            Status::Refunded => CrossingStatus::Refunded,
            Status::Sent => {
                let is_held = left.is_some_and(|leg| destination.is_held(ledger, leg.time));
                if is_held { CrossingStatus::Unmatched } else { CrossingStatus::Initiated }
            }
            Status::Received => {
                let is_held = arrived.is_some_and(|leg| source.is_held(ledger, leg.time));
                if is_held { CrossingStatus::Unmatched } else { CrossingStatus::Completed }
            }
        };
        let known = |of: fn(&Half) -> Option<&Party>| {
            let party = left.and_then(of).or_else(|| arrived.and_then(of));
            party.map(ToString::to_string).unwrap_or_default()
        };
        let received = arrived.and_then(|leg| leg.receiver.as_ref()).map(ToString::to_string);
        let (sent, came) = (Value::new(ledger, &source)?, Value::new(ledger, &destination)?);
        let first = left.or(arrived);
        Ok(Self {
            source_chain: source.chain_name(),
            destination_chain: destination.chain_name(),
            source_tx_hash: source.hash_text(),
            destination_tx_hash: destination.hash_text(),
            refund_tx_hash: refund.map(|leg| Side::of(leg).hash_text()),
            sender_address: known(|leg| leg.sender.as_ref()),
            receiver_address: received.unwrap_or_else(|| known(|leg| leg.receiver.as_ref())),
            status: Some(status),
            bridge: first.map(|leg| leg.bridge.to_string()),
            message_id: first.map(|leg| leg.key().to_string()),
            source_symbol: sent.symbol,
            source_token: sent.token,
            source_amount: sent.amount,
            source_amount_raw: sent.raw,
            destination_symbol: came.symbol,
            destination_token: came.token,
            destination_amount: came.amount,
            destination_amount_raw: came.raw,
            source_timestamp: source.time.map(Time::from),
            destination_timestamp: destination.time.map(Time::from),
            amount_usd: sent.usd.or(came.usd),
            matched: (transfer.legs().count() > 1).then(|| CrossingMatch::from(transfer.class())),
            confidence: transfer.confidence(),
        })
    }
}

impl From<MatchClass> for CrossingMatch {
    fn from(class: MatchClass) -> Self {
        match class {
            MatchClass::UniqueId | MatchClass::UniqueTuple | MatchClass::SourceHash | MatchClass::DerivedId => {
                Self::MessageId
            }
            MatchClass::Content => Self::EventPair,
            MatchClass::Heuristic => Self::AmountTime,
        }
    }
}
