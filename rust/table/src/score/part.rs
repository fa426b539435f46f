//! One part of a file of scores: a Parquet file of its own, whose name says what its bytes must be.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bytes::Bytes;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;
use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::error::ScoreError;

/// The name of the count of failed addresses in the metadata of a part.
const FAILED: &str = "failed";

/// A part that is written.
#[derive(Debug)]
pub(super) struct WrittenPart {
    pub path: PathBuf,
    /// Addresses.
    pub rows: u64,
    /// Those of them with an error.
    pub failed: u64,
}

/// The parts of one job.
#[derive(Debug)]
pub(super) struct PartFolder {
    path: PathBuf,
    /// Names the job: parts of another one have other checksums.
    seed: u64,
    /// The files that were there at the start, by the number of their part.
    found: BTreeMap<usize, Vec<PathBuf>>,
}

impl PartFolder {
    /// Opens a folder, whatever is in it.
    pub fn open(path: &Path, seed: u64) -> Result<Self, ScoreError> {
        let mut found: BTreeMap<usize, Vec<PathBuf>> = BTreeMap::new();
        for entry in fs::read_dir(path).map_err(ScoreError::file(path))? {
            let file = entry.map_err(ScoreError::file(path))?.path();
            if let Some(number) = file.file_name().and_then(|name| number_of(name.to_str()?)) {
                found.entry(number).or_default().push(file);
            }
        }
        Ok(Self { path: path.to_owned(), seed, found })
    }

    /// The part of a number where it is there and whole. What is damaged or of another job is removed.
    pub fn find(&self, number: usize) -> Result<Option<WrittenPart>, ScoreError> {
        for path in self.found.get(&number).into_iter().flatten() {
            let bytes = fs::read(path).map_err(ScoreError::file(path))?;
            if path.file_name().is_some_and(|name| name == self.name(number, &bytes).as_str()) {
                return read(path, bytes).map(Some);
            }
            fs::remove_file(path).map_err(ScoreError::file(path))?;
        }
        Ok(None)
    }

    /// Writes the part of a number.
    pub fn write(&self, number: usize, batch: &RecordBatch, failed: u64) -> Result<WrittenPart, ScoreError> {
        let mut bytes = Vec::new();
        let encoded = encode(&mut bytes, batch, failed);
        encoded.map_err(ScoreError::parquet(&self.path))?;
        let path = self.path.join(self.name(number, &bytes));
        whole_file(&path, |file| file.write_all(&bytes))?;
        Ok(WrittenPart { path, rows: batch.num_rows() as u64, failed })
    }

    fn name(&self, number: usize, bytes: &[u8]) -> String {
        format!("{BEGINNING}{number:06}-{:016x}.parquet", xxh3_64_with_seed(bytes, self.seed))
    }
}

const BEGINNING: &str = "part-";

pub(super) fn number_of(name: &str) -> Option<usize> {
    name.strip_prefix(BEGINNING)?.split_once('-')?.0.parse().ok()
}

fn encode(bytes: &mut Vec<u8>, batch: &RecordBatch, failed: u64) -> Result<(), ParquetError> {
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(batch.num_rows().max(1)))
        .build();
    let mut writer = ArrowWriter::try_new(bytes, batch.schema(), Some(properties))?;
    writer.write(batch)?;
    writer.append_key_value_metadata(KeyValue::new(FAILED.to_owned(), failed.to_string()));
    writer.close().map(drop)
}

fn read(path: &Path, bytes: Vec<u8>) -> Result<WrittenPart, ScoreError> {
    let reader = SerializedFileReader::new(Bytes::from(bytes)).map_err(ScoreError::parquet(path))?;
    let metadata = reader.metadata().file_metadata();
    let mut pairs = metadata.key_value_metadata().into_iter().flatten();
    let failed = pairs.find(|pair| pair.key == FAILED).and_then(|pair| pair.value.as_ref()?.parse().ok());
    let rows = metadata.num_rows().unsigned_abs();
    Ok(WrittenPart { path: path.to_owned(), rows, failed: failed.unwrap_or(0) })
}

/// Copies the row groups of parts into one file with this metadata, in the order of both.
pub(super) fn join(
    parts: &[WrittenPart],
    (schema, metadata): (&Schema, Vec<(String, String)>),
    output: &Path,
) -> Result<(), ScoreError> {
    // Readers of Arrow look for the metadata in the Arrow schema, whose keys are written in order; others in that of the file.
    let schema = Arc::new(schema.clone().with_metadata(metadata.iter().cloned().collect()));
    let pairs = metadata.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
    whole_file(output, |file| {
        let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties))?;
        let (mut writer, _) = writer.into_serialized_writer()?;
        for part in parts {
            append(&mut writer, &File::open(&part.path)?)?;
        }
        writer.close()?;
        Ok(())
    })
}

fn append<W: Write + Send>(writer: &mut SerializedFileWriter<W>, part: &File) -> Result<(), ParquetError> {
    let reader = SerializedFileReader::new(part.try_clone()?)?;
    for group in reader.metadata().row_groups() {
        let mut into = writer.next_row_group()?;
        for column in group.columns() {
            let close = ColumnCloseResult {
                bytes_written: column.compressed_size().unsigned_abs(),
                rows_written: group.num_rows().unsigned_abs(),
                metadata: column.clone(),
                bloom_filter: None,
                column_index: None,
                offset_index: None,
            };
            into.append_column(part, close)?;
        }
        into.close()?;
    }
    Ok(())
}

/// Writes a file that appears whole or not at all.
pub(super) fn whole_file(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), ScoreError> {
    let mut partial = path.as_os_str().to_owned();
    partial.push(".partial");
    let write = || {
        let mut file = BufWriter::new(File::create(&partial)?);
        write(&mut file)?;
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&partial, path)
    };
    write().map_err(ScoreError::file(path))
}
