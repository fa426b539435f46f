//! The reading side of a store on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use arc_swap::ArcSwapOption;

use super::contents::{ChainContents, Contents};
use super::holds::Hold;
use super::manifest::{Manifest, OpenParts};
use super::parts::FileRef;
use super::{ChainStats, LogicalDigest, StoreFile, StoreStats, VerifyReport, digest, folder, holds, verify};
use crate::feed::Feed;
use crate::labels::LabelDiff;
use crate::read::{Generations, KEPT_SECS, Ledger, Result, StaleGeneration};
use crate::{Cancel, LedgerError, Snapshot};

/// The time that a look at the folder stays valid, but for a commit that came since.
const TRUSTED: Duration = Duration::from_secs(1);
/// The time without another look whether one came: not longer than the notification takes.
const FRESH: Duration = Duration::from_millis(1);
/// Earlier generations that are held open: commits may come faster than generations are given up, and each takes tens of
/// kilobytes. Any other is opened from its manifest when it is asked for.
const HELD: usize = 16;
/// The interval at which a generation that cannot be read is tried again.
const RETRY: Duration = Duration::from_secs(5);

/// A store on disk, for reading. Sees the commits of other processes; share one among all callers.
///
/// Each generation is immutable: a reader that holds a snapshot is not disturbed by commits, merges or the deletion
/// of old files. Generations share the segments they have in common.
pub struct Store {
    path: PathBuf,
    /// True if an earlier generation is given where the newest one cannot be read.
    has_fallback: bool,
    state: Mutex<State>,
    /// Read by every call, so that none may wait for another.
    seen: ArcSwapOption<NewestGeneration>,
}

/// The newest generation, as it was seen.
#[derive(Clone)]
struct NewestGeneration {
    newest: Arc<LoadedGeneration>,
    /// The manifest that the next commit will write.
    next: Arc<Path>,
    /// When the folder had changed last, as seen before it was listed.
    folder_time: Option<SystemTime>,
    /// When the folder was last looked at.
    at: Instant,
    /// Microseconds from then until it was last looked whether the next manifest is there.
    looked: Arc<AtomicU64>,
    /// The earlier generation that is given in place of the newest one.
    fallback: Option<Fallback>,
}

/// An earlier generation in place of one that cannot be read.
#[derive(Clone)]
struct Fallback {
    stale: Arc<StaleGeneration>,
    /// The time at which the newest generation is tried again.
    retry_at: Instant,
    /// Keeps the files of the earlier one, where the folder of holds can be written to.
    hold: Option<Arc<Hold>>,
}

#[derive(Default)]
struct State {
    /// Generations that were replaced while this reader looked on, or were asked for by number.
    held: BTreeMap<u64, (Arc<LoadedGeneration>, Instant)>,
    open: OpenParts,
}

impl State {
    /// Holds an earlier generation open, and lets go of what was taken up longest ago.
    fn hold(&mut self, loaded: Arc<LoadedGeneration>) {
        self.held.insert(loaded.contents.generation, (loaded, Instant::now()));
        self.held.retain(|_, (_, since)| since.elapsed() <= Duration::from_secs(KEPT_SECS));
        while self.held.len() > HELD {
            let Some((&first, _)) = self.held.iter().min_by_key(|(_, (_, since))| *since) else { break };
            self.held.remove(&first);
        }
    }
}

struct LoadedGeneration {
    contents: Contents,
    manifest: FileRef,
    snapshot: Arc<Snapshot>,
}

impl Store {
    /// Opens a store. What it holds is read when it is first asked for.
    ///
    /// # Errors
    /// [`LedgerError::NoStore`] when there is none at `path`.
    pub fn open(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref().to_owned();
        if folder::generations(&path)?.is_empty() {
            return Err(LedgerError::NoStore { path });
        }
        Ok(Self { path, has_fallback: false, state: Mutex::default(), seen: ArcSwapOption::empty() })
    }

