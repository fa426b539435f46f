//! The change feed as a generation holds it: the last items one by one, those before them in runs.
//!
//! Cost of a followed block: its item is one more line of the manifest, beside the segment that the block has anyway.
//! Once [`MAX_RECENT`] items are there, all but the last [`FOLD`] become a run, which is a file of lines and a file
//! of the segments of those items one behind the other; [`FOLD_RUNS`] short runs that follow each other become one. So
//! a manifest lists some hundred items and runs at most for each hundred thousand items, and a segment is copied twice.

mod entry;
mod gain;
mod line;
mod run;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use headwater_types::{BlockHash, Chain, Timestamp};

pub(super) use self::entry::{FeedEntry, OpenRuns};
pub(super) use self::gain::{FeedRows, Gain, News, blocks_of, gains};
use self::run::Run;
use super::folder::{self, Folder};
use super::parts::{FileRef, Part, TailBlock};
use crate::LedgerError;
use crate::feed::{FeedItem, FeedLimits, FeedSource, ItemKind, ItemSegments, StoreId};
use crate::read::Result;
use crate::segment::Segment;

/// Items that are one by one before the older ones become a run.
const MAX_RECENT: usize = 128;

/// Items that stay one by one, and so the length of the runs that following a chain makes.
const FOLD: usize = 64;

/// Short runs that become one.
const FOLD_RUNS: usize = 16;

/// Runs of so many items are no longer put together with others.
const LONG_RUN: u64 = (FOLD * FOLD_RUNS) as u64;

/// A segment that rows of items are in.
pub(super) struct Source {
    pub(super) file: FileRef,
    opened: OnceLock<Arc<Segment>>,
}

impl Source {
    fn closed(file: FileRef) -> Arc<Self> {
        Arc::new(Self { file, opened: OnceLock::new() })
    }

    fn of(part: &Part) -> Arc<Self> {
        Arc::new(Self { file: part.file.clone(), opened: OnceLock::from(Arc::clone(&part.segment)) })
    }

    fn open(&self, root: &Path) -> Result<Arc<Segment>> {
        if let Some(segment) = self.opened.get() {
            return Ok(Arc::clone(segment));
        }
        let segment = Arc::new(folder::open_listed(root, &self.file)?);
        Ok(Arc::clone(self.opened.get_or_init(|| segment)))
    }
}

/// An item that is by itself.
#[derive(Clone)]
pub(super) struct RecentItem {
    item: FeedItem,
    /// When it was made, in epoch seconds of the writer.
    made: i64,
    /// Imports have none.
    rows: Option<Arc<Source>>,
    /// The transactions that gained movements, as held before.
    before: Option<Arc<Source>>,
}

/// An import of labels that came into force or was rolled back.
pub(super) struct LabelNews {
    pub(super) version: u64,
    pub(super) is_rolled_back: bool,
    /// The digest of its file.
    pub(super) digest: u128,
    /// The time of the import.
    pub(super) time: Timestamp,
}

/// The feed of one generation.
#[derive(Clone, Default)]
pub(super) struct FeedState {
    pub(super) store: StoreId,
    /// Position of the newest item.
    pub(super) newest: u64,
    /// The generation that last changed balances without an item.
    pub(super) untold: u64,
    /// Oldest first.
    pub(super) runs: Vec<Arc<Run>>,
    /// Behind the runs, oldest first.
    pub(super) recent: Vec<RecentItem>,
}

impl FeedState {
    /// Position of the oldest item that is kept.
    fn oldest(&self) -> u64 {
        let of_runs = self.runs.first().map(|run| run.first);
        of_runs.or_else(|| self.recent.first().map(|kept| kept.item.position)).unwrap_or(self.newest + 1)
    }

    /// Every file that it needs.
    pub(super) fn files(&self) -> impl Iterator<Item = &FileRef> {
        let of_recent = self.recent.iter().flat_map(|kept| kept.rows.iter().chain(&kept.before));
        self.runs.iter().flat_map(|run| run.files()).chain(of_recent.map(|source| &source.file))
    }

    /// Adds the items of a change to what is final: one per block, in order.
    pub(super) fn append(&mut self, chain: Chain, feed_rows: &FeedRows, head: u64) -> Result<()> {
        let rows = Source::of(&feed_rows.rows);
        let before = feed_rows.before.as_deref().map(Source::of);
        for block in &feed_rows.blocks {
            let adoption = match block.hash {
                Some(hash) => self.adoption(chain, block.number, hash)?,
                None => 0,
            };
            let (number, hash, time) = (block.number, block.hash, block.time);
            let kind = ItemKind::Block;
            let item = FeedItem { position: 0, chain, number, hash, time, removed: false, adoption, head, kind };
            self.push(item, Some(Arc::clone(&rows)), before.clone());
        }
        Ok(())
    }

    /// Adds the item of a block that was taken back.
    pub(super) fn take_back(&mut self, chain: Chain, block: &TailBlock, head: u64) -> Result<()> {
        let (number, hash) = (block.number, block.hash);
        let Some(stated) = block.part.segment.block(number)? else {
            let (file, what) = (block.part.file.name.clone().into(), format!("it does not hold block {number}"));
            return Err(LedgerError::Corrupt { file, offset: 0, what });
        };
        let time = stated.time;
        let adoption = self.adoption(chain, number, hash)?;
        let (hash, kind) = (Some(hash), ItemKind::Block);
        let item = FeedItem { position: 0, chain, number, hash, time, removed: true, adoption, head, kind };
        self.push(item, Some(Source::of(&block.part)), None);
        Ok(())
    }

