//! A load: files into a store, and everything that a store needs after its last commit.

use std::path::{Path, PathBuf};

use headwater_ledger::read::Generation as _;
use headwater_ledger::store::{ImportKind, ImportVersion, MissingClaims, Writer, WriterOptions};
use headwater_ledger::{Cancel, LedgerError};
use headwater_types::Timestamp;
use serde::Serialize;

use crate::labels::refresh_freezes;
use crate::source::discover;
use crate::{IngestError, IngestReport, Options, Progress, ingest};

/// The options of a load.
#[derive(Debug, Clone)]
pub struct LoadOptions {
    /// The options for reading files.
    pub reading: Options,
    /// The items that commits add to the change feed.
    pub feed: FeedItems,
    /// The time of the import of freezes.
    pub imported_at: Timestamp,
}

/// The items that the commits of a load add to the change feed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum FeedItems {
    /// No items: loading history sends no events.
    #[default]
    None,
    /// One item per block with new data, as of followed blocks.
    PerBlock,
}

/// The outcome of a load of files. Its JSON form is that of [`IngestReport`] with what the store gained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LoadReport {
    /// The files that were read, and the commits.
    #[serde(flatten)]
    pub ingest: IngestReport,
    /// The changes of the store.
    #[serde(flatten)]
    pub store: StoreReport,
}

/// The changes that a load made in a store.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct StoreReport {
    /// Movements that the store gained, those of other writers at that time too. A call that moves no coins counts as one
    /// of zero.
    pub movements: u64,
    /// The count of tokens that no registry lists. Reported once: by the load that brings the first ones into a store
    /// without an imported registry.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unlisted_tokens: Option<u64>,
    /// True of the first load into a store without lists of labels, besides the freezes that loads read from logs.
    #[serde(skip)]
    pub lacks_lists: bool,
    /// The freezes that became a version of labels; `None` where they have not changed.
    #[serde(skip)]
    pub freezes: Option<FreezeImport>,
}

/// Freezes of token issuers that became a version of labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FreezeImport {
    /// The version.
    pub version: u64,
    /// The count of claims.
    pub claims: u64,
}

/// Loads files, folders and patterns into a store, which is created where it is missing.
///
/// Reads them as [`ingest`] does and then finishes the load ([`finish_load`]). The same load repeated changes nothing,
/// and one that was stopped midway continues.
///
/// ```
/// use headwater_ingest::{FeedItems, LoadOptions, Options, Silent, load};
/// use headwater_ledger::Cancel;
/// use headwater_types::Timestamp;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("blocks.csv");
/// std::fs::write(&file, "number,hash,parent_hash,timestamp,gas_limit\n7,,,1438270000,5000\n")?;
/// let imported_at = Timestamp::new(1_767_225_600);
/// let options = LoadOptions { reading: Options::default(), feed: FeedItems::None, imported_at };
/// let report = load(&folder.path().join("store"), &[file], &options, &Silent, &Cancel::new())?;
/// assert_eq!((report.ingest.blocks, report.store.unlisted_tokens, report.store.freezes), (1, None, None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// As [`ingest`]. A path without files leaves no empty store behind.
pub fn load(
    store: &Path,
    paths: &[PathBuf],
    options: &LoadOptions,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<LoadReport, IngestError> {
    discover(paths)?;
    let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
    let start = LoadStart::new(&writer)?;
    writer.begin_load();
    if options.feed == FeedItems::PerBlock {
        writer.begin_events();
    }
    let ingest = ingest(paths, &options.reading, &mut writer, progress, cancel)?;
    let store = start.finish(&mut writer, options.imported_at, progress, cancel)?;
    Ok(LoadReport { ingest, store })
}

/// A store as it was before a load.
#[derive(Debug)]
pub struct LoadStart {
    movements: u64,
    is_first: bool,
    had_unlisted_tokens: bool,
}

impl LoadStart {
    /// Counts what a store holds before a load.
    ///
    /// # Errors
    /// When a file of the store cannot be read.
    pub fn new(writer: &Writer) -> Result<Self, LedgerError> {
        Ok(Self {
            movements: movements(writer),
            is_first: writer.snapshot().coverage().is_empty(),
            had_unlisted_tokens: !writer.snapshot().unlisted_tokens()?.is_empty(),
        })
    }

    /// Finishes the load ([`finish_load`]), and returns what it changed.
    ///
    /// # Errors
    /// As [`finish_load`].
    pub fn finish(
        self,
        writer: &mut Writer,
        imported_at: Timestamp,
        progress: &dyn Progress,
        cancel: &Cancel,
    ) -> Result<StoreReport, LedgerError> {
        let freezes = finish_load(writer, imported_at, progress, cancel)?;
        let unlisted_tokens = if self.had_unlisted_tokens { None } else { unlisted_tokens(writer)? };
        let movements = movements(writer).saturating_sub(self.movements);
        let lacks_lists = self.is_first && !has_lists(writer);
        Ok(StoreReport { movements, unlisted_tokens, lacks_lists, freezes })
    }
}

/// Finishes a load after its last commit: merges segments, builds sidecars, and imports the freezes that the known token
/// issuers made on chain.
///
/// # Errors
/// When a file of the store cannot be read or written, or the work is cancelled. The commits stay, and the next load
/// does what is missing.
pub fn finish_load(
    writer: &mut Writer,
    imported_at: Timestamp,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Option<FreezeImport>, LedgerError> {
    writer.end_load(cancel)?;
    writer.rebuild_sidecars(&|kind, done, total| progress.building(kind, done, total), cancel)?;
    let (version, found) = refresh_freezes(writer, imported_at, cancel)?;
    Ok(version.map(|version| FreezeImport { version, claims: found.counts.claims }))
}

/// Returns whether a store has lists of labels besides the freezes that loads read from logs.
fn has_lists(writer: &Writer) -> bool {
    let is_list = |import: &ImportVersion| {
        let vanished = import.list.as_ref().map(|list| list.vanished);
        import.kind == ImportKind::Labels && import.in_force && vanished != Some(MissingClaims::Forgotten)
    };
    writer.import_versions().iter().any(is_list)
}

/// Counts the movements of all chains.
fn movements(writer: &Writer) -> u64 {
    writer.snapshot().coverage().values().map(|coverage| coverage.movements).sum()
}

/// Counts the tokens that no registry lists, in a store without an imported registry.
fn unlisted_tokens(writer: &Writer) -> Result<Option<u64>, LedgerError> {
    let is_registry = |version: &ImportVersion| version.kind == ImportKind::Tokens && version.in_force;
    if writer.import_versions().iter().any(is_registry) {
        return Ok(None);
    }
    let count = writer.snapshot().unlisted_tokens()?.len() as u64;
    Ok(Some(count).filter(|count| *count > 0))
}
