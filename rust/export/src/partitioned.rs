//! The writer of tables whose rows arrive as Arrow batches, one folder per chain.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use arrow::array::{Array, AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::SchemaRef;
use headwater_ledger::Ledger;
use headwater_types::Chain;

use crate::ExportError;
use crate::files::{FileLayout, Folder, ParquetFile};
use crate::manifest::{ChainExport, FORMAT, FileEntry, MANIFEST, Manifest};

/// Rows of a file: the next rows go into another one.
const FILE_ROWS: u64 = 1 << 22;

/// The rows of a table on their way into Parquet files, below `DIR/<table>/chain=<chain>/part-<n>.parquet`, or below
/// `DIR/<table>` for a table without chains. Dropped before it is finished, it leaves nothing.
///
/// Rows keep their order within a chain. Memory: a row group (65,536 rows) per chain.
pub struct TableWriter {
    folder: Folder,
    layout: FileLayout,
    order: &'static str,
    chain_column: Option<&'static str>,
    /// The file of each chain that is being written, and its number; the name is empty without chains.
    open: BTreeMap<String, (u64, Option<ParquetFile>)>,
    files: BTreeMap<String, Vec<FileEntry>>,
}

impl TableWriter {
    /// Creates the folder of a table below `folder`; it must be new or empty. `order` states the order of the rows in words,
    /// and `chain_column` names the column of text that the folders are named after.
    ///
    /// # Errors
    /// When the folder is not empty or cannot be created.
    pub fn create(
        folder: &Path,
        (table, order): (&'static str, &'static str),
        generation: u64,
        schema: SchemaRef,
        chain_column: Option<&'static str>,
    ) -> Result<Self, ExportError> {
        let folder = Folder::create(&folder.join(table))?;
        let layout = FileLayout { table, generation, schema, sorted_columns: 0 };
        Ok(Self { folder, layout, order, chain_column, open: BTreeMap::new(), files: BTreeMap::new() })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), ExportError> {
        let Some(name) = self.chain_column else { return self.write_to("", rows) };
        let column = rows.column_by_name(name).expect("the caller names a column of its schema");
        let chains = column.as_string::<i32>();
        let names: BTreeSet<&str> = chains.iter().flatten().collect();
        for chain in &names {
            if names.len() == 1 && chains.null_count() == 0 {
                return self.write_to(chain, rows);
            }
            let is_of_chain: BooleanArray = chains.iter().map(|of| Some(of == Some(*chain))).collect();
            let of_chain = filter_record_batch(rows, &is_of_chain);
            self.write_to(chain, &of_chain.expect("a mask has the rows of its batch"))?;
        }
        Ok(())
    }

    fn write_to(&mut self, chain: &str, rows: &RecordBatch) -> Result<(), ExportError> {
        let mut start = 0;
        while start < rows.num_rows() {
            let file = self.file_of(chain)?;
            let left = usize::try_from(FILE_ROWS - file.rows()).unwrap_or(usize::MAX);
            let length = left.min(rows.num_rows() - start);
            file.write(&rows.slice(start, length))?;
            start += length;
            if length == left
                && let Some((_, open)) = self.open.get_mut(chain)
                && let Some(whole) = open.take()
            {
                let entry = whole.finish(self.folder.path())?;
                self.files.entry(chain.to_owned()).or_default().push(entry);
            }
        }
        Ok(())
    }

    /// Returns the file of a chain that is being written, or a new one.
    fn file_of(&mut self, chain: &str) -> Result<&mut ParquetFile, ExportError> {
        let (number, open) = self.open.entry(chain.to_owned()).or_default();
        match open {
            Some(file) => Ok(file),
            None => {
                let file = format!("part-{number}.parquet");
                let path = if chain.is_empty() { file } else { format!("chain={chain}/{file}") };
                *number += 1;
                Ok(open.insert(ParquetFile::create(self.folder.path().join(path), &self.layout)?))
            }
        }
    }

    /// Completes the files and writes the manifest, with the heads of these chains. A chain without rows gets a file without
    /// rows, so that readers find the columns.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn finish(mut self, ledger: &dyn Ledger, chains: &[Chain]) -> Result<Manifest, ExportError> {
        let is_by_chain = self.chain_column.is_some();
        let expected = if is_by_chain { chains.iter().map(|chain| chain.name()).collect() } else { vec![""] };
        let empty = RecordBatch::new_empty(SchemaRef::clone(&self.layout.schema));
        for chain in expected {
            if !self.open.contains_key(chain) {
                self.file_of(chain)?.write(&empty)?;
            }
        }
        for (chain, (_, open)) in std::mem::take(&mut self.open) {
            if let Some(file) = open {
                let entry = file.finish(self.folder.path())?;
                self.files.entry(chain).or_default().push(entry);
            }
        }
        let mut manifest = Manifest {
            format: FORMAT,
            table: self.layout.table.to_owned(),
            generation: self.layout.generation,
            partitions: self.chain_column.iter().map(|_| "chain".to_owned()).collect(),
            bucket: None,
            sorted_by: vec![self.order.to_owned()],
            rows: 0,
            chains: BTreeMap::new(),
            files: Vec::new(),
        };
        if is_by_chain {
            let heads = chains.iter().map(|chain| (chain.name().to_owned(), ChainExport::of(ledger, *chain)));
            manifest.chains.extend(heads);
        }
        for (chain, files) in self.files {
            if !chain.is_empty() {
                let held = manifest.chains.entry(chain).or_default();
                for file in &files {
                    held.add(file);
                }
            }
            manifest.rows += files.iter().map(|file| file.rows).sum::<u64>();
            manifest.files.extend(files);
        }
        manifest.files.sort_by(|one, other| one.path.cmp(&other.path));
        self.folder.finish(MANIFEST, &manifest.text())?;
        Ok(manifest)
    }
}
