//! A job that writes a file of scores: part by part, so that after an interruption the same job goes on where it stopped.
//!
//! Parts lie in the folder `OUTPUT.parts` with `job.json`, which says what they are made of. A part appears whole or not at
//! all. At the end their row groups are copied into one file, and the folder is removed. The same job gives the same bytes,
//! whatever the thread count and however often it was interrupted.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use arrow::datatypes::SchemaRef;
use headwater_engine::score::Scorer;
use headwater_ledger::Cancel;
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::column::writer::ColumnCloseResult;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::{WriterProperties, WriterPropertiesPtr};
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::SerializedFileWriter;

use super::columns::{score_batch, score_schema};
use super::error::ScoreError;
use super::input::{Addresses, Part};

/// Addresses of a part, which is a row group of the file: what is computed again at most after an interruption, and what
/// bounds memory.
pub const ADDRESSES_PER_PART: usize = 16_384;

/// What was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scored {
    /// Addresses.
    pub rows: u64,
    /// Addresses among them that have an error.
    pub failed: u64,
    /// Addresses that an earlier run of the job had scored.
    pub resumed: u64,
}

/// Scores a list of addresses into a Parquet file. `progress` hears of addresses done and of all.
///
/// # Errors
/// [`ScoreError`]; what is complete stays for the next run.
pub fn score_file(
    scorer: &Scorer,
    addresses: &Addresses,
    output: &Path,
    progress: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<Scored, ScoreError> {
    let job = Job::begin(scorer, addresses, output)?;
    let total = addresses.count(scorer, ADDRESSES_PER_PART)?;
    let mut scored = Scored { rows: 0, failed: 0, resumed: 0 };
    let mut parts = Vec::new();
    for (number, part) in addresses.parts(scorer, ADDRESSES_PER_PART)?.enumerate() {
        let part = part?;
        let path = job.folder.join(format!("part-{number:06}.parquet"));
        let (rows, failed) = match path.exists() {
            true => {
                let (rows, failed) = job.read(&path)?;
                scored.resumed += rows;
                (rows, failed)
            }
            false => job.write(&path, part, cancel)?,
        };
        parts.push(path);
        (scored.rows, scored.failed) = (scored.rows + rows, scored.failed + failed);
        progress(scored.rows, total);
    }
    job.join(&parts, output)?;
    Ok(scored)
}

struct Job<'a> {
    scorer: &'a Scorer,
    schema: SchemaRef,
    folder: PathBuf,
}

/// The name of the count of failed addresses in the metadata of a part.
const FAILED: &str = "headwater.failed";

impl<'a> Job<'a> {
    /// Begins a job, or goes on with it.
    fn begin(scorer: &'a Scorer, addresses: &Addresses, output: &Path) -> Result<Self, ScoreError> {
        let mut folder = output.as_os_str().to_owned();
        folder.push(".parts");
        let folder = PathBuf::from(folder);
        let mut made_of: BTreeMap<String, String> =
            scorer.versions().into_iter().map(|(name, version)| (name.to_owned(), version)).collect();
        made_of.insert("addresses".to_owned(), addresses.fingerprint()?);
        let note = folder.join("job.json");
        match fs::read(&note) {
            Ok(text) => {
                let before: BTreeMap<String, String> = serde_json::from_slice(&text)
                    .map_err(|error| ScoreError::Input { path: note, message: error.to_string() })?;
                if before != made_of {
                    return Err(ScoreError::OtherJob { path: folder, difference: difference(&before, &made_of) });
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                fs::create_dir_all(&folder).map_err(ScoreError::file(&folder))?;
                let text = serde_json::to_vec_pretty(&made_of).expect("a map of texts");
                whole_file(&note, |file| io::Write::write_all(file, &text))?;
            }
            Err(error) => return Err(ScoreError::file(note)(error)),
        }
        Ok(Self { scorer, schema: score_schema(scorer), folder })
    }

    fn write(&self, path: &Path, part: Part, cancel: &Cancel) -> Result<(u64, u64), ScoreError> {
        let rows = match part {
            Part::Addresses(addresses) => self.scorer.score(&addresses, cancel)?,
            Part::Texts(texts) => {
                let texts: Vec<&str> = texts.iter().map(|text| text.as_deref().unwrap_or_default()).collect();
                self.scorer.score_texts(&texts, cancel)?
            }
        };
        let failed = rows.iter().filter(|row| row.error.is_some()).count() as u64;
        let batch = score_batch(self.scorer, &self.schema, &rows).map_err(ScoreError::arrow(path))?;
        whole_file(path, |file| {
            let mut writer = ArrowWriter::try_new(file, SchemaRef::clone(&self.schema), Some(properties()))?;
            writer.write(&batch)?;
            writer.append_key_value_metadata(KeyValue::new(FAILED.to_owned(), failed.to_string()));
            writer.close()?;
            Ok(())
        })?;
        Ok((rows.len() as u64, failed))
    }

    /// Rows of a part, and those of them with an error.
    fn read(&self, path: &Path) -> Result<(u64, u64), ScoreError> {
        let reader = open(path)?;
        let metadata = reader.metadata().file_metadata();
        let pairs = metadata.key_value_metadata().into_iter().flatten();
        let failed = pairs.filter(|pair| pair.key == FAILED).find_map(|pair| pair.value.as_ref()?.parse().ok());
        Ok((metadata.num_rows().unsigned_abs(), failed.unwrap_or(0)))
    }

    /// Copies the row groups of all parts into one file.
    fn join(&self, parts: &[PathBuf], output: &Path) -> Result<(), ScoreError> {
        // A file without rows has its columns too.
        let empty = self.folder.join("empty.parquet");
        whole_file(&empty, |file| {
            ArrowWriter::try_new(file, SchemaRef::clone(&self.schema), Some(properties()))?.close()?;
            Ok(())
        })?;
        let first = open(&empty)?;
        let metadata = first.metadata().file_metadata();
        whole_file(output, |file| {
            let properties = WriterProperties::builder().set_key_value_metadata(metadata.key_value_metadata().cloned());
            let properties = WriterPropertiesPtr::new(properties.build());
            let schema = metadata.schema_descr().root_schema_ptr();
            let mut writer = SerializedFileWriter::new(file, schema, properties)?;
            for path in parts {
                let file = File::open(path)?;
                let reader = SerializedFileReader::new(file.try_clone()?)?;
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
                        into.append_column(&file, close)?;
                    }
                    into.close()?;
                }
            }
            writer.close()?;
            Ok(())
        })?;
        fs::remove_dir_all(&self.folder).map_err(ScoreError::file(&self.folder))
    }
}

fn open(path: &Path) -> Result<SerializedFileReader<File>, ScoreError> {
    let file = File::open(path).map_err(ScoreError::file(path))?;
    SerializedFileReader::new(file).map_err(ScoreError::parquet(path))
}

fn properties() -> WriterProperties {
    WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_max_row_group_row_count(Some(ADDRESSES_PER_PART))
        .build()
}

/// Writes a file that appears whole or not at all.
fn whole_file(path: &Path, write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), ScoreError> {
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

/// What differs between two jobs, in words.
fn difference(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> String {
    let names: std::collections::BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let shown =
        |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned().unwrap_or_else(|| "none".to_owned());
    let differ = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    differ
        .map(|name| format!("{name} was {}, is {}", shown(before, name), shown(now, name)))
        .collect::<Vec<_>>()
        .join("; ")
}
