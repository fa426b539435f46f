//! The writing side of a store on disk.

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{Seek, SeekFrom, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use headwater_types::{Chain, Timestamp};

use super::change::Extent;
use super::commit::FeedPolicy;
use super::contents::Contents;
use super::disk::{Disk, SystemDisk};
use super::feed;
use super::folder::{self, Folder, io_error};
use super::holds;
use super::imports::{Entries, LabelImport};
use super::listed::ListedFiles;
use super::manifest::{self, Manifest, OpenParts};
use super::merge::{MergeProgress, Outcome};
use super::sidecar::{KINDS, Occasion};
use super::{
    AdvanceReport, CommitReport, CompactReport, Contradiction, ImportVersion, Merges, TailAdvance, TailPosition,
};
use crate::facts::Batch;
use crate::feed::{Feed, FeedLimits, StoreId};
use crate::labels::{DisputeEntry, DisputeRequest};
use crate::market::{FxPoint, PricePoint, TokenListing};
use crate::read::{KEPT_SECS, Result};
use crate::{Cancel, LedgerError, Snapshot};

/// The one writer of a store.
///
/// Every method that changes something makes one new generation, durable when the method returns, or none: files are
/// written and synced first, and the rename of the manifest is the commit. After an error the store holds what it
/// held before, with one exception: when a sync or rename fails, what is on the disk is unknown, and this writer
/// refuses everything from then on ([`LedgerError::Latched`]).
pub struct Writer {
    folder: Folder,
    contents: Contents,
    snapshot: Arc<Snapshot>,
    upkeep: Upkeep,
    telling: FeedPolicy,
    limits: FeedLimits,
    listed: ListedFiles,
    /// Released by the system when the process ends, however it ends.
    lock: File,
}

/// When segments are merged and sidecars built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upkeep {
    /// With the change that makes them due.
    Prompt,
    /// Once a load has ended.
    Deferred,
}

