//! `THORChain`: the memo says everything, and `OUT:` and `REFUND:` name the source transaction.

use std::sync::Arc;

use headwater_types::{Address, Amount, Family, Timestamp, TxHash};

use super::context::{Context, EventLog};
use super::draft::Draft;
use crate::chain::BridgeChain;
use crate::half::{Half, LinkKey, MatchClass, Step, Token};
use crate::log::TokenTransfer;
use crate::party::Party;
use crate::tables::Tables;

const FAMILY: &str = "thorchain";

/// Codes that stand for an asset in a swap: (code, chain, symbol).
const SHORT: &[(&str, &str, &str)] = &[
    ("b", "BTC", "BTC"),
    ("e", "ETH", "ETH"),
    ("s", "BSC", "BNB"),
    ("a", "AVAX", "AVAX"),
    ("f", "BASE", "ETH"),
    ("tr", "TRON", "TRX"),
    ("d", "DOGE", "DOGE"),
    ("l", "LTC", "LTC"),
    ("c", "BCH", "BCH"),
    ("g", "GAIA", "ATOM"),
    ("x", "XRP", "XRP"),
    ("r", "THOR", "RUNE"),
];

/// The order of a memo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoKind {
    /// A swap into an asset of another chain.
    Swap,
    /// The payment of a swap.
    Out,
    /// The return of a deposit.
    Refund,
}

/// A memo of `THORChain` that belongs to a transfer between chains: of a router's event, of a bitcoin `OP_RETURN` or a TRON
/// transaction.
///
/// ```
/// use headwater_bridge::{Memo, MemoKind};
/// let swap = Memo::parse("=:e:0x04c5998ded94f89263370444ce64a99b7dbc9f46:0/1/0:t:30").unwrap();
/// assert_eq!((swap.kind, swap.chain, swap.receiver), (MemoKind::Swap, Some("ETH"), Some("0x04c5998ded94f89263370444ce64a99b7dbc9f46")));
/// let text = "OUT:04AE4EC733CA6366D431376DA600C1E4E091982D06F25B13028C99EC11A4C1E4";
/// assert!(Memo::parse(text).unwrap().transaction.is_some());
/// assert!(Memo::parse("ADD:BTC.BTC").is_none());
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Memo<'a> {
    /// The order.
    pub kind: MemoKind,
    /// The destination chain of a swap, as `THORChain` names it.
    pub chain: Option<&'a str>,
    /// The asset that a swap ends in: a ticker, with `-` and a contract or its end behind it for tokens.
    pub asset: Option<&'a str>,
    /// The receiver.
    pub receiver: Option<&'a str>,
    /// The source transaction that a payment or return belongs to.
    pub transaction: Option<TxHash>,
}

impl<'a> Memo<'a> {
    /// Reads a memo, `None` where it does not order a transfer between chains: liquidity, moves of vaults, synths and trade
    /// assets (`bridges.md` 16, memo grammar).
    #[must_use]
    pub fn parse(text: &'a str) -> Option<Self> {
        let mut fields = text.split(':');
        let kind = fields.next()?;
        let is = |names: &[&str]| names.iter().any(|name| kind.eq_ignore_ascii_case(name));
        if is(&["SWAP", "s", "="]) {
            let asset = fields.next()?;
            let receiver = fields.next().map(|field| field.split('/').next().unwrap_or(field));
            let short = SHORT.iter().find(|(code, ..)| asset.eq_ignore_ascii_case(code));
            let (chain, asset) = match short {
                Some(&(_, chain, symbol)) => (chain, symbol),
                None => asset.split_once('.')?,
            };
            let receiver = receiver.filter(|receiver| !receiver.is_empty());
            return Some(Self {
                kind: MemoKind::Swap,
                chain: Some(chain),
                asset: Some(asset),
                receiver,
                transaction: None,
            });
        }
        let kind = match kind {
            _ if is(&["OUT"]) => MemoKind::Out,
            _ if is(&["REFUND"]) => MemoKind::Refund,
            _ => return None,
        };
        let transaction = TxHash::parse(Family::Utxo, fields.next()?).ok()?;
        Some(Self { kind, chain: None, asset: None, receiver: None, transaction: Some(transaction) })
    }
}

pub(super) fn legs(context: &Context<'_>) -> Vec<Draft> {
    let deposits = context.events(FAMILY, "Deposit").filter_map(|found| deposit(context, &found));
    let paid = |name, to, asset, amount| {
        context.events(FAMILY, name).filter_map(move |found| payment(context, &found, to, asset, amount))
    };
    deposits
        .chain(paid("TransferOut", "to", "asset", Some("amount")))
        .chain(paid("TransferOutAndCall", "to", "finalAsset", None))
        .chain(paid("TransferOutAndCallV2", "recipient", "toAsset", None))
        .collect()
}

fn key(transaction: &TxHash) -> String {
    hex::encode(transaction.as_bytes())
}

/// The zero address is the native coin.
fn token(context: &Context<'_>, asset: [u8; 20]) -> Token {
    if asset == [0; 20] { Token::Native } else { Token::Contract(context.here(asset)) }
}