    /// Continues to give the generation that it gave before where a newer one cannot be read: for servers, which would
    /// otherwise give no answer at all. [`Generations::stale`] reports it, and every five seconds the newest one is tried
    /// again. A store that has not given any generation yet fails as others do.
    #[must_use]
    pub fn with_fallback(self) -> Self {
        Self { has_fallback: true, ..self }
    }

    /// The folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The newest generation.
    ///
    /// # Errors
    /// When the store cannot be read; [`LedgerError::Corrupt`] when it is damaged.
    pub fn snapshot(&self) -> Result<Arc<Snapshot>> {
        Ok(Arc::clone(&self.newest()?.snapshot))
    }

    /// Reads every byte of the newest generation against its checksums; `progress(done, total)` counts bytes.
    ///
    /// # Errors
    /// When the work is cancelled or the folder cannot be read. Damage is not an error here: it is in the report.
    pub fn verify(&self, progress: &dyn Fn(u64, u64), cancel: &Cancel) -> Result<VerifyReport> {
        verify::verify(&self.path, progress, cancel)
    }

    /// The digest of what the newest generation holds: the same for the same content, whatever the order, the
    /// commits and the segments it came in. Reads everything.
    ///
    /// # Errors
    /// When the store cannot be read, or the work is cancelled.
    pub fn digest(&self, cancel: &Cancel) -> Result<LogicalDigest> {
        digest::digest(&self.newest()?.contents, cancel)
    }

    /// Returns what an import of labels says that another does not: by default the one before it of its list.
    ///
    /// # Errors
    /// [`LedgerError::UnknownVersion`] when a number names no import of labels, or when a file is damaged.
    pub fn diff_labels(&self, version: u64, against: Option<u64>) -> Result<LabelDiff> {
        self.newest()?.contents.imports.diff_labels(version, against)
    }

    /// Returns the number of a generation, of the newest by default, and its files, the manifest last. Their copies in an
    /// empty folder are a store of that generation. A [`crate::store::PinnedStore`] keeps them meanwhile.
    ///
    /// # Errors
    /// [`LedgerError::UnknownGeneration`] when the folder does not have it, and when its manifest cannot be read.
    pub fn files(&self, generation: Option<u64>) -> Result<(u64, Vec<StoreFile>)> {
        let generation = match generation {
            Some(generation) => generation,
            None => self.newest_number()?,
        };
        let (manifest, file) = Manifest::read_with_file(&self.path, generation).map_err(|error| match error {
            LedgerError::GenerationGone { .. } => folder::unknown_generation(&self.path, generation),
            error => error,
        })?;
        let path = self.path.join(&file.name);
        let corrupt = |what| LedgerError::Corrupt { file: path.clone(), offset: 0, what };
        let listed = manifest.files().into_iter().map(|file| file.map_err(corrupt));
        let files = listed.chain([Ok(file)]).map(|file| {
            let file = file?;
            Ok(StoreFile { digest: file.digest_text(), name: file.name, bytes: file.length })
        });
        Ok((generation, files.collect::<Result<_>>()?))
    }

