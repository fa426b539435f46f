//! Items of the feed with their rows, read once for all who watch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use headwater_ledger::feed::{Feed, FeedItem, ItemKind};
use headwater_types::Chain;

use super::changes::Changes;
use super::rows::BlockRows;
use crate::{Error, Intelligence};

/// So many items are kept as they were read, for those who look back or ahead.
const KEPT_BLOCKS: usize = 64;

/// So many items are kept with what they change in balances.
const KEPT_CHANGES: usize = 256;

/// One item of the feed, its rows read and priced once for all watchers.
pub struct FeedStep {
    item: FeedItem,
    pub(super) block: Arc<BlockRows>,
    pub(super) view: Arc<View>,
}

impl FeedStep {
    /// The item.
    #[must_use]
    pub const fn item(&self) -> &FeedItem {
        &self.item
    }

    /// Its position in the feed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.item.position
    }

    /// How many rows it has: movements that succeeded and moved something, on UTXO chains one per address.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.block.rows.len()
    }

    /// What of it may be kept for long.
    #[must_use]
    pub fn to_kept(&self) -> KeptStep {
        KeptStep { item: self.item, block: Arc::clone(&self.block) }
    }
}

/// A step apart from the generation that it was read under, all of whose files a step holds open.
pub struct KeptStep {
    item: FeedItem,
    block: Arc<BlockRows>,
}

impl KeptStep {
    /// The step, under the generation of another one.
    #[must_use]
    pub fn under(&self, other: &FeedStep) -> FeedStep {
        FeedStep { item: self.item, block: Arc::clone(&self.block), view: Arc::clone(&other.view) }
    }

    /// As [`FeedStep::row_count`].
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.block.rows.len()
    }
}

/// The last few of something, by position.
struct Last<T> {
    most: usize,
    kept: Mutex<VecDeque<(u64, Arc<T>)>>,
}

impl<T> Last<T> {
    fn new(most: usize) -> Self {
        Self { most, kept: Mutex::default() }
    }

    fn get(&self, position: u64) -> Option<Arc<T>> {
        let kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|(known, _)| *known == position).map(|(_, value)| Arc::clone(value))
    }

    fn put(&self, position: u64, value: &Arc<T>) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() == self.most {
            kept.pop_front();
        }
        kept.push_back((position, Arc::clone(value)));
    }
}

/// What was read of the feed lately.
pub(super) struct Recent {
    blocks: Last<BlockRows>,
    changes: Last<Changes>,
}

impl Recent {
    pub fn new() -> Self {
        Self { blocks: Last::new(KEPT_BLOCKS), changes: Last::new(KEPT_CHANGES) }
    }
}

/// The feed of one generation, for all steps that are read under it.
pub(super) struct View {
    pub feed: Feed,
    recent: Arc<Recent>,
    pub intelligence: Intelligence,
    /// The imports of labels among the items that are kept, in order: chain, position, version, whether rolled back.
    imports: OnceLock<Vec<(Chain, u64, u64, bool)>>,
}

impl View {
    pub fn new(feed: Feed, recent: &Arc<Recent>, intelligence: Intelligence) -> Arc<Self> {
        Arc::new(Self { feed, recent: Arc::clone(recent), intelligence, imports: OnceLock::new() })
    }

    /// The next import of labels on the chain behind an item.
    pub fn next_import(&self, item: &FeedItem) -> Result<Option<(u64, bool)>, Error> {
        let imports = match self.imports.get() {
            Some(imports) => imports,
            None => {
                let imports = self.imports()?;
                self.imports.get_or_init(|| imports)
            }
        };
        let next = imports.iter().find(|(chain, position, ..)| *chain == item.chain && *position > item.position);
        Ok(next.map(|(_, _, version, is_rolled_back)| (*version, *is_rolled_back)))
    }

    fn imports(&self) -> Result<Vec<(Chain, u64, u64, bool)>, Error> {
        let (mut imports, mut position) = (Vec::new(), self.feed.oldest().saturating_sub(1));
        while position < self.feed.newest() {
            // A few at a time, so that a long feed is not held whole.
            let items = self.feed.after(position, 4096)?;
            let Some(last) = items.last() else { break };
            position = last.position;
            for item in items {
                if let ItemKind::Labels { version, is_rolled_back } = item.kind {
                    imports.push((item.chain, item.position, version, is_rolled_back));
                }
            }
        }
        Ok(imports)
    }

    /// A step of it.
    pub fn step(self: &Arc<Self>, item: FeedItem) -> Result<FeedStep, Error> {
        let block = match self.recent.blocks.get(item.position) {
            Some(block) => block,
            None => {
                let transactions = self.feed.transactions(item.position)?;
                let block = Arc::new(BlockRows::new(&**self.feed.ledger(), &item, transactions)?);
                self.recent.blocks.put(item.position, &block);
                block
            }
        };
        Ok(FeedStep { item, block, view: Arc::clone(self) })
    }

    /// What an item changes in balances.
    pub fn changes(&self, item: &FeedItem) -> Result<Arc<Changes>, Error> {
        if let Some(block) = self.recent.blocks.get(item.position) {
            return Ok(Arc::clone(&block.changes));
        }
        if let Some(changes) = self.recent.changes.get(item.position) {
            return Ok(changes);
        }
        let transactions = self.feed.transactions(item.position)?;
        let changes = Arc::new(Changes::of(&**self.feed.ledger(), item.chain, &transactions));
        self.recent.changes.put(item.position, &changes);
        Ok(changes)
    }
}
