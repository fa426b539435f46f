//! Tables of a store as partitioned Parquet, for other engines: the one list of them, and the export of several.
//!
//! `transfers` is laid out by address ([`headwater_export::transfers`]). The other tables are those of [`scan`]: the same rows
//! and columns in the same order, by chain.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow::array::RecordBatchReader;
use headwater_export::{ExportError, Manifest, TRANSFER_COLUMNS, TRANSFERS, TableWriter, held_chains};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;

use crate::scan::{ScanFilter, ScanRequest, StoredTable, TABLES, scan};

/// The time between two looks at the cancel token.
const CHECK: Duration = Duration::from_millis(50);

/// The column of scans that names the chain.
const CHAIN_COLUMN: &str = "blockchain";

/// A table that can be exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportTable {
    /// Every movement under both its ends, by chain and address bucket, sorted by address.
    Transfers,
    /// One row per transaction.
    Transactions,
    /// One row per event log of an account chain.
    Logs,
    /// The registry of tokens.
    Tokens,
    /// The claims of label lists.
    Labels,
    /// The prices.
    Prices,
}

/// The description of a table that can be exported, for documents.
#[derive(Debug, Clone)]
pub struct ExportDescription {
    /// One row, in words.
    pub row: &'static str,
    /// The keys in the names of the folders, outermost first.
    pub partitions: &'static [&'static str],
    /// Name, type and meaning of each column.
    pub columns: Vec<(&'static str, &'static str, &'static str)>,
}

/// The reason why tables were not exported. What was written until then is removed.
#[derive(Debug, thiserror::Error)]
pub enum TableExportError {
    /// A table could not be written.
    #[error(transparent)]
    Export(#[from] ExportError),
    /// A table could not be read.
    #[error(transparent)]
    Engine(#[from] headwater_engine::Error),
}

impl ExportTable {
    /// All of them, in the order of an export.
    pub const ALL: [Self; 6] =
        [Self::Transfers, Self::Transactions, Self::Logs, Self::Tokens, Self::Labels, Self::Prices];

    /// Returns the name of the table and of its folder.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Transfers => TRANSFERS,
            Self::Transactions => "transactions",
            Self::Logs => "logs",
            Self::Tokens => "tokens",
            Self::Labels => "labels",
            Self::Prices => "prices",
        }
    }

    /// Returns the table of a name.
    ///
    /// ```
    /// use headwater_table::export::ExportTable;
    /// assert!(ExportTable::ALL.iter().all(|table| ExportTable::from_name(table.name()) == Some(*table)));
    /// assert_eq!(ExportTable::from_name("edges"), None);
    /// ```
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|table| table.name() == name)
    }

    /// Returns the description of the table.
    #[must_use]
    pub fn describe(self) -> ExportDescription {
        let Some(stored) = self.stored() else {
            let columns = TRANSFER_COLUMNS.iter().map(|column| (column.name, column.kind(), column.meaning));
            return ExportDescription {
                row: "one movement under one of its ends",
                partitions: &["chain", "bucket"],
                columns: columns.collect(),
            };
        };
        let columns = stored.columns.iter().map(|column| (column.name, column.kind.name(), column.meaning));
        let partitions: &[_] = if chain_column(stored).is_some() { &["chain"] } else { &[] };
        ExportDescription { row: stored.row, partitions, columns: columns.collect() }
    }

    /// Returns the table of scans with the rows; `transfers` has a layout of its own.
    fn stored(self) -> Option<&'static StoredTable> {
        TABLES.iter().find(|stored| stored.name == self.name())
    }
}

/// Returns the column that the folders of a table are named after.
fn chain_column(stored: &StoredTable) -> Option<&'static str> {
    stored.columns.iter().map(|column| column.name).find(|name| *name == CHAIN_COLUMN)
}

/// The function that takes the progress: the table, rows done, rows in all as far as they are known.
pub type ExportProgress<'a> = &'a (dyn Fn(ExportTable, u64, u64) + Sync);

