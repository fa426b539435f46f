//! Files that have their name only once they are whole.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use xxhash_rust::xxh3::Xxh3;

use crate::ExportError;
use crate::manifest::{FORMAT, FileEntry};

/// Rows of a row group: an address is read from one, and a writer has one in memory.
pub(crate) const ROW_GROUP: usize = 1 << 16;

/// The properties that all files of a table share.
#[derive(Debug, Clone)]
pub(crate) struct FileLayout {
    /// The table.
    pub table: &'static str,
    /// The generation of the store.
    pub generation: u64,
    /// The columns.
    pub schema: SchemaRef,
    /// The number of leading columns that the rows are sorted by in a way that every reader shares.
    pub sorted_columns: i32,
}

impl FileLayout {
    fn properties(&self) -> WriterProperties {
        let sorted = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
        let sorted: Vec<SortingColumn> = (0..self.sorted_columns).map(sorted).collect();
        let level = ZstdLevel::try_new(3).expect("3 is a level of zstd");
        let pair = |name: &str, value: String| KeyValue::new(format!("headwater.{name}"), value);
        let origin = vec![
            pair("format", FORMAT.to_string()),
            pair("table", self.table.to_owned()),
            pair("generation", self.generation.to_string()),
        ];
        WriterProperties::builder()
            .set_compression(Compression::ZSTD(level))
            .set_max_row_group_row_count(Some(ROW_GROUP))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_sorting_columns((!sorted.is_empty()).then_some(sorted))
            .set_key_value_metadata(Some(origin))
            .set_created_by(concat!("headwater ", env!("CARGO_PKG_VERSION")).to_owned())
            .build()
    }
}

/// A file whose digest is computed as it is written.
struct HashedFile {
    file: File,
    digest: Xxh3,
    bytes: u64,
}

impl Write for HashedFile {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        let written = self.file.write(piece)?;
        self.digest.update(&piece[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// A Parquet file in the making. Dropped before it is finished, it leaves nothing.
pub(crate) struct ParquetFile {
    path: PathBuf,
    temporary: PathBuf,
    rows: u64,
    writer: Option<ArrowWriter<HashedFile>>,
}

impl ParquetFile {
    /// Creates a file and the folders above it.
    pub fn create(path: PathBuf, layout: &FileLayout) -> Result<Self, ExportError> {
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(ExportError::io(folder))?;
        }
        let temporary = path.with_extension("tmp");
        let file = File::create(&temporary).map_err(ExportError::io(&temporary))?;
        let file = HashedFile { file, digest: Xxh3::new(), bytes: 0 };
        let writer = ArrowWriter::try_new(file, SchemaRef::clone(&layout.schema), Some(layout.properties()))
            .map_err(ExportError::parquet(&temporary))?;
        Ok(Self { path, temporary, rows: 0, writer: Some(writer) })
    }

    pub fn write(&mut self, rows: &RecordBatch) -> Result<(), ExportError> {
        let Some(writer) = &mut self.writer else { return Ok(()) };
        self.rows += rows.num_rows() as u64;
        writer.write(rows).map_err(ExportError::parquet(&self.temporary))
    }

    /// Returns the rows written so far.
    pub const fn rows(&self) -> u64 {
        self.rows
    }

    /// Gives the file its name, and returns its entry in the manifest of the table in `folder`.
    pub fn finish(mut self, folder: &Path) -> Result<FileEntry, ExportError> {
        let writer = self.writer.take().expect("a file is finished once");
        let HashedFile { file, digest, bytes } = writer.into_inner().map_err(ExportError::parquet(&self.temporary))?;
        file.sync_all().map_err(ExportError::io(&self.temporary))?;
        fs::rename(&self.temporary, &self.path).map_err(ExportError::io(&self.path))?;
        let below = self.path.strip_prefix(folder).unwrap_or(&self.path);
        // Slashes on every system: the paths are those of URLs.
        let parts: Vec<_> = below.iter().map(|part| part.to_string_lossy()).collect();
        Ok(FileEntry { path: parts.join("/"), rows: self.rows, bytes, xxh3: format!("{:032x}", digest.digest128()) })
    }
}

impl Drop for ParquetFile {
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
