//! The one door to the data: a small trait of primitives, and the plain records it hands out.
//!
//! Nothing above this trait knows about files. The segments of a store are its first implementation; the same
//! segments built in memory from frames the second; a distributed column store is to be a third. Handles
//! ([`AccountRef`], [`AssetRef`], [`TransactionRef`]) are opaque, belong to one ledger value and must not be kept
//! beyond it; what leaves an analysis is always the address, the asset or the hash behind them.

mod columns;
mod coverage;
mod holding;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use headwater_types::{Address, Amount, Asset, BlockHash, Chain, TimeWindow, Timestamp, TxHash};
use serde::{Deserialize, Serialize};

pub(crate) use self::columns::ColumnBuffer;
pub use self::columns::{ColumnSet, LARGE, NOBODY, PostingColumns, PostingFlags};
pub use self::coverage::{Coverage, CoverageTable};
pub use self::holding::{Holding, Opening};
use crate::edges::{AssetEdge, EdgeFlows, EdgeOrder, Edges};
use crate::facts::{AmountOf, LogFacts, OutPoint, TokenFacts};
use crate::feed::Feed;
use crate::holders::Holders;
use crate::market::{FxTable, PriceTable, Registry};
use crate::snapshot::pack;
use crate::{Cancel, LedgerError};

/// A result of reading.
pub type Result<T> = std::result::Result<T, LedgerError>;

/// The primitives that every analysis reads through. One value is one immutable generation.
///
/// # Errors
/// Every primitive fails only when stored data cannot be read or is damaged; that something is not held is `None`.
#[expect(clippy::missing_errors_doc, reason = "said once, for all of them")]
pub trait Ledger: Send + Sync {
    /// Number of the generation; grows with every commit.
    fn generation(&self) -> u64;

    /// What is held, by chain; chains without data are absent.
    fn coverage(&self) -> &BTreeMap<Chain, Coverage>;

    /// The token registry.
    fn registry(&self) -> &Arc<Registry>;

    /// The prices.
    fn prices(&self) -> &Arc<PriceTable>;

    /// The exchange rates.
    fn exchange_rates(&self) -> &Arc<FxTable>;

    /// An account by its address; `None` when it was never seen on the chain.
    fn account(&self, chain: Chain, address: &Address) -> Result<Option<Account>>;

