//! Scans of postings, and what they show.

use std::ops::ControlFlow;

use headwater_types::{Address, Amount, Asset, TimeWindow, Timestamp, TxHash};

use crate::error::Result;
use crate::primitives::{
    AccountRef, AssetRef, Direction, MovementKind, Ordinal, PostingColumns, Status, TransactionRef,
};

/// The function that takes a batch of postings; breaking ends the scan.
pub type ColumnVisit<'v> = &'v mut dyn FnMut(PostingColumns<'_>) -> Result<ControlFlow<()>>;

/// The function that takes a batch of postings of one address; breaking ends the sweep.
pub type SweepVisit<'v> = &'v mut dyn FnMut(&Address, PostingColumns<'_>) -> Result<ControlFlow<()>>;

/// A range of addresses in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AddressRange {
    /// The first address, included; `None` for the beginning.
    pub from: Option<Address>,
    /// The end, not included; `None` for the end of all addresses.
    pub until: Option<Address>,
}

/// The postings to read, and from which end.
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
    /// The direction.
    pub direction: Direction,
    /// The other side; `None` when there is none or there are several (UTXO).
    pub counterparty: Option<AccountRef>,
    /// The asset that moved.
    pub asset: AssetRef,
    /// The amount. On UTXO chains the absolute net change of the account in the transaction.
    pub amount: Amount,
    /// The outcome of the transaction; `None` when unknown.
    pub status: Option<Status>,
    /// True if the movement created the receiving contract.
    pub creates_contract: bool,
    /// True if the amount is known to the precision of a double only; then it counts in no balance.
    pub approximate: bool,
}
