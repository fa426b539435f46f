//! Items of the feed with their rows, read once for all watchers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use headwater_ledger::feed::{Feed, FeedItem, ItemKind};
use headwater_types::Chain;

use super::changes::Changes;
use super::rows::BlockRows;
use crate::{Error, Intelligence};

/// The number of items whose rows are cached, for watchers that read earlier or later items.
const CACHED_BLOCKS: usize = 64;

/// The number of items whose changes of balances are cached.
const CACHED_CHANGES: usize = 256;

/// One item of the feed, its rows read and priced once for all watchers.
pub struct FeedStep {
    item: FeedItem,
    pub(super) block: Arc<BlockRows>,
    pub(super) view: Arc<View>,
}

impl FeedStep {
    /// Returns the item.
    #[must_use]
    pub const fn item(&self) -> &FeedItem {
        &self.item
    }

    /// Returns its position in the feed.
    #[must_use]
    pub const fn position(&self) -> u64 {
        self.item.position
    }

    /// Returns the time of the commit of the generation that it was read from; `None` in memory.
    #[must_use]
    pub fn committed(&self) -> Option<SystemTime> {
        self.view.feed.ledger().committed()
    }

    /// Returns the number of its rows: successful movements of an amount, on UTXO chains one per address.
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.block.rows.len()
    }

    /// Returns its contents, which hold no file of the generation open.
    #[must_use]
    pub fn contents(&self) -> StepContents {
        StepContents { item: self.item, block: Arc::clone(&self.block) }
    }
}

/// A step without its generation: a step keeps all files of its generation open.
pub struct StepContents {
    item: FeedItem,
    block: Arc<BlockRows>,
}

impl StepContents {
    /// Returns the step under the generation of another one.
    #[must_use]
    pub fn under(&self, other: &FeedStep) -> FeedStep {
        FeedStep { item: self.item, block: Arc::clone(&self.block), view: Arc::clone(&other.view) }
    }

    /// Returns the number of rows, as [`FeedStep::row_count`].
    #[must_use]
    pub fn row_count(&self) -> usize {
        self.block.rows.len()
    }
}

/// The last items that were read, by position.
struct ItemCache<T> {
    max: usize,
    items: Mutex<VecDeque<(u64, Arc<T>)>>,
}

impl<T> ItemCache<T> {
    fn new(max: usize) -> Self {
        Self { max, items: Mutex::default() }
    }

    fn get(&self, position: u64) -> Option<Arc<T>> {
        let items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        items.iter().find(|(known, _)| *known == position).map(|(_, value)| Arc::clone(value))
    }

    fn put(&self, position: u64, value: &Arc<T>) {
        let mut items = self.items.lock().unwrap_or_else(PoisonError::into_inner);
        if items.len() == self.max {
            items.pop_front();
        }
        items.push_back((position, Arc::clone(value)));
    }
}

/// The items of the feed that were read last.
pub(super) struct RecentItems {
    blocks: ItemCache<BlockRows>,
    changes: ItemCache<Changes>,
}

impl RecentItems {
    pub fn new() -> Self {
        Self { blocks: ItemCache::new(CACHED_BLOCKS), changes: ItemCache::new(CACHED_CHANGES) }
    }
}

/// The feed of one generation, for all steps that are read under it.
pub(super) struct View {
    pub feed: Feed,
    recent: Arc<RecentItems>,
    pub intelligence: Intelligence,
    /// The imports of labels in the feed, in order: chain, position, version, whether it is a rollback.
    imports: OnceLock<Vec<(Chain, u64, u64, bool)>>,
}

impl View {
    pub fn new(feed: Feed, recent: &Arc<RecentItems>, intelligence: Intelligence) -> Arc<Self> {
        Arc::new(Self { feed, recent: Arc::clone(recent), intelligence, imports: OnceLock::new() })
    }

    /// Returns the next import of labels on the chain behind an item.
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
            // A few at a time, so that a long feed is never in memory whole.
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

    /// Reads a step.
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

    /// Returns the changes of an item in balances.
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