    /// The movements of an account, ordered and merged over all segments.
    fn postings<'a>(&'a self, account: &Account, scan: &Scan) -> Result<Postings<'a>>;

    /// The first movements of a scan, at most so many: what [`Ledger::postings`] begins with, in one piece.
    fn page(&self, account: &Account, scan: &Scan, limit: usize) -> Result<Vec<Posting>> {
        self.postings(account, scan)?.take(limit).collect()
    }

    /// The movements of an account column by column, in batches that `visit` may break off: each batch in the order of
    /// the chain, the batches in any order. The order of the scan is no matter but for the side of `after`.
    fn posting_columns(
        &self,
        account: &Account,
        scan: &Scan,
        wanted: (ColumnSet, &Cancel),
        visit: ColumnVisit<'_>,
    ) -> Result<()>;

    /// Number of postings of a scan; reads none of them unless a filter needs it.
    fn count_postings(&self, account: &Account, scan: &Scan, cancel: &Cancel) -> Result<u64>;

    /// Divides a scan into at most `parts` that together show what it shows, each transaction in one part: ranges of
    /// blocks of about equal length, for threads.
    fn split(&self, account: &Account, scan: &Scan, parts: usize) -> Result<Vec<Scan>>;

    /// The movements of all accounts of a chain in a range of addresses, in order of address; the batches of one address
    /// come one after the other, each in the order of the chain. Accounts without postings are left out.
    fn sweep(
        &self,
        chain: Chain,
        range: &AddressRange,
        wanted: (ColumnSet, &Cancel),
        visit: SweepVisit<'_>,
    ) -> Result<()>;

    /// Divides the addresses of a chain into at most `parts` ranges of about equal numbers of postings, for threads.
    fn split_addresses(&self, chain: Chain, parts: usize) -> Result<Vec<AddressRange>>;

    /// The address behind a handle.
    fn address(&self, account: AccountRef) -> Result<Address>;

    /// The account behind a handle, with its places in all segments.
    fn account_of(&self, account: AccountRef) -> Result<Account>;

    /// The asset behind a handle.
    fn asset(&self, asset: AssetRef) -> Result<Asset>;

    /// Hash and position of the transaction behind a handle.
    fn transaction_head(&self, transaction: TransactionRef) -> Result<TransactionHead>;

    /// The whole transaction behind a handle.
    fn transaction(&self, transaction: TransactionRef) -> Result<Transaction>;

    /// The fee of the transaction behind a handle, where it is known without looking at what it spends: chains of
    /// accounts.
    fn fee(&self, transaction: TransactionRef) -> Result<Option<Amount>>;

    /// Finds a transaction by its hash.
    fn find_transaction(&self, chain: Chain, hash: &TxHash) -> Result<Option<TransactionRef>>;

    /// Finds a transaction by its place.
    fn transaction_at(&self, chain: Chain, block: u64, index: u32) -> Result<Option<TransactionRef>>;

    /// The input that spends an output, as (transaction, position of the input).
    fn spender(&self, chain: Chain, output: &OutPoint) -> Result<Option<(TxHash, u32)>>;

    /// Where the history of an asset begins, if not with the first movement held of it: the latest opening there is.
    /// What moved at or before it is listed and counted, but is in no balance.
    fn opening(&self, chain: Chain, asset: &Asset) -> Option<Opening>;

    /// Sums of an account by asset over all it did, fees and opening balances included, in order of asset.
    fn holdings(&self, account: &Account) -> Result<Vec<Holding>>;

    /// The counterparties of an account in an order, at most `limit` of them, with sums over all time; `None` where they
    /// are not built, or not under the registry and prices in force: the postings tell as much. UTXO chains have none.
    fn edges(&self, account: &Account, order: EdgeOrder, limit: usize, cancel: &Cancel) -> Result<Option<Edges>>;

    /// The same of these counterparties only, in the order of [`EdgeOrder::Total`].
    fn edges_with(&self, account: &Account, others: &[AccountRef], cancel: &Cancel) -> Result<Option<Edges>>;

    /// The counterparties and assets of an account with most movements over all time, at most `limit` of them: most
    /// movements first, then in the order of [`EdgeOrder::Total`] and of [`Edges::assets`]; `None` as for
    /// [`Ledger::edges`]. Where one segment holds the account, only movements are read of those that are not among them.
    fn busiest_edges(
        &self,
        account: &Account,
        limit: usize,
        cancel: &Cancel,
    ) -> Result<Option<Vec<(AccountRef, AssetEdge)>>>;

    /// Shows the counterparties of an account in an order until `visit` breaks off; `None` as for [`Ledger::edges`].
    /// Where one segment holds the account, nothing is allocated and only what is shown is read.
    fn visit_edges(
        &self,
        account: &Account,
        order: EdgeOrder,
        cancel: &Cancel,
        visit: VisitEdge<'_>,
    ) -> Result<Option<()>>;

    /// The holders of an asset by balance, largest first, then by address; `None` where no table of them is built and
    /// there is too much to look through.
    fn holders(&self, chain: Chain, asset: &Asset) -> Result<Option<Holders<'_>>>;

    /// What the chain data says about a token.
    fn token_facts(&self, chain: Chain, contract: &Address) -> Result<Option<TokenFacts>>;

    /// Time and hash of a block; `None` when it is not held.
    fn block(&self, chain: Chain, number: u64) -> Result<Option<Block>>;

    /// The first `limit` addresses of a chain behind `after`, in order of their bytes.
    fn addresses(&self, chain: Chain, after: Option<&Address>, limit: usize) -> Result<Vec<Address>>;

    /// Addresses whose canonical text begins with `prefix`, most active first, then by text; at most `limit` of them,
    /// with the number of all matches counted up to `count_limit`.
    fn find_addresses(&self, chain: Chain, prefix: &str, limit: usize, count_limit: usize) -> Result<AddressMatches>;
}

/// What is done with each counterparty; breaking ends the visit.
pub type VisitEdge<'v> = &'v mut dyn FnMut(AccountRef, &EdgeFlows) -> ControlFlow<()>;

/// An address that was seen on a chain.
#[derive(Debug, Clone)]
pub struct Account {
    /// The chain.
    pub chain: Chain,
    /// The address.
    pub address: Address,
    /// Number of postings over all time: how much work a full scan is.
    pub postings: u64,
    /// Whether the address is known to be a contract.
    pub is_contract: bool,
    /// Where each segment files it, for the implementation only.
    pub(crate) places: Vec<(u32, u32)>,
}

impl Account {
    /// A handle of the account, the one of the first segment that files it. Accounts of a ledger have one.
    #[must_use]
    pub fn handle(&self) -> Option<AccountRef> {
        self.places.first().map(|(segment, id)| AccountRef(pack(*segment, *id)))
    }
}

/// An opaque handle of an account inside one ledger value. Two handles may name one address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AccountRef(pub(crate) u64);

