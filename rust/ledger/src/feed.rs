//! The change feed: what was added to a store and taken back from it, block by block, in the order it happened.
//!
//! Every followed block makes an item when it is added and another when it is taken back; loads of history make items
//! when the writer was told to ([`crate::store::Writer::begin_events`]). An item is written in the same generation as
//! the change it tells of, so there is no change without its item and no item without its change. Items are kept for
//! [`KEPT_SECS`] or while they are among the last [`KEPT_ITEMS`], whichever is longer, and never more than
//! [`MOST_ITEMS`] of them.

use std::fmt;
use std::sync::Arc;

use headwater_types::{BlockHash, Chain, Timestamp};

use crate::Ledger;
use crate::facts::TransactionFacts;
use crate::read::{Result, Transaction};

/// How long an item is kept at least, in seconds: seven days.
pub const KEPT_SECS: i64 = 7 * 24 * 60 * 60;

/// So many of the last items are kept however old they are.
pub const KEPT_ITEMS: u64 = 100_000;

/// No more items are kept than this, however young they are: about what the fastest chain makes in seven days.
pub const MOST_ITEMS: u64 = 1_000_000;

/// The name of a store, drawn at random when it is made and never changed: it stands for the block hash in the ids of
/// events whose source told none.
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

/// One block that was added to a store, or taken back from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FeedItem {
    /// Its number in the feed: 1, 2, 3, ... over the life of the store.
    pub position: u64,
    /// The chain.
    pub chain: Chain,
    /// Height of the block.
    pub number: u64,
    /// Hash of the block, where a source told it. Followed blocks have one.
    pub hash: Option<BlockHash>,
    /// Time of the block.
    pub time: Timestamp,
    /// Whether the block was taken back.
    pub removed: bool,
    /// How often this block had been taken back before: 0 when it is added for the first time. Adding and taking back
    /// of one adoption have the same number.
    pub adoption: u32,
    /// Height of the highest block of the chain that the store held after the change.
    pub head: u64,
}

/// A transaction of an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewTransaction {
    /// All that was known of it after the change (before it, where the block was taken back).
    pub transaction: Transaction,
    /// What was known of it before, where it was held already and gained movements: only what was gained is new.
    pub before: Option<TransactionFacts>,
}

/// The feed as one generation has it.
#[derive(Clone)]
pub struct Feed {
    ledger: Arc<dyn Ledger>,
}

impl Feed {
    /// A feed in which nothing ever happened.
    #[must_use]
    pub fn empty(ledger: Arc<dyn Ledger>) -> Self {
        Self { ledger }
    }

    /// The generation it belongs to.
    #[must_use]
    pub const fn ledger(&self) -> &Arc<dyn Ledger> {
        &self.ledger
    }

    /// The name of the store.
    #[must_use]
    pub fn store(&self) -> StoreId {
        unimplemented!()
    }

    /// Position of the oldest item that is kept; one past [`Feed::newest`] where none is.
    #[must_use]
    pub fn oldest(&self) -> u64 {
        unimplemented!()
    }

    /// Position of the newest item; 0 before there was any.
    #[must_use]
    pub fn newest(&self) -> u64 {
        unimplemented!()
    }

    /// The generation that last changed balances without an item that tells of it: a load of history without events,
    /// or a source that completed what was held. 0 before there was any.
    #[must_use]
    pub fn untold(&self) -> u64 {
        unimplemented!()
    }

    /// The items behind a position in order, at most so many. Those that are no longer kept are left out: see
    /// [`Feed::oldest`].
    ///
    /// # Errors
    /// When the feed cannot be read or is damaged.
    pub fn after(&self, position: u64, most: usize) -> Result<Vec<FeedItem>> {
        let _ = (position, most);
        unimplemented!()
    }

    /// The transactions of an item in the order of the block.
    ///
    /// # Errors
    /// As [`Feed::after`]; [`crate::LedgerError::FeedGone`] when the item is not kept.
    pub fn transactions(&self, position: u64) -> Result<Vec<NewTransaction>> {
        let _ = position;
        unimplemented!()
    }
}
