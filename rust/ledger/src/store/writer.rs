//! The writing side of a store on disk.

mod garbage;

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use headwater_types::{Chain, Timestamp};

use super::change::Extent;
use super::commit::FeedPolicy;
use super::contents::Contents;
use super::disk::{Disk, SystemDisk};
use super::feed;
use super::folder::{self, Folder};
use super::imports::{Entries, LabelImport};
use super::listed::ListedFiles;
use super::lock::{Turn, WriterLock, WriterOptions};
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
use crate::read::{Generation as _, Result};
use crate::{Cancel, LedgerError, Snapshot};

/// A writer of a store.
///
/// Several writers, in this process and in others, may write to one store: each change waits for its turn
/// ([`WriterOptions`]) and starts from the newest generation of all writers.
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
    /// Bytes of segments that this writer wrote.
    written_bytes: u64,
    /// When the folder had changed last, as seen at the end of the last turn.
    folder_time: Option<SystemTime>,
    lock: Arc<WriterLock>,
}

/// When segments are merged and sidecars built.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Upkeep {
    /// With the change that makes them due.
    Prompt,
    /// Once a load has ended.
    Deferred,
}

impl WriterOptions {
    /// Opens a store as [`Writer::open_or_create`] does.
    ///
    /// # Errors
    /// As [`Writer::open_or_create`], and when the wait is cancelled.
    pub fn open(self, path: impl AsRef<Path>) -> Result<Writer> {
        self.open_on(path, Box::new(SystemDisk))
    }

    /// Opens a store on another disk than that of the system, for tests of faults.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn open_on(self, path: impl AsRef<Path>, disk: Box<dyn Disk>) -> Result<Writer> {
        Writer::open_with(path.as_ref(), disk, self)
    }
}

impl Writer {
    /// Opens a store for writing with the default options, and creates a missing one.
    ///
    /// # Errors
    /// [`LedgerError::Locked`] when another writer does not end its turn; [`LedgerError::Corrupt`] when it is damaged.
    pub fn open_or_create(path: impl AsRef<Path>) -> Result<Self> {
        WriterOptions::default().open(path)
    }

    /// [`Writer::open_or_create`] on another disk than that of the system, for tests of faults.
    ///
    /// # Errors
    /// As [`Writer::open_or_create`].
    pub fn open_on(path: impl AsRef<Path>, disk: Box<dyn Disk>) -> Result<Self> {
        WriterOptions::default().open_on(path, disk)
    }

    pub(super) fn open_with(path: &Path, disk: Box<dyn Disk>, options: WriterOptions) -> Result<Self> {
        let mut folder = Folder::new(path.to_owned(), disk);
        folder.create()?;
        let lock = WriterLock::open(path, options)?;
        let contents = Contents::default();
        let snapshot = Arc::new(contents.snapshot());
        let (upkeep, telling, limits) = (Upkeep::Prompt, FeedPolicy::Nothing, FeedLimits::default());
        let (listed, written_bytes, folder_time) = (ListedFiles::default(), 0, None);
        let mut writer =
            Self { folder, contents, snapshot, upkeep, telling, limits, listed, written_bytes, folder_time, lock };
        writer.exclusively(&Cancel::new(), |writer| {
            writer.folder.restore_manifests()?;
            match writer.contents.generation {
                0 => writer.change(|contents, _| Ok((Some(contents.clone()), ()))),
                _ => Ok(()),
            }
        })?;
        Ok(writer)
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns what was held when this writer last had its turn. Other writers may have changed the store since;
    /// [`Self::exclusively`] keeps them from that.
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
        let chain = batch.chain;
        self.commit_with(chain, cancel, |contents, telling, folder| contents.with_batch(batch, telling, folder, cancel))
    }

    /// Commits a batch without the statements that contradict what is held or what the batch says before, and without the
    /// claims that do not hold without those; the report is `None` where nothing is left. Of statements that contradict
    /// each other the one that is held is kept, else the first.
    ///
    /// # Errors
    /// As [`Writer::commit`].
    pub fn commit_consistent(
        &mut self,
        mut batch: Batch,
        cancel: &Cancel,
    ) -> Result<(Option<CommitReport>, Vec<Contradiction>)> {
        let (chain, mut aside, mut is_empty) = (batch.chain, Vec::new(), false);
        let report = self.commit_with(chain, cancel, |contents, telling, folder| {
            aside = contents.set_contradictions_aside(&mut batch, cancel)?;
            is_empty = batch.is_empty();
            contents.with_batch(batch, telling, folder, cancel)
        })?;
        Ok(((!is_empty).then_some(report), aside))
    }