impl AccountRef {
    /// The counterparty and the asset whose numbers in a part of the ledger make a key: the counterparty's in the upper
    /// half, the asset's in the lower one. See [`PostingColumns`].
    #[must_use]
    pub const fn of_key(part: u32, key: u64) -> (Self, AssetRef) {
        let part = (part as u64) << 32;
        (Self(part | key >> 32), AssetRef(part | key & 0xffff_ffff))
    }
}

/// An opaque handle of an asset inside one ledger value. Two handles may name one asset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AssetRef(pub(crate) u64);

/// An opaque handle of a transaction inside one ledger value. One transaction has one handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TransactionRef(pub(crate) u64);

/// What is done with a batch of postings; breaking ends the scan.
pub type ColumnVisit<'v> = &'v mut dyn FnMut(PostingColumns<'_>) -> Result<ControlFlow<()>>;

/// What is done with a batch of postings of one address; breaking ends the sweep.
pub type SweepVisit<'v> = &'v mut dyn FnMut(&Address, PostingColumns<'_>) -> Result<ControlFlow<()>>;

/// A range of addresses in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressRange {
    /// The first address, included; `None` for the beginning.
    pub from: Option<Address>,
    /// Where it ends, not included; `None` for the end.
    pub until: Option<Address>,
}

/// Which postings to read, and from which end.
#[derive(Debug, Clone, Default)]
pub struct Scan {
    /// Only inside this window.
    pub window: TimeWindow,
    /// Only of these assets.
    pub assets: Option<Vec<Asset>>,
    /// Only from this block on.
    pub from_block: Option<u64>,
    /// Only up to this block: the snapshot that a cursor pinned.
    pub up_to_block: Option<u64>,
    /// Oldest or newest first.
    pub order: ScanOrder,
    /// Start behind this place: after it in the scan's order.
    pub after: Option<PostingKey>,
}

/// The end a scan begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScanOrder {
    /// Newest first, as lists are shown.
    #[default]
    NewestFirst,
    /// Oldest first.
    OldestFirst,
}

/// The place of a posting by content: block, position in the block (unknown last), hash, kind, ordinal. Total, and
/// the same in every segmentation; newest-first is its exact reverse.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct PostingKey {
    /// Block number.
    pub block: u64,
    /// Position in the block.
    pub index: Option<u32>,
    /// Transaction.
    pub hash: TxHash,
    /// Kind of movement.
    pub kind: MovementKind,
    /// Ordinal within the kind.
    pub ordinal: Ordinal,
}

impl PostingKey {
    fn rank(&self) -> (u64, u64, TxHash, MovementKind, Ordinal) {
        (self.block, self.index.map_or(u64::MAX, u64::from), self.hash, self.kind, self.ordinal)
    }
}

impl Ord for PostingKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.rank().cmp(&other.rank())
    }
}

impl PartialOrd for PostingKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

/// Postings in order.
pub type Postings<'a> = Box<dyn Iterator<Item = Result<Posting>> + 'a>;

/// One movement as seen from one account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Posting {
    /// The transaction.
    pub transaction: TransactionRef,
    /// Block number.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Kind of movement.
    pub kind: MovementKind,
    /// Ordinal within the kind.
    pub ordinal: Ordinal,
    /// Which way it went.
    pub direction: Direction,
    /// The other side; `None` when there is none or there are several (UTXO).
    pub counterparty: Option<AccountRef>,
    /// What moved.
    pub asset: AssetRef,
    /// How much. On UTXO chains the absolute net change of the account in the transaction.
    pub amount: Amount,
    /// Whether the transaction succeeded; `None` when unknown.
    pub status: Option<Status>,
    /// Whether the movement created the receiving contract.
    pub creates_contract: bool,
    /// Whether the amount is known to the precision of a double only; then it counts in no balance.
    pub approximate: bool,
}

/// Kinds of movement in their order inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MovementKind {
    /// The transaction's own value.
    Native,
    /// A call inside it.
    Internal,
    /// A token.
    Token,
    /// The net change of one address in a UTXO transaction.
    Utxo,
}

impl MovementKind {
    /// The name that ids carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "native",
            Self::Internal => "internal",
            Self::Token => "token",
            Self::Utxo => "utxo",
        }
    }
}

/// The number of a movement within its kind and transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Ordinal {
    /// Log index, trace ordinal, or for UTXO rows the place of the address among those of the transaction (inputs
    /// first, then outputs, by first occurrence). 0 for native.
    Indexed(u64),
    /// The source gave none. In facts always 0; in a ledger a number made from the content (contract, sender,
    /// receiver, amount, how many equal rows precede), so that it does not change when more rows arrive.
    Unindexed(u64),
}

impl Ordinal {
    /// The log index or trace ordinal to show; `None` where the source gave none.
    #[must_use]
    pub const fn shown(self) -> Option<u64> {
        match self {
            Self::Indexed(number) => Some(number),
            Self::Unindexed(_) => None,
        }
    }

