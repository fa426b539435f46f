//! The change feed: what was added to a store and taken back from it, block by block, and imports of labels, in the order
//! it happened.
//!
//! Every followed block makes an item when it is added and another when it is taken back; loads of history make items
//! when the writer was asked to ([`crate::store::Writer::begin_events`]). An item is written in the same generation as
//! its change, so there is no change without its item and no item without its change. Items are kept for
//! [`KEPT_SECS`] or while they are among the last [`KEPT_ITEMS`], whichever is longer, and never more than
//! [`MAX_ITEMS`] of them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::sync::Arc;

use headwater_types::{Address, Amount, Asset, BlockHash, Chain, Timestamp};

use super::{Ledger, Transaction};
use crate::error::{LedgerError, Result};
use crate::facts::{Movement, MovementFact, TransactionFacts};
use crate::primitives::Ordinal;
use crate::segment::{MissingOrdinals, Segment, fee_of};

/// The minimum time an item is kept, in seconds: seven days.
pub const KEPT_SECS: i64 = 7 * 24 * 60 * 60;

/// So many of the last items are kept however old they are.
pub const KEPT_ITEMS: u64 = 100_000;

/// No more items are kept than this, however young they are: about what the fastest chain makes in seven days.
pub const MAX_ITEMS: u64 = 1_000_000;

/// The name of a store, drawn at random when it is made and never changed: it stands for the block hash in the ids of
/// events whose source stated none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct StoreId(pub(crate) [u8; 16]);

impl StoreId {
    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for StoreId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// One block that was added to a store or taken back from it, or what an import of labels changed on one chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedItem {
    /// Its number in the feed: 1, 2, 3, ... over the life of the store.
    pub position: u64,
    /// The chain.
    pub chain: Chain,
    /// Height of the block; 0 of an import.
    pub number: u64,
    /// Hash of the block, where a source stated it. Followed blocks have one. Of an import the digest of its file.
    pub hash: Option<BlockHash>,
    /// Time of the block, or of the import.
    pub time: Timestamp,
    /// True if the block was taken back.
    pub removed: bool,
    /// The number of times this block had been taken back before: 0 when it is added for the first time. Adding and
    /// taking back of one adoption have the same number.
    pub adoption: u32,
    /// Height of the highest block of the chain that the store held after the change.
    pub head: u64,
    /// The kind of the item.
    pub kind: ItemKind,
}

/// The kind of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ItemKind {
    /// A block.
    Block,
    /// An import of labels, by its version, that came into force or was rolled back.
    Labels {
        /// Its version.
        version: u64,
        /// True if it was rolled back.
        is_rolled_back: bool,
    },
}

/// A transaction of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTransaction {
    /// All that was known of it after the change (before it, where the block was taken back).
    pub transaction: Transaction,
    /// The transaction as known before, where it was held already and gained movements: only what was gained is new.
    pub before: Option<TransactionFacts>,
}

/// The time that items are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedLimits {
    /// An item is kept at least so long, in seconds.
    pub secs: i64,
    /// So many of the last items are kept, however old they are.
    pub items: u64,
    /// No more are kept than this, however young they are.
    pub most: u64,
}

impl Default for FeedLimits {
    fn default() -> Self {
        Self { secs: KEPT_SECS, items: KEPT_ITEMS, most: MAX_ITEMS }
    }
}

/// The segments of an item: its rows, and what was held of them before.
pub(crate) type ItemSegments = (Arc<Segment>, Option<Arc<Segment>>);

/// The storage of the items of a feed; see [`Feed`] for each method.
pub(crate) trait FeedSource: Send + Sync {
    fn store(&self) -> StoreId;
    fn oldest(&self) -> u64;
    fn newest(&self) -> u64;
    fn untold(&self) -> u64;
    fn after(&self, position: u64, most: usize) -> Result<Vec<FeedItem>>;

    /// An item with the segments of its rows, which imports do not have; `None` when it is not kept.
    fn rows(&self, position: u64) -> Result<Option<(FeedItem, Option<ItemSegments>)>>;
}

/// No item ever.
struct EmptyFeed;

impl FeedSource for EmptyFeed {
    fn store(&self) -> StoreId {
        StoreId::default()
    }

    fn oldest(&self) -> u64 {
        1
    }

    fn newest(&self) -> u64 {
        0
    }

    fn untold(&self) -> u64 {
        0
    }

    fn after(&self, _: u64, _: usize) -> Result<Vec<FeedItem>> {
        Ok(Vec::new())
    }

    fn rows(&self, _: u64) -> Result<Option<(FeedItem, Option<ItemSegments>)>> {
        Ok(None)
    }
}