fn deposit(context: &Context<'_>, found: &EventLog<'_>) -> Option<Draft> {
    found.emitter?;
    let memo = Memo::parse(found.text("memo")?).filter(|memo| memo.kind == MemoKind::Swap)?;
    let asset = found.account("asset")?;
    let amount: Amount = found.number("amount")?;
    let leg = context.leg(found, Step::Sent, MatchClass::SourceHash, key(&context.transaction.hash));
    Some(leg.with(|half| {
        half.other_chain = memo.chain.and_then(|chain| context.tables.chain_in(FAMILY, chain));
        half.sender = context.signer();
        half.receiver = memo.receiver.map(|receiver| Party::from_text(half.other_chain, receiver));
        half.token = Some(token(context, asset));
        half.amount = Some(amount);
        half.other_token = memo.asset.map(|asset| Token::Symbol(asset.into()));
    }))
}

/// `amount` names the field with the amount; after a swap only the transfer to the receiver states it.
fn payment(context: &Context<'_>, found: &EventLog<'_>, to: &str, asset: &str, amount: Option<&str>) -> Option<Draft> {
    found.emitter?;
    let memo = Memo::parse(found.text("memo")?)?;
    let step = match memo.kind {
        MemoKind::Out => Step::Received,
        MemoKind::Refund => Step::Refunded,
        MemoKind::Swap => return None,
    };
    let transaction = memo.transaction?;
    let leg = context.leg(found, step, MatchClass::SourceHash, key(&transaction));
    Some(leg.with(|half| {
        half.other_transaction = Some(transaction);
        half.receiver = found.account(to).map(|to| context.here(to));
        half.token = found.account(asset).map(|asset| token(context, asset));
        half.amount = match amount {
            Some(field) => found.number(field),
            None => {
                let (to, asset) = (found.account(to), found.account(asset));
                let paid = |transfer: &TokenTransfer| Some(transfer.to) == to && Some(transfer.token) == asset;
                context.transfer_near(found.log.index, paid).map(|transfer| transfer.amount)
            }
        };
    }))
}

/// A payment of the native coin with a memo: an `OP_RETURN` of bitcoin, the data of a TRON transaction, or the call data
/// of a plain transfer.
#[derive(Debug, Clone, Copy)]
pub struct MemoPayment<'a> {
    /// The chain.
    pub chain: BridgeChain,
    /// The height of the block.
    pub block: u64,
    /// The time of the block.
    pub time: Timestamp,
    /// The transaction.
    pub transaction: TxHash,
    /// The memo.
    pub memo: &'a str,
    /// The payer, if known: on bitcoin the owner of the first input.
    pub sender: Option<Address>,
    /// The payee, if known: on bitcoin the owner of the first output that is neither data nor change to a payer.
    pub receiver: Option<Address>,
    /// The amount, in the smallest unit.
    pub amount: Option<Amount>,
}

/// The leg of a payment whose memo is one of `THORChain`, `None` of any other.
///
/// Vaults change, so nothing shows that a vault is paid or pays: anybody can write such a memo. A deposit counts once a
/// router or another payment names it; a payment should only count together with its deposit.
///
/// ```
/// use headwater_bridge::{BridgeChain, MemoPayment, Step, Tables, memo_leg};
/// use headwater_types::{Chain, Timestamp, TxHash};
/// let payment = MemoPayment {
///     chain: Chain::BITCOIN.into(),
///     block: 800_000,
///     time: Timestamp::new(1_690_000_000),
///     transaction: TxHash::new([7; 32]),
///     memo: "=:ETH.ETH:0x04c5998ded94f89263370444ce64a99b7dbc9f46",
///     sender: None,
///     receiver: None,
///     amount: None,
/// };
/// let leg = memo_leg(Tables::builtin(), &payment).unwrap();
/// assert_eq!((leg.step, leg.other_chain), (Step::Sent, BridgeChain::from_name("ethereum")));
/// assert!(memo_leg(Tables::builtin(), &MemoPayment { memo: "thank you", ..payment }).is_none());
/// ```
#[must_use]
pub fn memo_leg(tables: &Tables, payment: &MemoPayment<'_>) -> Option<Half> {
    let memo = Memo::parse(payment.memo)?;
    let step = match memo.kind {
        MemoKind::Swap => Step::Sent,
        MemoKind::Out => Step::Received,
        MemoKind::Refund => Step::Refunded,
    };
    let other_chain = memo.chain.and_then(|chain| tables.chain_in(FAMILY, chain));
    let receiver = match memo.receiver {
        Some(receiver) => Some(Party::from_text(other_chain, receiver)),
        None => payment.receiver.map(Party::Account),
    };
    Some(Half {
        family: FAMILY.into(),
        bridge: Arc::from("THORChain"),
        event: Arc::from("memo"),
        step,
        class: MatchClass::SourceHash,
        keys: vec![LinkKey::new(key(&memo.transaction.unwrap_or(payment.transaction)))],
        chain: payment.chain,
        block: payment.block,
        time: payment.time,
        transaction: payment.transaction,
        log_index: u64::MAX,
        other_chain,
        other_transaction: memo.transaction,
        sender: payment.sender.map(Party::Account),
        receiver,
        token: Some(Token::Native),
        amount: payment.amount,
        other_token: memo.asset.map(|asset| Token::Symbol(asset.into())),
        other_amount: None,
    })
}
