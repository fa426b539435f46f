//! Files of scores as Parquet: a part is one row group, and the row groups are copied into the file.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use headwater_engine::score::{PartCounts, ScoreError, ScoreFormat, ScoreRow, Scorer};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use super::rows_batch;

/// The name of the count of failed addresses in the metadata of a part.
const FAILED: &str = "failed";

/// The prefix of the names of versions in the metadata of a file.
const VERSION_PREFIX: &str = "headwater.";

/// Parquet, compressed with Zstandard.
#[derive(Debug, Clone, Copy)]
pub struct ParquetScores;

impl ScoreFormat for ParquetScores {
    const ENDING: &'static str = "parquet";

    fn encode(scorer: &Scorer, rows: &[ScoreRow]) -> Result<Vec<u8>, ScoreError> {
        let batch = rows_batch(scorer, rows)?;
        let mut bytes = Vec::new();
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(batch.num_rows().max(1)))
            .build();
        let encoded = ArrowWriter::try_new(&mut bytes, batch.schema(), Some(properties)).and_then(|mut writer| {
            writer.write(&batch)?;
            let failed = PartCounts::of(rows).failed.to_string();
            writer.append_key_value_metadata(KeyValue::new(FAILED.to_owned(), failed));
            writer.close()
        });
        encoded.map_err(|error| ScoreError::Columns(Box::new(error)))?;
        Ok(bytes)
    }

    fn counts(path: &Path, part: Vec<u8>) -> Result<PartCounts, ScoreError> {
        let reader = SerializedFileReader::new(Bytes::from(part))
            .map_err(|error: ParquetError| ScoreError::input(path, error.to_string()))?;
        let metadata = reader.metadata().file_metadata();
        let mut pairs = metadata.key_value_metadata().into_iter().flatten();
        let failed = pairs.find(|pair| pair.key == FAILED).and_then(|pair| pair.value.as_ref()?.parse().ok());
        Ok(PartCounts { rows: metadata.num_rows().unsigned_abs(), failed: failed.unwrap_or(0) })
    }

    fn join(versions: &BTreeMap<String, String>, parts: &[PathBuf], file: &mut (dyn Write + Send)) -> io::Result<()> {
        let Some(first) = parts.first() else { return Err(io::Error::other("a file of scores has at least one part")) };
        let schema = ParquetRecordBatchReaderBuilder::try_new(File::open(first)?)?.schema().as_ref().clone();
        let named = |(name, version): (&String, &String)| (format!("{VERSION_PREFIX}{name}"), version.clone());
        let versions: BTreeMap<String, String> = versions.iter().map(named).collect();
        // Readers of Arrow look for the metadata in the Arrow schema; others in that of the file.
        let schema = schema.with_metadata(versions.clone().into_iter().collect());
        let pairs = versions.into_iter().map(|(key, value)| KeyValue::new(key, value)).collect();
        let properties = WriterProperties::builder().set_key_value_metadata(Some(pairs)).build();
        let writer = ArrowWriter::try_new(file, Arc::new(schema), Some(properties))?;
        let (mut writer, _) = writer.into_serialized_writer()?;
        for part in parts {
            append(&mut writer, &File::open(part)?)?;
        }
        writer.close()?;
        Ok(())
    }
}

/// Copies the row groups of a part.
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