    /// The number that goes into the id of a row; the two kinds never meet (an unindexed one has 15 digits or more).
    #[must_use]
    pub const fn number(self) -> u64 {
        match self {
            Self::Indexed(number) | Self::Unindexed(number) => number,
        }
    }
}

/// Which way a movement went, as seen from an account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Direction {
    /// Towards the account.
    In,
    /// Away from it.
    Out,
    /// From the account to itself.
    Own,
}

/// Whether a transaction succeeded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It did.
    Success,
    /// It was reverted; only the fee was paid.
    Failed,
}

/// Where a transaction stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransactionHead {
    /// The chain.
    pub chain: Chain,
    /// Its hash.
    pub hash: TxHash,
    /// Block number.
    pub block: u64,
    /// Time of the block.
    pub time: Timestamp,
    /// Position in the block.
    pub index: Option<u32>,
}

/// A transaction with all that is known of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transaction {
    /// Where it stands.
    pub head: TransactionHead,
    /// Hash of the block.
    pub block_hash: Option<BlockHash>,
    /// Sender, receiver and value, with what else is known; see [`crate::facts::TransactionFacts`]. Movements are
    /// complete with their final ordinals; inputs carry what they spend where the ledger holds it.
    pub facts: crate::facts::TransactionFacts,
    /// The fee, where it is known: stated, or gas times price, or inputs less outputs.
    pub fee: Option<Amount>,
}

impl Transaction {
    /// Event logs, by index.
    #[must_use]
    pub fn logs(&self) -> &[LogFacts] {
        &self.facts.logs
    }

    /// Whether the amount of a movement is known to the precision of a double only; see [`Posting::approximate`].
    #[must_use]
    pub fn is_approximate(&self, kind: MovementKind, ordinal: Ordinal) -> bool {
        AmountOf::of(kind, ordinal).is_some_and(|amount| self.facts.approximate.contains(&amount))
    }
}

/// A block that is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Block {
    /// Height.
    pub number: u64,
    /// Time.
    pub time: Timestamp,
    /// Hash, where a source told it.
    pub hash: Option<BlockHash>,
}

/// Matches of a prefix.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AddressMatches {
    /// The most active ones.
    pub addresses: Vec<Address>,
    /// How many there are, counted up to the limit asked for.
    pub total: usize,
}

/// Form of an output script.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ScriptType {
    /// Pay to public key.
    P2pk,
    /// Pay to public key hash.
    P2pkh,
    /// Pay to script hash.
    P2sh,
    /// Pay to witness public key hash.
    P2wpkh,
    /// Pay to witness script hash.
    P2wsh,
    /// Pay to taproot.
    P2tr,
    /// Bare multisig.
    Multisig,
    /// Data that can never be spent.
    OpReturn,
    /// Anything else.
    Nonstandard,
}

impl ScriptType {
    /// All forms, in the order of their codes on disk.
    pub const ALL: [Self; 9] = [
        Self::P2pk,
        Self::P2pkh,
        Self::P2sh,
        Self::P2wpkh,
        Self::P2wsh,
        Self::P2tr,
        Self::Multisig,
        Self::OpReturn,
        Self::Nonstandard,
    ];

    /// The name that answers carry.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::P2pk => "p2pk",
            Self::P2pkh => "p2pkh",
            Self::P2sh => "p2sh",
            Self::P2wpkh => "p2wpkh",
            Self::P2wsh => "p2wsh",
            Self::P2tr => "p2tr",
            Self::Multisig => "multisig",
            Self::OpReturn => "op_return",
            Self::Nonstandard => "nonstandard",
        }
    }
}

/// Where a face gets the ledger of a call from: the newest generation, or the one that a cursor pinned.
pub trait Generations: Send + Sync {
    /// The newest generation, commits of other processes included.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn current(&self) -> Result<Arc<dyn Ledger>>;

    /// Number of the newest generation, as of a millisecond before `now` at most, where it is known already and nothing
    /// has to be waited for; `None` says to ask for [`Generations::current`] on a thread that may block.
    fn at_hand(&self, now: Instant) -> Option<u64> {
        let _ = now;
        None
    }

    /// An earlier generation. It stays readable for [`KEPT_SECS`] seconds after it was replaced.
    ///
    /// # Errors
    /// [`LedgerError::GenerationGone`] when it is no longer kept.
    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>>;

    /// The change feed of the newest generation, commits of other processes included; without items where there is no
    /// store behind it.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn feed(&self) -> Result<Feed> {
        Ok(Feed::empty(self.current()?))
    }
}

/// How long a replaced generation stays readable, in seconds.
pub const KEPT_SECS: u64 = 15 * 60;