    fn commit_with(
        &mut self,
        chain: Chain,
        cancel: &Cancel,
        step: impl FnOnce(&Contents, FeedPolicy, &mut Folder) -> Result<(Option<Contents>, CommitReport)>,
    ) -> Result<CommitReport> {
        let (before, telling) = (self.written_bytes, self.telling);
        let report = self.change_until(cancel, |contents, folder| step(contents, telling, folder))?;
        let merged = match self.upkeep {
            Upkeep::Prompt => self.merge(chain, cancel),
            Upkeep::Deferred => self.merge_while(chain, Extent::Crowded, cancel),
        };
        let merges = if merged.is_ok() { Merges::Done } else { Merges::Postponed };
        let written_bytes = self.written_bytes - before;
        Ok(CommitReport { generation: self.contents.generation, written_bytes, merges, ..report })
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
        let segments_before = self.exclusively(cancel, |writer| Ok::<_, LedgerError>(sealed(&writer.contents)))?;
        let written_before = self.written_bytes;
        while self.merge_once(chain, Extent::Most, progress, cancel)? {}
        Ok(CompactReport {
            generation: self.contents.generation,
            segments_before,
            segments: sealed(&self.contents),
            written_bytes: self.written_bytes - written_before,
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
        let outcome =
            self.change_until(cancel, |contents, folder| contents.merged(chain, extent, folder, merging, cancel))?;
        Ok(outcome != Outcome::Idle)
    }

    /// Builds the sidecars that are missing or stale, each kind a generation of its own, and returns whether there were
    /// any. Until then answers come from segments, and are the same. `progress` receives (kind, work done, in all).
    ///
    /// # Errors
    /// When a segment is damaged, a file cannot be written, or the work is cancelled: the kinds before it remain.
    pub fn rebuild_sidecars(&mut self, progress: &dyn Fn(&'static str, u64, u64), cancel: &Cancel) -> Result<bool> {
        let mut is_built = false;
        for chain in self.contents.chains_with_due_tables()? {
            // What a table covers is merged apart from the rest: each rewriting adds one segment.
            self.merge_once(chain, Extent::Uncovered, &|_, _| {}, cancel)?;
        }
        for kind in KINDS {
            is_built |= self.change_until(cancel, |contents, folder| {
                let progress = |done, total| progress(kind.name(), done, total);
                let after = contents.with_sidecars(*kind, (Occasion::Request, contents), folder, &progress, cancel)?;
                let is_built = after.is_some();
                Ok((after, is_built))
            })?;
        }
        Ok(is_built)
    }

    /// Returns whether enough came outside of the tables of holders or clusters that a follower of a chain should call
    /// [`Writer::rebuild_sidecars`]: a quarter of what a table covers, or half of what is read at most without one. Files
    /// over single segments are built with the changes that make these. Takes microseconds: reads no rows.
    ///
    /// # Errors
    /// When a segment is damaged.
    pub fn has_due_sidecars(&self) -> Result<bool> {
        Ok(!self.contents.chains_with_due_tables()?.is_empty())
    }

    /// Runs reads and changes as one turn: from the beginning to the end of `work` no other writer changes the store. The
    /// work should be short, as all other writers wait.
    ///
    /// # Errors
    /// [`LedgerError::Locked`] when another writer does not end its turn, and the errors of the work.
    pub fn exclusively<T, E: From<LedgerError>>(
        &mut self,
        cancel: &Cancel,
        work: impl FnOnce(&mut Self) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let _turn = self.begin_turn(cancel)?;
        self.show_contents();
        work(self)
    }

    /// Waits for the turn of this writer, unless it has it, and takes up the changes of others.
    fn begin_turn(&mut self, cancel: &Cancel) -> Result<Option<Turn>> {
        if self.lock.is_held() {
            return Ok(None);
        }
        let turn = self.lock.take(cancel)?;
        self.take_up_newest()?;
        Ok(Some(turn))
    }

    /// Opens the newest generation if another writer made it.
    fn take_up_newest(&mut self) -> Result<()> {
        let root = self.folder.path();
        // The time of the folder may be too coarse to separate two commits, and the next manifest may be collected
        // already; both at once cannot happen.
        let next = root.join(folder::manifest_name(self.contents.generation + 1));
        if self.folder_time.is_some() && self.time_of_folder() == self.folder_time && !next.exists() {
            return Ok(());
        }
        let newest = folder::generations(root)?.last().copied().unwrap_or_default();
        if newest != self.contents.generation {
            if newest == 0 {
                return Err(LedgerError::NoStore { path: root.to_owned() });
            }
            let mut open = OpenParts::of(&self.contents);
            let contents = Manifest::read(root, newest)?.open(root, &mut open)?;
            self.listed.note(newest, contents.files());
            self.contents = contents;
        }
        self.folder_time = self.time_of_folder();
        Ok(())
    }

    fn time_of_folder(&self) -> Option<SystemTime> {
        std::fs::metadata(self.path()).and_then(|folder| folder.modified()).ok()
    }

    /// Makes the snapshot that of the contents.
    fn show_contents(&mut self) {
        if self.snapshot.generation() != self.contents.generation {
            self.snapshot = Arc::new(self.contents.snapshot());
        }
    }

    /// Makes the next generation of what `step` gives; none when it gives none.
    fn change<T>(&mut self, step: impl FnOnce(&Contents, &mut Folder) -> Result<(Option<Contents>, T)>) -> Result<T> {
        self.change_until(&Cancel::new(), step)
    }

    /// [`Self::change`] that stops waiting for its turn when it is cancelled.
    fn change_until<T>(
        &mut self,
        cancel: &Cancel,
        step: impl FnOnce(&Contents, &mut Folder) -> Result<(Option<Contents>, T)>,
    ) -> Result<T> {
        self.folder.check()?;
        let _turn = self.begin_turn(cancel)?;
        let outcome = self.make_generation(step);
        self.show_contents();
        outcome
    }

    fn make_generation<T>(
        &mut self,
        step: impl FnOnce(&Contents, &mut Folder) -> Result<(Option<Contents>, T)>,
    ) -> Result<T> {
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
        self.written_bytes += self.folder.segment_bytes();
        self.listed.note(generation, after.files());
        self.contents = after;
        // The commit is valid; what could not be deleted now is found by the next collection.
        let _ = self.collect_at_once();
        self.folder_time = self.time_of_folder();
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