    /// Returns the numbers of the generations whose manifests are in the folder, ascending.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn generations(&self) -> Result<Vec<u64>> {
        folder::generations(&self.path)
    }

    /// Returns what the newest generation holds.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn stats(&self) -> Result<StoreStats> {
        let newest = self.newest()?;
        let contents = &newest.contents;
        let manifest = self.path.join(folder::manifest_name(contents.generation));
        let manifest_bytes = std::fs::metadata(&manifest).map_or(0, |file| file.len());
        let mut chains = BTreeMap::new();
        for (chain, held) in &contents.chains {
            let stats = ChainStats {
                coverage: held.coverage(),
                segments: held.sealed.len() as u64,
                tail_blocks: held.tail.len() as u64,
                bytes: held.parts().map(|part| part.file.length).sum(),
                underived: contents.underived(*chain, held)?,
            };
            chains.insert(*chain, stats);
        }
        let by_name = |file: &'_ FileRef| (file.name.clone(), file.length);
        let files: BTreeMap<String, u64> = contents.files().map(by_name).collect();
        Ok(StoreStats {
            generation: contents.generation,
            chains,
            files: files.len() as u64 + 1,
            bytes: files.values().sum::<u64>() + manifest_bytes,
            segment_bytes: contents.chains.values().flat_map(ChainContents::parts).map(|part| part.file.length).sum(),
            written_segment_bytes: contents.written_bytes,
            imports: contents.imports.list(),
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while loading leaves the state as it was before: nothing is half set.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn see(&self, seen: NewestGeneration) {
        self.seen.store(Some(Arc::new(seen)));
    }

    fn newest(&self) -> Result<Arc<LoadedGeneration>> {
        if let Some(newest) = self.seen_newest() {
            return Ok(newest);
        }
        let mut state = self.lock();
        // Another caller may have opened it meanwhile.
        if let Some(newest) = self.seen_newest() {
            return Ok(newest);
        }
        let at = Instant::now();
        // Looked at before the listing, so that a commit in between is seen next time.
        let folder_time = self.folder_time();
        let number = self.newest_number()?;
        let before = self.seen.load().as_ref().map(|seen| Arc::clone(&seen.newest));
        let (newest, fallback) = match before {
            Some(before) if before.contents.generation == number => (before, None),
            before => match self.load(&mut state, number) {
                Ok(newest) => {
                    if let Some(before) = before {
                        state.hold(before);
                    }
                    (newest, None)
                }
                Err(error) => match before.filter(|_| self.has_fallback) {
                    Some(before) => {
                        let fallback = self.fall_back(&before, number, &error);
                        (before, Some(fallback))
                    }
                    None => return Err(error),
                },
            },
        };
        let next = self.path.join(folder::manifest_name(number + 1)).into();
        let looked = Arc::default();
        self.see(NewestGeneration { newest: Arc::clone(&newest), next, folder_time, at, looked, fallback });
        Ok(newest)
    }

    /// Records that `served` is given in place of generation `number`, which cannot be read.
    fn fall_back(&self, served: &LoadedGeneration, number: u64, error: &LedgerError) -> Fallback {
        let generation = served.contents.generation;
        let known = self.seen.load().as_ref().and_then(|seen| seen.fallback.clone());
        let hold = match known.filter(|known| known.stale.served == generation) {
            Some(known) => known.hold,
            // Without it the generation is kept for a quarter of an hour.
            None => Hold::take(&self.path, generation).ok().flatten().map(Arc::new),
        };
        let stale = StaleGeneration { unreadable: number, served: generation, error: causes(error) };
        Fallback { stale: Arc::new(stale), retry_at: Instant::now() + RETRY, hold }
    }

    /// Returns the newest generation as seen before, where it still is the newest. A cheap look: two requests to the
    /// system. The time of the folder may be too coarse to separate two commits, the name of the next manifest may be
    /// collected already; both at once cannot happen.
    fn seen_newest(&self) -> Option<Arc<LoadedGeneration>> {
        let seen = self.seen.load_full()?;
        let at = Instant::now();
        let is_retried = seen.fallback.as_ref().is_some_and(|fallback| at >= fallback.retry_at);
        if is_retried || seen.next.exists() || self.folder_time() != seen.folder_time {
            return None;
        }
        let newest = Arc::clone(&seen.newest);
        if at.duration_since(seen.at) > TRUSTED {
            self.see(NewestGeneration { at, looked: Arc::default(), ..NewestGeneration::clone(&seen) });
        }
        Some(newest)
    }

    fn newest_number(&self) -> Result<u64> {
        let generations = folder::generations(&self.path)?;
        generations.last().copied().ok_or_else(|| LedgerError::NoStore { path: self.path.clone() })
    }

    fn folder_time(&self) -> Option<SystemTime> {
        std::fs::metadata(&self.path).and_then(|folder| folder.modified()).ok()
    }

    fn load(&self, state: &mut State, generation: u64) -> Result<Arc<LoadedGeneration>> {
        let (manifest, file) = Manifest::read_with_file(&self.path, generation)?;
        let contents = manifest.open(&self.path, &mut state.open)?;
        let committed = std::fs::metadata(self.path.join(folder::manifest_name(generation)));
        let committed = committed.and_then(|file| file.modified()).ok();
        let snapshot = Arc::new(contents.snapshot().with_origin(&self.path, committed));
        Ok(Arc::new(LoadedGeneration { contents, manifest: file, snapshot }))
    }

    /// Opens the contents of a generation from its manifest, expired or not.
    pub(super) fn contents(&self, generation: u64) -> Result<(Contents, FileRef)> {
        let (manifest, file) = Manifest::read_with_file(&self.path, generation)?;
        Ok((manifest.open(&self.path, &mut self.lock().open)?, file))
    }

    /// Returns a generation that is still kept.
    fn kept(&self, number: u64) -> Result<Arc<LoadedGeneration>> {
        let newest = self.newest()?;
        if newest.contents.generation == number {
            return Ok(newest);
        }
        let mut state = self.lock();
        if let Some((loaded, _)) = state.held.get(&number) {
            return Ok(Arc::clone(loaded));
        }
        if number > newest.contents.generation || self.is_expired(number) {
            return Err(LedgerError::GenerationGone { generation: number });
        }
        let loaded = self.load(&mut state, number)?;
        state.hold(Arc::clone(&loaded));
        Ok(loaded)
    }

    /// Returns whether the manifest of a generation is so long replaced that it is no longer kept.
    fn is_expired(&self, generation: u64) -> bool {
        let next = self.path.join(folder::manifest_name(generation + 1));
        let replaced = std::fs::metadata(next).and_then(|file| file.modified());
        // Where the next manifest is collected, this one is about to be.
        let is_old = replaced.map_or(true, |replaced| {
            SystemTime::now().duration_since(replaced).is_ok_and(|age| age > Duration::from_secs(KEPT_SECS))
        });
        is_old && !holds::is_held(&self.path, generation)
    }
}

/// An error with its causes, in one line.
fn causes(error: &LedgerError) -> String {
    let causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

impl Generations for Store {
    fn feed(&self) -> Result<Feed> {
        let newest = self.newest()?;
        let ledger = Arc::clone(&newest.snapshot) as Arc<dyn Ledger>;
        Ok(newest.contents.feed_of(ledger, &self.path))
    }

    fn current(&self) -> Result<Arc<dyn Ledger>> {
        Ok(self.snapshot()?)
    }

    fn folder(&self) -> Option<&Path> {
        Some(&self.path)
    }

    fn stale(&self) -> Option<Arc<StaleGeneration>> {
        self.seen.load().as_ref()?.fallback.as_ref().map(|fallback| Arc::clone(&fallback.stale))
    }

    fn at_hand(&self, now: Instant) -> Option<u64> {
        let seen = self.seen.load();
        let seen = seen.as_ref()?;
        let now = now.saturating_duration_since(seen.at);
        let looked = Duration::from_micros(seen.looked.load(Ordering::Relaxed));
        if now.saturating_sub(looked) > FRESH {
            // So soon after a look at the folder the next manifest cannot be there and collected again.
            if now > TRUSTED || seen.next.exists() {
                return None;
            }
            seen.looked.store(u64::try_from(now.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
        }
        Some(seen.newest.contents.generation)
    }

    fn generation(&self, number: u64) -> Result<Arc<dyn Ledger>> {
        Ok(Arc::clone(&self.kept(number)?.snapshot) as _)
    }

    fn fingerprint(&self, number: u64) -> Result<Option<String>> {
        Ok(Some(self.kept(number)?.manifest.digest_text()))
    }
}