impl Writer {
    /// Opens a store for writing, making it where there is none, and takes its writer lock.
    ///
    /// # Errors
    /// [`LedgerError::Locked`] when another writer has it; [`LedgerError::Corrupt`] when it is damaged.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self> {
        Self::open_on(path, Box::new(SystemDisk))
    }

    /// [`Writer::open_or_create`] on another disk than that of the system, for tests of faults.
    ///
    /// # Errors
    /// As [`Writer::open_or_create`].
    pub fn open_on(path: impl AsRef<Path>, disk: Box<dyn Disk>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        let mut folder = Folder::new(path.clone(), disk);
        folder.create()?;
        let lock = take_lock(&path)?;
        folder.restore_manifests()?;
        let contents = match folder::generations(&path)?.last() {
            Some(newest) => Manifest::read(&path, *newest)?.open(&path, &mut OpenParts::default())?,
            None => Contents::default(),
        };
        let snapshot = Arc::new(contents.snapshot());
        let (upkeep, telling, limits) = (Upkeep::Prompt, FeedPolicy::Nothing, FeedLimits::default());
        let listed = ListedFiles::default();
        let mut writer = Self { folder, contents, snapshot, upkeep, telling, limits, listed, lock };
        if writer.contents.generation == 0 {
            writer.change(|contents, _| Ok((Some(contents.clone()), ())))?;
        }
        Ok(writer)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what is held now.
    #[must_use]
    pub fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.snapshot)
    }

    /// Joins a batch with what is held and makes the result durable: all of it, or nothing. A batch that says nothing
    /// new makes no generation. Segments are merged afterwards where there are too many of one size: a generation for
    /// each merge, so that the commit is valid whatever becomes of them.
    ///
    /// # Errors
    /// [`LedgerError::Conflict`] when sources contradict each other, [`LedgerError::UnknownTime`] when a transaction
    /// is in a block of which no source stated the time, [`LedgerError::NetworkMismatch`], or when it cannot be
    /// written.
    pub fn commit(&mut self, batch: Batch, cancel: &Cancel) -> Result<CommitReport> {
        let (chain, before, telling) = (batch.chain, self.contents.written_bytes, self.telling);
        let report = self.change(|contents, folder| contents.with_batch(batch, telling, folder, cancel))?;
        let merged = match self.upkeep {
            Upkeep::Prompt => self.merge(chain, cancel),
            Upkeep::Deferred => self.merge_while(chain, Extent::Crowded, cancel),
        };
        let merges = if merged.is_ok() { Merges::Done } else { Merges::Postponed };
        let written_bytes = self.contents.written_bytes - before;
        Ok(CommitReport { generation: self.contents.generation, written_bytes, merges, ..report })
    }

    /// Takes out of a batch what contradicts what is held or what the batch says before, with the claims that do not hold
    /// without it, so that the rest can be committed. Of statements that contradict each other the one that is held
    /// is, else the first.
    ///
    /// # Errors
    /// When what is held cannot be read.
    pub fn set_contradictions_aside(&self, batch: &mut Batch, cancel: &Cancel) -> Result<Vec<Contradiction>> {
        self.contents.set_contradictions_aside(batch, cancel)
    }

    /// Adds a version of token listings and gives its number.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn import_tokens(&mut self, source: &str, listings: Vec<TokenListing>) -> Result<u64> {
        self.import(source, Entries::Tokens(listings))
    }

    /// Adds a version of prices and gives its number.
    ///
    /// # Errors
    /// [`LedgerError::InvalidPrice`], or when it cannot be written.
    pub fn import_prices(&mut self, source: &str, prices: Vec<PricePoint>) -> Result<u64> {
        self.import(source, Entries::Prices(prices))
    }

    /// Adds a version of exchange rates and gives its number.
    ///
    /// # Errors
    /// [`LedgerError::InvalidExchangeRate`], or when it cannot be written.
    pub fn import_exchange_rates(&mut self, source: &str, rates: Vec<FxPoint>) -> Result<u64> {
        self.import(source, Entries::Fx(rates))
    }

    /// Adds a version of a list of labels and gives its number. Other lists are not touched.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn import_labels(&mut self, import: LabelImport) -> Result<u64> {
        self.change(|contents, folder| {
            let (after, number) = contents.with_labels(import, folder)?;
            Ok((Some(after), number))
        })
    }

    /// Imports several lists of labels as one change: all of them, or none. Returns their numbers.
    ///
    /// # Errors
    /// As [`Self::import_labels`], for any of them.
    pub fn import_label_lists(&mut self, imports: Vec<LabelImport>) -> Result<Vec<u64>> {
        self.change(|contents, folder| {
            let (mut after, mut numbers) = (None, Vec::new());
            for import in imports {
                let (next, number) = after.as_ref().unwrap_or(contents).with_labels(import, folder)?;
                after = Some(next);
                numbers.push(number);
            }
            Ok((after, numbers))
        })
    }

    /// Records that claims are disputed, or that a dispute has ended, and gives the entries of the history that say so.
    /// Nothing that imports, rolls back or merges takes an entry back.
    ///
    /// # Errors
    /// [`LedgerError::Dispute`] if no claim matches, or if all matching claims already have the requested state; an error
    /// of the folder if the write fails.
    pub fn dispute(&mut self, request: &DisputeRequest) -> Result<Vec<DisputeEntry>> {
        self.change(|contents, folder| {
            let (after, entries) = contents.with_dispute(request, folder)?;
            Ok((Some(after), entries))
        })
    }

    fn import(&mut self, source: &str, entries: Entries) -> Result<u64> {
        self.change(|contents, folder| {
            let (imports, number) = contents.imports.with(source, entries, folder)?;
            Ok((Some(Contents { imports, ..contents.clone() }), number))
        })
    }

    /// All imports, in order, those rolled back included.
    #[must_use]
    pub fn import_versions(&self) -> Vec<ImportVersion> {
        self.contents.imports.list()
    }

    /// Takes a version of an import out of force.
    ///
    /// # Errors
    /// [`LedgerError::UnknownVersion`] when no such version is in force.
    pub fn roll_back_import(&mut self, version: u64) -> Result<()> {
        let now = Timestamp::new(now_secs());
        self.change(|contents, folder| Ok((Some(contents.without_import(version, now, folder)?), ())))
    }

    /// Adds one followed block to the tail. Its parent must be the newest block of the tail, or without a tail the
    /// block below, where that is held with its hash.
    ///
    /// # Errors
    /// [`LedgerError::TailBroken`] when it does not follow, [`LedgerError::TailBlock`] when the batch is not one
    /// block, and as [`Writer::commit`].
    pub fn append_tail_block(&mut self, batch: Batch) -> Result<CommitReport> {
        let report = self.change(|contents, folder| {
            let (contents, report) = contents.with_tail_block(batch, folder)?;
            Ok((Some(contents), report))
        })?;
        Ok(CommitReport { generation: self.contents.generation, ..report })
    }

    /// The blocks of the tail of a chain, in order.
    #[must_use]
    pub fn tail(&self, chain: Chain) -> Vec<TailPosition> {
        let blocks = self.contents.chains.get(&chain).map_or(&[][..], |held| &held.tail);
        blocks
            .iter()
            .map(|block| TailPosition { number: block.number, hash: block.hash, parent: block.parent })
            .collect()
    }

    /// Takes back blocks of the tail, adds others, and makes old ones final, all in one generation: readers see the chain
    /// before or after, and nothing in between.
    ///
    /// # Errors
    /// As [`Writer::roll_back_tail`] and [`Writer::append_tail_block`]: then nothing has changed.
    pub fn advance_tail(&mut self, chain: Chain, advance: TailAdvance) -> Result<AdvanceReport> {
        let report = self.change(|contents, folder| contents.with_tail_advanced(chain, advance, folder))?;
        if report.sealed > 0 {
            // The blocks are final, merged or not; the next change tries again.
            let _ = self.merge(chain, &Cancel::new());
        }
        Ok(AdvanceReport { generation: self.contents.generation, ..report })
    }

    /// Takes back the blocks of the tail above `to_block`, and returns how many those were.
    ///
    /// # Errors
    /// [`LedgerError::BelowTail`] when final blocks would have to go.
    pub fn roll_back_tail(&mut self, chain: Chain, to_block: u64) -> Result<u64> {
        self.change(|contents, _| contents.without_tail_above(chain, to_block))
    }

    /// Makes the blocks of the tail up to `up_to_block` final, and returns how many those were.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn seal_tail(&mut self, chain: Chain, up_to_block: u64) -> Result<u64> {
        let sealed = self.change(|contents, folder| contents.with_tail_sealed(chain, up_to_block, folder))?;
        // The blocks are final, merged or not; the next change tries again.
        let _ = self.merge(chain, &Cancel::new());
        Ok(sealed)
    }

    /// Merges segments of a chain where there are too many of one size, each merge a generation of its own. Changes no
    /// answer.
    ///
    /// # Errors
    /// When a merge cannot be written, or is cancelled: those before it remain.
    pub fn merge(&mut self, chain: Chain, cancel: &Cancel) -> Result<()> {
        self.merge_while(chain, Extent::Due, cancel)
    }

    fn merge_while(&mut self, chain: Chain, extent: Extent, cancel: &Cancel) -> Result<()> {
        while self.merge_once(chain, extent, &|_, _| {}, cancel)? {}
        Ok(())
    }

    /// Announces many commits: until [`Writer::end_load`] segments are merged only when there are too many to be read
    /// together, and no sidecars are built, as most would soon be replaced. Each commit is durable as ever, and answers
    /// are the same; rankings over large accounts take longer meanwhile.
    pub const fn begin_load(&mut self) {
        self.upkeep = Upkeep::Deferred;
    }

    /// From now on commits make items of the change feed: one per block with something new. Loads of history make none
    /// unless asked to. Followed blocks make theirs either way.
    pub const fn begin_events(&mut self) {
        self.telling = FeedPolicy::Items;
    }

    /// Sets how long items of the change feed are kept; what passes it goes with the next change.
    pub const fn keep_feed(&mut self, limits: FeedLimits) {
        self.limits = limits;
    }

    /// The change feed as it is now.
    #[must_use]
    pub fn feed(&self) -> Feed {
        self.contents.feed_of(self.snapshot(), self.folder.path())
    }

    /// Ends a load: merges what is due. Sidecars are for [`Writer::rebuild_sidecars`]. A load that is broken off needs no
    /// end: the next commit merges what is due.
    ///
    /// # Errors
    /// As [`Writer::merge`].
    pub fn end_load(&mut self, cancel: &Cancel) -> Result<()> {
        let chains: Vec<Chain> = self.contents.chains.keys().copied().collect();
        let merged = chains.into_iter().try_for_each(|chain| self.merge(chain, cancel));
        self.upkeep = Upkeep::Prompt;
        merged
    }

    /// Merges all segments of a chain into as few as may be, each merge a generation of its own; `progress(done,
    /// total)` counts the rows of one merge. Changes no answer.
    ///
    /// # Errors
    /// When a merge cannot be written, or is cancelled: those before it remain.
    pub fn compact(&mut self, chain: Chain, progress: &dyn Fn(u64, u64), cancel: &Cancel) -> Result<CompactReport> {
        let sealed = |contents: &Contents| contents.chains.get(&chain).map_or(0, |held| held.sealed.len() as u64);
        let (segments_before, written_before) = (sealed(&self.contents), self.contents.written_bytes);
        while self.merge_once(chain, Extent::Most, progress, cancel)? {}
        Ok(CompactReport {
            generation: self.contents.generation,
            segments_before,
            segments: sealed(&self.contents),
            written_bytes: self.contents.written_bytes - written_before,
        })
    }

    /// Returns whether there may be more to merge.
    fn merge_once(
        &mut self,
        chain: Chain,
        extent: Extent,
        merging: MergeProgress<'_>,
        cancel: &Cancel,
    ) -> Result<bool> {
        let outcome = self.change(|contents, folder| contents.merged(chain, extent, folder, merging, cancel))?;
        Ok(outcome != Outcome::Idle)
    }

    /// Builds the sidecars that are missing or stale, each kind a generation of its own, and returns whether there were
    /// any. Until then answers come from segments, and are the same. `progress` receives (kind, work done, in all).
    ///
    /// # Errors
    /// When a segment is damaged, a file cannot be written, or the work is cancelled: the kinds before it remain.
    pub fn rebuild_sidecars(&mut self, progress: &dyn Fn(&'static str, u64, u64), cancel: &Cancel) -> Result<bool> {
        let mut is_built = false;
        for kind in KINDS {
            is_built |= self.change(|contents, folder| {
                let progress = |done, total| progress(kind.name(), done, total);
                let after = contents.with_sidecars(*kind, (Occasion::Request, contents), folder, &progress, cancel)?;
                let is_built = after.is_some();
                Ok((after, is_built))
            })?;
        }
        Ok(is_built)
    }

    /// Deletes generations that were replaced more than [`KEPT_SECS`] ago and that no reader holds
    /// ([`crate::store::PinnedStore`]), and files that no remaining one lists. Called by every change; the outcome of a
    /// change does not depend on it.
    ///
    /// # Errors
    /// When the folder cannot be read or a file cannot be deleted.
    pub fn collect_garbage(&mut self) -> Result<()> {
        let now = self.file_system_time()?;
        self.collect_garbage_at(now)
    }

    /// Returns the time by the clock that dates the files of the store, which need not be that of this machine.
    fn file_system_time(&self) -> Result<SystemTime> {
        let mut lock = &self.lock;
        let written = lock.seek(SeekFrom::Start(0)).and_then(|_| lock.write_all(b"\n"));
        let time = written.and_then(|()| lock.metadata()).and_then(|file| file.modified());
        time.map_err(|source| io_error("cannot write", &self.path().join(folder::LOCK), source))
    }

    pub(super) fn collect_garbage_at(&mut self, now: SystemTime) -> Result<()> {
        let is_old = |path: &Path| {
            let changed = std::fs::metadata(path).and_then(|file| file.modified());
            let age = changed.ok().and_then(|changed| now.duration_since(changed).ok());
            age.is_some_and(|age| age > Duration::from_secs(KEPT_SECS))
        };
        let root = self.folder.path().to_owned();
        // Readers may hold what a collection before set aside: as long as a manifest is there, its files are listed.
        self.folder.restore_manifests()?;
        let mut kept = folder::generations(&root)?;
        // A generation is as long replaced as its successor is old, and they grow old in order.
        let replaced = kept.windows(2).take_while(|pair| is_old(&root.join(folder::manifest_name(pair[1]))));
        let replaced: Vec<u64> = replaced.map(|pair| pair[0]).collect();
        let removed = self.remove_unheld(&replaced, now)?;
        kept.retain(|generation| !removed.contains(generation));
        self.listed.read(&root, &kept)?;
        self.listed.keep_only(&kept);
        let folders = folder::folders().map(|folder| root.join(folder)).chain([root.clone()]);
        for folder in folders {
            let is_root = folder == root;
            for entry in std::fs::read_dir(&folder).map_err(|source| io_error("cannot list", &folder, source))? {
                let path = entry.map_err(|source| io_error("cannot list", &folder, source))?.path();
                // In the root folder are files of other owners; only our own leftovers are ours to delete.
                let is_ours = !is_root || is_temporary_manifest(&path);
                let is_listed = path.strip_prefix(&root).is_ok_and(|name| self.listed.has(name));
                if is_ours && path.is_file() && !is_listed && is_old(&path) {
                    self.folder.remove(&path)?;
                }
            }
        }
        Ok(())
    }

    /// Removes the manifests of those of the generations that no reader holds, and returns which. After an error all
    /// that are not removed are shown again.
    fn remove_unheld(&mut self, generations: &[u64], now: SystemTime) -> Result<BTreeSet<u64>> {
        let removed = self.remove_by_setting_aside(generations, now);
        if removed.is_err() {
            // The next collection repeats what fails here.
            let _ = self.folder.restore_manifests();
        }
        removed
    }

    fn remove_by_setting_aside(&mut self, generations: &[u64], now: SystemTime) -> Result<BTreeSet<u64>> {
        let held = self.held_generations(now)?;
        let mut aside: BTreeSet<u64> = generations.iter().copied().filter(|number| !held.contains(number)).collect();
        if aside.is_empty() {
            return Ok(aside);
        }
        for generation in &aside {
            self.folder.set_manifest_aside(*generation)?;
        }
        // A reader that saw a manifest wrote its hold before.
        for generation in self.held_generations(now)? {
            if aside.remove(&generation) {
                self.folder.restore_manifest(generation)?;
            }
        }
        for generation in &aside {
            self.folder.remove_manifest(*generation)?;
        }
        Ok(aside)
    }

    /// Returns the generations that readers hold, and deletes the holds of processes that ended without doing so.
    fn held_generations(&mut self, now: SystemTime) -> Result<BTreeSet<u64>> {
        let mut held = BTreeSet::new();
        for hold in holds::list(self.folder.path())? {
            if hold.is_live(now) {
                held.insert(hold.generation);
            } else {
                // A reader that deletes it at this moment does the same.
                let _ = self.folder.remove(&hold.path);
            }
        }
        Ok(held)
    }

    /// Makes the next generation of what `step` gives; none when it gives none.
    fn change<T>(&mut self, step: impl FnOnce(&Contents, &mut Folder) -> Result<(Option<Contents>, T)>) -> Result<T> {
        let generation = self.contents.generation + 1;
        self.folder.begin(generation)?;
        let (after, outcome) = step(&self.contents, &mut self.folder)?;
        let Some(mut after) = after else { return Ok(outcome) };
        after.drop_orphans();
        if self.upkeep == Upkeep::Prompt {
            for kind in KINDS {
                let occasion = (Occasion::Change, &self.contents);
                let built = after.with_sidecars(*kind, occasion, &mut self.folder, &|_, _| {}, &Cancel::new())?;
                after = built.unwrap_or(after);
            }
        }
        self.keep_up_feed(&mut after)?;
        after.generation = generation;
        after.written_bytes += self.folder.segment_bytes();
        let manifest = manifest::write(&mut after, &mut self.folder)?;
        self.folder.publish(&manifest)?;
        self.snapshot = Arc::new(after.snapshot());
        self.listed.note(generation, after.files());
        self.contents = after;
        // The commit is valid; what could not be deleted now is found by the next collection.
        let _ = self.collect_garbage();
        Ok(outcome)
    }

    /// Stamps new items, drops old ones, and puts those before into runs.
    fn keep_up_feed(&mut self, after: &mut Contents) -> Result<()> {
        let feed = Arc::make_mut(&mut after.feed);
        if feed.store == StoreId::default() {
            feed.store = feed::draw_store_id(self.folder.path())?;
        }
        if feed.newest == self.contents.feed.newest {
            return Ok(());
        }
        let now = now_secs();
        feed.stamp(self.contents.feed.newest, now);
        feed.prune(&self.limits, now);
        match feed.fold(&mut self.folder) {
            // A damaged file of an old item must not keep new blocks out: its items stay as they are.
            Err(LedgerError::Corrupt { .. }) => Ok(()),
            folded => folded,
        }
    }
}

/// Epoch seconds.
fn now_secs() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    i64::try_from(now).unwrap_or(i64::MAX)
}

fn is_temporary_manifest(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    name.starts_with("manifest-") && name.ends_with(folder::TEMPORARY)
}

fn take_lock(root: &Path) -> Result<File> {
    let path = root.join(folder::LOCK);
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|source| io_error("cannot open", &path, source))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(LedgerError::Locked { path: root.to_owned() }),
        Err(TryLockError::Error(source)) => Err(io_error("cannot lock", &path, source)),
    }
}
