//! The feed in the manifest.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Weak};

use serde::{Deserialize, Serialize};

use super::super::folder::FileEntry;
use super::super::parts::FileRef;
use super::line::ItemEntry;
use super::{FeedState, RecentItem, Run, Source};
use crate::LedgerError;
use crate::feed::StoreId;
use crate::read::Result;

/// The feed in a manifest.
#[derive(Debug, Serialize, Deserialize)]
pub(in crate::store) struct FeedEntry {
    store: String,
    newest: u64,
    untold: u64,
    runs: Vec<RunEntry>,
    recent: Vec<ItemEntry<FileEntry>>,
}

/// A run in a manifest.
#[derive(Debug, Serialize, Deserialize)]
struct RunEntry {
    first: u64,
    last: u64,
    /// When its last item was made.
    made: i64,
    /// The number of its items that take blocks back.
    removed: u64,
    list: FileEntry,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pack: Option<FileEntry>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    parts: Vec<FileEntry>,
}

impl RunEntry {
    fn of(run: &Run) -> Self {
        Self {
            first: run.first,
            last: run.last,
            made: run.made,
            removed: run.removed,
            list: FileEntry::of(&run.list),
            pack: run.pack.as_ref().map(FileEntry::of),
            parts: run.parts.iter().map(|part| FileEntry::of(&part.file)).collect(),
        }
    }

    fn files(&self) -> impl Iterator<Item = &FileEntry> {
        std::iter::once(&self.list).chain(&self.pack).chain(&self.parts)
    }

    fn open(&self, root: &Path) -> std::result::Result<Run, String> {
        if self.first > self.last {
            return Err(format!("a run of the feed goes from {} to {}", self.first, self.last));
        }
        let parts = self.parts.iter().map(|part| Ok(Source::closed(part.to_ref()?)));
        Ok(Run::closed(
            root,
            (self.first, self.last, self.made, self.removed),
            self.list.to_ref()?,
            self.pack.as_ref().map(FileEntry::to_ref).transpose()?,
            parts.collect::<std::result::Result<_, String>>()?,
        ))
    }
}

impl FeedEntry {
    pub(in crate::store) fn of(feed: &FeedState) -> Self {
        let item = |kept: &RecentItem| {
            let before = kept.before.as_ref().map(|source| FileEntry::of(&source.file));
            let rows = kept.rows.as_ref().map(|source| FileEntry::of(&source.file));
            ItemEntry::of(&kept.item, kept.made, rows, before)
        };
        Self {
            store: feed.store.to_string(),
            newest: feed.newest,
            untold: feed.untold,
            runs: feed.runs.iter().map(|run| RunEntry::of(run)).collect(),
            recent: feed.recent.iter().map(item).collect(),
        }
    }

    /// Every file it lists.
    pub(in crate::store) fn files(&self) -> impl Iterator<Item = &FileEntry> {
        let of_recent = self.recent.iter().flat_map(|item| item.rows.iter().chain(&item.before));
        self.runs.iter().flat_map(RunEntry::files).chain(of_recent)
    }

    /// The segments it lists.
    pub(in crate::store) fn segments(&self) -> impl Iterator<Item = &FileEntry> {
        let of_recent = self.recent.iter().flat_map(|item| item.rows.iter().chain(&item.before));
        self.runs.iter().flat_map(|run| &run.parts).chain(of_recent)
    }

    /// Reads it; runs that are open already are shared.
    pub(in crate::store) fn open(
        &self,
        root: &Path,
        open: &mut OpenRuns,
        corrupt: &dyn Fn(String) -> LedgerError,
    ) -> Result<FeedState> {
        let store = parse_store(&self.store).ok_or_else(|| corrupt(format!("{:?} names no store", self.store)))?;
        let mut runs = Vec::with_capacity(self.runs.len());
        for entry in &self.runs {
            let run = entry.open(root).map_err(corrupt)?;
            runs.push(open.run(run));
        }
        let mut recent = Vec::with_capacity(self.recent.len());
        for entry in &self.recent {
            let source = |file: &FileEntry| Ok::<_, LedgerError>(Source::closed(file.to_ref().map_err(corrupt)?));
            recent.push(RecentItem {
                item: entry.item().map_err(corrupt)?,
                made: entry.made,
                rows: entry.rows.as_ref().map(source).transpose()?,
                before: entry.before.as_ref().map(source).transpose()?,
            });
        }
        let firsts = runs.iter().map(|run| (run.first, run.last));
        let spans = firsts.chain(recent.iter().map(|kept| (kept.item.position, kept.item.position)));
        let mut next = None;
        for (first, last) in spans {
            if next.replace(last + 1).is_some_and(|next| next != first) {
                return Err(corrupt(format!("the feed has no item before {first}")));
            }
        }
        if next.is_some_and(|next| next != self.newest + 1) {
            return Err(corrupt("the feed does not end with its newest item".to_owned()));
        }
        Ok(FeedState { store, newest: self.newest, untold: self.untold, runs, recent })
    }
}

fn parse_store(text: &str) -> Option<StoreId> {
    let number = u128::from_str_radix(text, 16).ok().filter(|_| text.len() == 32)?;
    Some(StoreId(number.to_be_bytes()))
}

/// The name and digest by which an open run is known again.
pub(super) fn name_of(list: &FileRef) -> (String, u128) {
    (list.name.clone(), list.digest)
}

/// The runs that are open, to be shared between generations. By name and digest: a store that was made anew under a
/// reader has the same names.
#[derive(Default)]
pub(in crate::store) struct OpenRuns(HashMap<(String, u128), Weak<Run>>);

impl OpenRuns {
    /// The runs of a generation.
    pub(in crate::store) fn of(feed: &FeedState) -> Self {
        Self(feed.runs.iter().map(|run| (name_of(&run.list), Arc::downgrade(run))).collect())
    }

    fn run(&mut self, run: Run) -> Arc<Run> {
        let key = name_of(&run.list);
        if let Some(open) = self.0.get(&key).and_then(Weak::upgrade) {
            return open;
        }
        let run = Arc::new(run);
        self.0.retain(|_, run| run.strong_count() > 0);
        self.0.insert(key, Arc::downgrade(&run));
        run
    }
}