    /// Adds the item of an import of labels for one of the chains that it says something of.
    pub(super) fn append_labels(&mut self, chain: Chain, import: &LabelNews, head: u64) {
        let LabelNews { version, is_rolled_back, digest, time } = *import;
        let mut hash = [0; 32];
        hash[..16].copy_from_slice(&digest.to_be_bytes());
        let item = FeedItem {
            position: 0,
            chain,
            number: 0,
            hash: Some(BlockHash::new(hash)),
            time,
            removed: false,
            adoption: 0,
            head,
            kind: ItemKind::Labels { version, is_rolled_back },
        };
        self.push(item, None, None);
    }

    fn push(&mut self, item: FeedItem, rows: Option<Arc<Source>>, before: Option<Arc<Source>>) {
        self.newest += 1;
        self.recent.push(RecentItem { item: FeedItem { position: self.newest, ..item }, made: 0, rows, before });
    }

    /// Returns how often a block was taken back, as far as items are kept.
    fn adoption(&self, chain: Chain, number: u64, hash: BlockHash) -> Result<u32> {
        let is_it =
            |item: &FeedItem| item.removed && item.hash == Some(hash) && (item.chain, item.number) == (chain, number);
        let mut count = self.recent.iter().filter(|kept| is_it(&kept.item)).count();
        for run in self.runs.iter().filter(|run| run.removed > 0) {
            count += run.items()?.iter().filter(|item| is_it(item)).count();
        }
        Ok(u32::try_from(count).unwrap_or(u32::MAX))
    }

    /// Notes when the items behind a position were made.
    pub(super) fn stamp(&mut self, behind: u64, made: i64) {
        for kept in self.recent.iter_mut().rev().take_while(|kept| kept.item.position > behind) {
            kept.made = made;
        }
    }

    /// Drops what need not be kept any longer. Runs go whole.
    pub(super) fn prune(&mut self, limits: &FeedLimits, now: i64) {
        let goes = |position: u64, made: i64| {
            let age = self.newest - position;
            age >= limits.most || (age >= limits.items && made < now.saturating_sub(limits.secs))
        };
        let runs = self.runs.iter().take_while(|run| goes(run.last, run.made)).count();
        let all_runs = runs == self.runs.len();
        let recent = self.recent.iter().take_while(|kept| all_runs && goes(kept.item.position, kept.made)).count();
        self.runs.drain(..runs);
        self.recent.drain(..recent);
    }

    /// Makes runs of items that are one by one, where there are too many.
    pub(super) fn fold(&mut self, folder: &mut Folder) -> Result<()> {
        if self.recent.len() >= MAX_RECENT {
            let folded = self.recent.len() - FOLD;
            let run = Run::of(&self.recent[..folded], folder)?;
            self.runs.push(Arc::new(run));
            self.recent.drain(..folded);
        }
        let short = self.runs.iter().rev().take_while(|run| run.count() < LONG_RUN).count();
        if short >= FOLD_RUNS {
            let from = self.runs.len() - short;
            let run = Run::merged(&self.runs[from..from + FOLD_RUNS], folder)?;
            self.runs.splice(from..from + FOLD_RUNS, [Arc::new(run)]);
        }
        Ok(())
    }

    /// The items behind a position, at most so many.
    fn after(&self, position: u64, most: usize) -> Result<Vec<FeedItem>> {
        let mut items = Vec::new();
        for run in self.runs.iter().filter(|run| run.last > position) {
            if items.len() >= most {
                break;
            }
            let of_run = run.items()?;
            let from = of_run.partition_point(|item| item.position <= position);
            items.extend(of_run[from..].iter().take(most - items.len()));
        }
        let from = self.recent.partition_point(|kept| kept.item.position <= position);
        items.extend(self.recent[from..].iter().map(|kept| kept.item).take(most - items.len()));
        Ok(items)
    }

    /// An item with the segments of its rows; `None` when it is not kept.
    fn rows(&self, position: u64, root: &Path) -> Result<Option<(FeedItem, Option<ItemSegments>)>> {
        if let Some(run) = self.runs.iter().find(|run| (run.first..=run.last).contains(&position)) {
            return run.rows(position).map(Some);
        }
        let Ok(place) = self.recent.binary_search_by_key(&position, |kept| kept.item.position) else {
            return Ok(None);
        };
        let kept = &self.recent[place];
        let before = kept.before.as_ref().map(|before| before.open(root)).transpose()?;
        let rows = kept.rows.as_ref().map(|rows| rows.open(root)).transpose()?;
        Ok(Some((kept.item, rows.map(|rows| (rows, before)))))
    }
}

/// The feed of one generation of a store.
pub(super) struct StoredFeed {
    pub(super) state: Arc<FeedState>,
    /// The folder of the store.
    pub(super) root: PathBuf,
}

impl FeedSource for StoredFeed {
    fn store(&self) -> StoreId {
        self.state.store
    }

    fn oldest(&self) -> u64 {
        self.state.oldest()
    }

    fn newest(&self) -> u64 {
        self.state.newest
    }

    fn untold(&self) -> u64 {
        self.state.untold
    }

    fn after(&self, position: u64, most: usize) -> Result<Vec<FeedItem>> {
        self.state.after(position, most)
    }

    fn rows(&self, position: u64) -> Result<Option<(FeedItem, Option<ItemSegments>)>> {
        self.state.rows(position, &self.root)
    }
}

/// Draws the name of a store at random.
pub(super) fn draw_store_id(root: &Path) -> Result<StoreId> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| LedgerError::Io {
        action: "cannot draw a random name for",
        path: root.to_owned(),
        source: error.into(),
    })?;
    Ok(StoreId(bytes))
}