/// Writes tables of a ledger below `folder`, each into a new or empty folder of its name, and returns their manifests in the
/// order of `tables`; a table that is named twice is written once. `chains` are those to export, all if there are none.
///
/// Prices have no chain: all of them are written. Claims about all EVM chains have a folder of their own, `chain=evm`, which is
/// part of the labels of any EVM chain.
///
/// The same generation gives the same bytes, whatever the thread count. Time O(rows); memory a few batches of 65,536 rows, and
/// that of [`headwater_export::transfers`].
///
/// # Errors
/// When a folder is not empty, a chain is not in the ledger, the ledger cannot be read, a file cannot be written, or the work
/// is cancelled. Then no table of the call is left behind.
pub fn export(
    ledger: &Arc<dyn Ledger>,
    (tables, chains): (&[ExportTable], &[Chain]),
    folder: &Path,
    progress: ExportProgress<'_>,
    cancel: &Cancel,
) -> Result<Vec<Manifest>, TableExportError> {
    let named = held_chains(&**ledger, chains)?;
    let mut written = WrittenFolders(Vec::new());
    let mut manifests: Vec<Manifest> = Vec::new();
    for table in tables {
        if manifests.iter().any(|manifest| manifest.table == table.name()) {
            continue;
        }
        let manifest = match table.stored() {
            None => {
                let of_table = |done, total| progress(*table, done, total);
                headwater_export::transfers(&**ledger, chains, folder, &of_table, cancel)?
            }
            Some(stored) => {
                // Without a choice of chains the registry and labels of chains without data are written too.
                let filter = (!chains.is_empty() && chain_column(stored).is_some()).then_some(&*named);
                let of_table = |done| progress(*table, done, total_of(&**ledger, *table, &named));
                of_scan(ledger, (stored, filter, &named), folder, &of_table, cancel)?
            }
        };
        written.0.push(folder.join(table.name()));
        manifests.push(manifest);
    }
    written.0.clear();
    Ok(manifests)
}

/// The folders of tables that are whole. Dropped before all tables are, they are removed.
struct WrittenFolders(Vec<PathBuf>);

impl Drop for WrittenFolders {
    fn drop(&mut self) {
        for folder in &self.0 {
            // The error that ended the export is the one to report.
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Returns the number of rows of a table, as far as it is known before they are read, else 0.
fn total_of(ledger: &dyn Ledger, table: ExportTable, chains: &[Chain]) -> u64 {
    match table {
        ExportTable::Transactions => chains.iter().map(|chain| ledger.coverage()[chain].transactions).sum(),
        ExportTable::Transfers
        | ExportTable::Logs
        | ExportTable::Tokens
        | ExportTable::Labels
        | ExportTable::Prices => 0,
    }
}

/// Writes the rows of a scan.
fn of_scan(
    ledger: &Arc<dyn Ledger>,
    (stored, filter, heads): (&'static StoredTable, Option<&[Chain]>, &[Chain]),
    folder: &Path,
    progress: &dyn Fn(u64),
    cancel: &Cancel,
) -> Result<Manifest, TableExportError> {
    let blockchain = filter.map(|chains| chains.iter().map(|chain| chain.name().to_owned()).collect());
    let filter = ScanFilter { blockchain, ..ScanFilter::default() };
    let request = ScanRequest { table: stored.name.to_owned(), filter, ..ScanRequest::default() };
    let mut stream = scan(Arc::clone(ledger), &request)?;
    let chain = chain_column(stored);
    let named = (stored.name, stored.order);
    let mut writer = TableWriter::create(folder, named, ledger.generation(), stream.schema(), chain)?;
    let mut done = 0;
    loop {
        cancel.check().map_err(ExportError::from)?;
        match stream.next_within(CHECK) {
            None => {}
            Some(None) => break,
            Some(Some(batch)) => {
                let batch = batch?;
                writer.write(&batch)?;
                done += batch.num_rows() as u64;
                progress(done);
            }
        }
    }
    Ok(writer.finish(&**ledger, heads)?)
}
