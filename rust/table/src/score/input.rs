//! Lists of addresses to score, part by part.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{Array, RecordBatch, StringArray};
use arrow::compute::cast;
use arrow::csv::ReaderBuilder;
use arrow::csv::reader::Format;
use arrow::datatypes::{DataType, Field, Schema};
use headwater_engine::score::Scorer;
use headwater_types::Address;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use xxhash_rust::xxh3::Xxh3;

use super::error::ScoreError;

/// The column that holds the addresses.
const COLUMN: &str = "address";

/// Which addresses are scored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Addresses {
    /// All that the ledger holds of the chain, in order.
    All,
    /// Those of a file, in its order, by its ending: `.parquet` and `.csv` with a column `address` (or one column alone),
    /// anything else with one address per line.
    File(PathBuf),
}

/// One part of a list.
pub(super) enum Part {
    Addresses(Vec<Address>),
    Texts(Vec<Option<String>>),
}

/// The parts of a list, one after the other.
pub(super) type Parts<'a> = Box<dyn Iterator<Item = Result<Part, ScoreError>> + 'a>;

impl Addresses {
    /// Names the list, so that a job goes on with the same one only.
    pub(super) fn fingerprint(&self) -> Result<String, ScoreError> {
        let Self::File(path) = self else { return Ok("all addresses".to_owned()) };
        let mut reader = BufReader::with_capacity(1 << 20, open(path)?);
        let (mut hash, mut bytes) = (Xxh3::new(), 0);
        loop {
            let read = reader.fill_buf().map_err(ScoreError::file(path))?;
            if read.is_empty() {
                return Ok(format!("{bytes} bytes, {:016x}", hash.digest()));
            }
            hash.update(read);
            let count = read.len();
            bytes += count as u64;
            reader.consume(count);
        }
    }

    /// How many addresses there are.
    pub(super) fn count(&self, scorer: &Scorer, part: usize) -> Result<u64, ScoreError> {
        let sizes = self.parts(scorer, part)?.map(|part| {
            Ok(match part? {
                Part::Addresses(addresses) => addresses.len() as u64,
                Part::Texts(texts) => texts.len() as u64,
            })
        });
        sizes.sum()
    }

    /// Parts of so many addresses.
    pub(super) fn parts<'a>(&'a self, scorer: &'a Scorer, part: usize) -> Result<Parts<'a>, ScoreError> {
        let path = match self {
            Self::All => {
                let mut last: Option<Address> = None;
                return Ok(Box::new(std::iter::from_fn(move || {
                    let read = scorer.addresses(last.as_ref(), part).map_err(ScoreError::from);
                    if let Ok(addresses) = &read {
                        last = Some(*addresses.last()?);
                    }
                    Some(read.map(Part::Addresses))
                })));
            }
            Self::File(path) => path,
        };
        match path.extension().and_then(|ending| ending.to_str()).map(str::to_lowercase).as_deref() {
            Some("parquet") => parquet(path, part),
            Some("csv") => csv(path, part),
            _ => lines(path, part),
        }
    }
}

fn open(path: &Path) -> Result<File, ScoreError> {
    File::open(path).map_err(ScoreError::file(path))
}

fn lines(path: &Path, part: usize) -> Result<Parts<'_>, ScoreError> {
    let mut lines = BufReader::new(open(path)?).lines().filter(|line| match line {
        Ok(line) => !line.trim().is_empty(),
        Err(_) => true,
    });
    Ok(Box::new(std::iter::from_fn(move || {
        let texts: Result<Vec<_>, _> = lines.by_ref().take(part).map(|line| line.map(Some)).collect();
        match texts {
            Ok(texts) if texts.is_empty() => None,
            texts => Some(texts.map(Part::Texts).map_err(ScoreError::file(path))),
        }
    })))
}

fn csv(path: &Path, part: usize) -> Result<Parts<'_>, ScoreError> {
    let format = Format::default().with_header(true);
    let (found, _) = format.infer_schema(open(path)?, Some(0)).map_err(ScoreError::arrow(path))?;
    let names: Vec<_> = found.fields().iter().map(|field| field.name().trim_start_matches('\u{feff}')).collect();
    let column = column(path, &names)?;
    let schema = Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect::<Vec<_>>());
    let reader = ReaderBuilder::new(Arc::new(schema))
        .with_format(format)
        .with_batch_size(part)
        .with_projection(vec![column])
        .build(open(path)?)
        .map_err(ScoreError::arrow(path))?;
    Ok(Box::new(reader.map(move |batch| texts(path, &batch.map_err(ScoreError::arrow(path))?))))
}

fn parquet(path: &Path, part: usize) -> Result<Parts<'_>, ScoreError> {
    let builder = ParquetRecordBatchReaderBuilder::try_new(open(path)?).map_err(ScoreError::parquet(path))?;
    let names: Vec<_> = builder.schema().fields().iter().map(|field| field.name().as_str()).collect();
    let column = column(path, &names)?;
    let mask = ProjectionMask::roots(builder.parquet_schema(), [column]);
    let reader = builder.with_projection(mask).with_batch_size(part).build().map_err(ScoreError::parquet(path))?;
    Ok(Box::new(reader.map(move |batch| texts(path, &batch.map_err(ScoreError::arrow(path))?))))
}

fn column(path: &Path, names: &[&str]) -> Result<usize, ScoreError> {
    let named = names.iter().position(|name| name.trim().eq_ignore_ascii_case(COLUMN));
    named.or_else(|| (names.len() == 1).then_some(0)).ok_or_else(|| ScoreError::Input {
        path: path.to_owned(),
        message: format!("expected a column `{COLUMN}`; found {}", names.join(", ")),
    })
}

fn texts(path: &Path, batch: &RecordBatch) -> Result<Part, ScoreError> {
    let texts = cast(batch.column(0), &DataType::Utf8).map_err(ScoreError::arrow(path))?;
    let texts = texts.as_any().downcast_ref::<StringArray>().ok_or_else(|| ScoreError::Input {
        path: path.to_owned(),
        message: format!("expected text in the column `{COLUMN}`; found {}", batch.column(0).data_type()),
    })?;
    Ok(Part::Texts(texts.iter().map(|text| text.map(str::to_owned)).collect()))
}