/// The feed as one generation has it.
#[derive(Clone)]
pub struct Feed {
    ledger: Arc<dyn Ledger>,
    source: Arc<dyn FeedSource>,
}

impl Feed {
    /// A feed in which nothing ever happened.
    #[must_use]
    pub fn empty(ledger: Arc<dyn Ledger>) -> Self {
        Self::new(ledger, Arc::new(EmptyFeed))
    }

    pub(crate) const fn new(ledger: Arc<dyn Ledger>, source: Arc<dyn FeedSource>) -> Self {
        Self { ledger, source }
    }

    /// The generation it belongs to.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// The name of the store.
    #[must_use]
    pub fn store(&self) -> StoreId {
        self.source.store()
    }

    /// Position of the oldest item that is kept; one past [`Feed::newest`] where none is.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        self.source.oldest()
    }

    /// Position of the newest item; 0 before there was any.
    #[must_use]
    pub fn newest(&self) -> u64 {
        self.source.newest()
    }

    /// The generation that last changed balances without an item: a load of history without events,
    /// or a source that completed what was held. 0 before there was any.
    #[must_use]
    pub fn untold(&self) -> u64 {
        self.source.untold()
    }

    /// The items behind a position in order, at most so many. Those that are no longer kept are left out: see
    /// [`Feed::oldest`].
    ///
    /// # Errors
    /// When the feed cannot be read or is damaged.
    pub fn after(&self, position: u64, most: usize) -> Result<Vec<FeedItem>> {
        self.source.after(position, most)
    }

    /// The transactions of an item in the order of the block; none of an import.
    ///
    /// # Errors
    /// As [`Feed::after`]; [`LedgerError::FeedGone`] when the item is not kept.
    pub fn transactions(&self, position: u64) -> Result<Vec<NewTransaction>> {
        let Some((item, segments)) = self.source.rows(position)? else {
            return Err(LedgerError::FeedGone { position, oldest: self.oldest() });
        };
        let Some((rows, before)) = segments else { return Ok(Vec::new()) };
        let mut transactions = Vec::new();
        for row in rows.rows_of_blocks(item.number, item.number)? {
            let facts = rows.facts_with(row, MissingOrdinals::Numbered)?;
            let mut held = None;
            if let Some(before) = &before
                && let Some(row) = before.find(&facts.hash)?
            {
                held = Some(before.facts_with(row, MissingOrdinals::Numbered)?);
            }
            let fee = fee_of(&facts);
            let transaction = Transaction { head: rows.head(row)?, block_hash: item.hash, facts, fee };
            transactions.push(NewTransaction { transaction, before: held });
        }
        Ok(transactions)
    }
}

/// Places in `after.movements` of the movements that are not among those of `before`: indexed ones are known again by
/// their ordinal, others by what they say.
#[must_use]
pub fn new_movements(before: &TransactionFacts, after: &TransactionFacts) -> Vec<usize> {
    type Content = (bool, Asset, Option<Address>, Option<Address>, Amount);
    let counts = |movement: &&Movement| matches!(movement.kind, MovementFact::Internal | MovementFact::Token);
    let is_internal = |movement: &Movement| movement.kind == MovementFact::Internal;
    let numbered = |movement: &Movement| match movement.ordinal {
        Ordinal::Unindexed(0) => None,
        ordinal => Some((is_internal(movement), ordinal)),
    };
    let content = |movement: &Movement| -> Content {
        (is_internal(movement), movement.asset, movement.from, movement.to, movement.amount)
    };
    // What a list of holders or a non-fungible row takes from a transaction is not a movement of it either.
    let held: Vec<&Movement> =
        before.movements.iter().filter(|movement| movement.kind != MovementFact::Opening).collect();
    let known: HashSet<_> = held.iter().filter_map(|movement| numbered(movement)).collect();
    let matched: HashSet<_> = after.movements.iter().filter_map(numbered).filter(|name| known.contains(name)).collect();
    let is_matched = |movement: &Movement| numbered(movement).is_some_and(|name| matched.contains(&name));
    let mut rest: HashMap<Content, usize> = HashMap::new();
    held.iter().filter(|movement| !is_matched(movement)).for_each(|movement| {
        *rest.entry(content(movement)).or_default() += 1;
    });
    let mut places = Vec::new();
    for (place, movement) in after.movements.iter().enumerate().filter(|(_, movement)| counts(movement)) {
        if is_matched(movement) {
            continue;
        }
        match rest.get_mut(&content(movement)).filter(|count| **count > 0) {
            Some(count) => *count -= 1,
            None => places.push(place),
        }
    }
    places
}
