//! Imports of token registries, prices and exchange rates into a store.

use std::path::{Path, PathBuf};

use headwater_ledger::market::{FxPoint, PricePoint, TokenListing};
use headwater_ledger::store::{Writer, WriterOptions};
use headwater_ledger::{Cancel, LedgerError};
use serde::Serialize;

use super::Listed;
use crate::source::discover;
use crate::{IngestError, Progress};

/// The entries of one path: one version of an import.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceEntries<T> {
    path: PathBuf,
    source: String,
    entries: Vec<T>,
    skipped: u64,
    skipped_reasons: Vec<String>,
}

/// A version that an import made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MarketImport {
    /// The file or folder.
    pub path: PathBuf,
    /// The name of the source.
    pub source: String,
    /// The number of the version.
    pub version: u64,
    /// The count of entries.
    pub entries: u64,
    /// Rows that were left out.
    pub skipped: u64,
    /// The reasons of the first few of them, and the files of a folder that were not read.
    pub skipped_reasons: Vec<String>,
}

/// Reads the files of all paths, each path as one version. The store is opened afterwards, so a broken file leaves no
/// partial import.
///
/// The name of the source is `source`, else that of the file or folder. Files in a folder that are in no known format, or
/// that give nothing, are left out; a file named itself must be understood.
///
/// # Errors
/// When a path names no file, a file is refused, or no file of a folder is read.
pub fn read_sources<T>(
    paths: &[PathBuf],
    source: Option<&str>,
    read: impl Fn(&Path) -> Result<Listed<T>, IngestError>,
) -> Result<Vec<SourceEntries<T>>, IngestError> {
    paths.iter().map(|path| read_source(path, source, &read)).collect()
}

fn read_source<T>(
    path: &Path,
    source: Option<&str>,
    read: &impl Fn(&Path) -> Result<Listed<T>, IngestError>,
) -> Result<SourceEntries<T>, IngestError> {
    let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned();
    let source = source.map_or(name, str::to_owned);
    let mut of_path =
        SourceEntries { path: path.to_owned(), source, entries: Vec::new(), skipped: 0, skipped_reasons: Vec::new() };
    let (mut files_read, mut unread) = (0, None);
    for file in discover(&[path.to_owned()])? {
        let listed = match read(&file) {
            Ok(listed) => listed,
            // Other files of a folder are skipped; a file that was named itself is meant.
            Err(error @ (IngestError::Unrecognised { .. } | IngestError::NothingRead { .. })) if file != path => {
                of_path.skipped_reasons.push(error.to_string().lines().next().unwrap_or_default().to_owned());
                unread.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        files_read += 1;
        of_path.entries.extend(listed.entries);
        of_path.skipped += listed.skipped;
        let place = if file == path { String::new() } else { format!("{}: ", file.display()) };
        of_path.skipped_reasons.extend(listed.skipped_reasons.into_iter().map(|reason| format!("{place}{reason}")));
    }
    match unread {
        Some(error) if files_read == 0 => Err(error),
        _ => Ok(of_path),
    }
}

/// Imports token registries into a store, which is created where it is missing, and rebuilds its sidecars.
///
/// ```
/// use headwater_ingest::{Silent, import_tokens, list_tokens, read_sources};
/// use headwater_ledger::Cancel;
///
/// let folder = tempfile::tempdir()?;
/// let file = folder.path().join("tokens.csv");
/// std::fs::write(&file, "address,symbol,decimals\n0x6b175474e89094c44da98b954eedeac495271d0f,DAI,18\n")?;
/// let sources = read_sources(&[file], Some("mine"), |file| list_tokens(file, None))?;
/// let imports = import_tokens(&folder.path().join("store"), sources, &Silent, &Cancel::new())?;
/// assert_eq!((imports[0].source.as_str(), imports[0].version, imports[0].entries), ("mine", 1, 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When another writer does not end its turn, an entry is refused, or the work is cancelled.
pub fn import_tokens(
    store: &Path,
    sources: Vec<SourceEntries<TokenListing>>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<MarketImport>, LedgerError> {
    import(store, sources, Writer::import_tokens, progress, cancel)
}

/// Imports prices, as [`import_tokens`] does registries.
///
/// # Errors
/// As [`import_tokens`].
pub fn import_prices(
    store: &Path,
    sources: Vec<SourceEntries<PricePoint>>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<MarketImport>, LedgerError> {
    import(store, sources, Writer::import_prices, progress, cancel)
}

/// Imports exchange rates, as [`import_tokens`] does registries.
///
/// # Errors
/// As [`import_tokens`].
pub fn import_exchange_rates(
    store: &Path,
    sources: Vec<SourceEntries<FxPoint>>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<MarketImport>, LedgerError> {
    import(store, sources, Writer::import_exchange_rates, progress, cancel)
}

fn import<T>(
    store: &Path,
    sources: Vec<SourceEntries<T>>,
    write: impl Fn(&mut Writer, &str, Vec<T>) -> Result<u64, LedgerError>,
    progress: &dyn Progress,
    cancel: &Cancel,
) -> Result<Vec<MarketImport>, LedgerError> {
    let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
    let mut imports = Vec::with_capacity(sources.len());
    for SourceEntries { path, source, entries, skipped, skipped_reasons } in sources {
        let count = entries.len() as u64;
        let version = write(&mut writer, &source, entries)?;
        imports.push(MarketImport { path, source, version, entries: count, skipped, skipped_reasons });
    }
    writer.rebuild_sidecars(&|kind, done, total| progress.building(kind, done, total), cancel)?;
    Ok(imports)
}
