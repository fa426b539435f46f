//! Files that have their name only once they are whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use crate::ExportError;
use crate::rows::schema;

/// Rows of a row group: an address is read from one, and a writer holds one in memory.
pub(crate) const ROW_GROUP: usize = 1 << 16;

/// The columns that the rows of a file are sorted by; see [`crate::schema`].
pub(crate) const SORTED_BY: [&str; 6] = ["address", "block", "tx_index", "tx_hash", "kind", "ordinal"];

/// A Parquet file in the making. Dropped before it is finished, it leaves nothing.
pub(crate) struct Table {
    path: PathBuf,
    temporary: PathBuf,
    writer: Option<ArrowWriter<File>>,
}

impl Table {
    pub fn create(path: PathBuf) -> Result<Self, ExportError> {
        let temporary = path.with_extension("tmp");
        let file = File::create(&temporary).map_err(ExportError::io(&temporary))?;
        // Of equal blocks the words of `kind` and an unknown index compare otherwise than here, so only what
        // every reader orders alike is declared.
        let sorted = [0, 1].map(|column_idx| SortingColumn { column_idx, descending: false, nulls_first: false });
        let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_sorting_columns(Some(sorted.to_vec()))
            .set_created_by(concat!("headwater ", env!("CARGO_PKG_VERSION")).to_owned())
            .build();
        let writer =
            ArrowWriter::try_new(file, schema(), Some(properties)).map_err(ExportError::parquet(&temporary))?;
        Ok(Self { path, temporary, writer: Some(writer) })
    }

    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), ExportError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        writer.write(rows).map_err(ExportError::parquet(&self.temporary))
    }

    /// Gives the file its name, and returns its size in bytes.
    pub fn finish(mut self) -> Result<u64, ExportError> {
        let Some(writer) = self.writer.take() else { return Ok(0) };
        let file = writer.into_inner().map_err(ExportError::parquet(&self.temporary))?;
        file.sync_all().map_err(ExportError::io(&self.temporary))?;
        let bytes = file.metadata().map_err(ExportError::io(&self.temporary))?.len();
        fs::rename(&self.temporary, &self.path).map_err(ExportError::io(&self.path))?;
        Ok(bytes)
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if self.path.exists() {
            return;
        }
        // What stays behind has no name that a reader takes for a table.
        let _ = fs::remove_file(&self.temporary);
    }
}

/// The folder of an export. Dropped before the export is whole, it takes everything with it.
pub(crate) struct Folder {
    path: PathBuf,
    is_whole: bool,
}

impl Folder {
    pub fn create(path: &Path) -> Result<Self, ExportError> {
        fs::create_dir_all(path).map_err(ExportError::io(path))?;
        let mut entries = fs::read_dir(path).map_err(ExportError::io(path))?;
        if entries.next().is_some() {
            return Err(ExportError::NotEmpty { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), is_whole: false })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes the file that says that all the others are there.
    pub fn finish(mut self, name: &str, text: &str) -> Result<(), ExportError> {
        let path = self.path.join(name);
        let temporary = path.with_extension("tmp");
        fs::write(&temporary, text).map_err(ExportError::io(&temporary))?;
        fs::rename(&temporary, &path).map_err(ExportError::io(&path))?;
        self.is_whole = true;
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_whole {
            // The error that ended the export is the one to report.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}
