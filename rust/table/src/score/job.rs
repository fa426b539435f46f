//! A job that writes a file of scores: part by part, so that the same job resumes after an interruption.
//!
//! Parts lie in the folder `OUTPUT.parts` with `job.json`, which says what they are made of, and `lock`, which one process
//! holds. A part appears whole or not at all, and its name says what its bytes must be. At the end their row groups are
//! copied into one file, and the folder is removed. The same job gives the same bytes, whatever the thread count and
//! however often it was interrupted.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use arrow::array::RecordBatch;
use arrow::datatypes::SchemaRef;
use headwater_engine::score::Scorer;
use headwater_ledger::Cancel;
use xxhash_rust::xxh3::xxh3_64;

use super::columns::{VERSION_PREFIX, score_batch, score_schema};
use super::error::ScoreError;
use super::input::{Addresses, Part};
use super::part::{PartFolder, join, number_of, whole_file};

/// Addresses of a part, which is a row group of the file: what is computed again at most after an interruption, and what
/// bounds memory.
pub const ADDRESSES_PER_PART: usize = 16_384;

/// How often the lock is tried to be taken while others come and go.
const LOCK_ATTEMPTS: u32 = 100;

/// How far a job is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreProgress {
    /// Addresses that are done.
    pub done: u64,
    /// All addresses.
    pub total: u64,
    /// Those of the done ones that an earlier run of the job had scored.
    pub resumed: u64,
}

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

/// Scores of a list of addresses in memory.
///
/// # Errors
/// [`ScoreError`].
pub fn score_table(
    scorer: &Scorer,
    addresses: &Addresses,
    progress: &dyn Fn(ScoreProgress),
    cancel: &Cancel,
) -> Result<(SchemaRef, Vec<RecordBatch>), ScoreError> {
    let schema = score_schema(scorer);
    let total = addresses.count(scorer, ADDRESSES_PER_PART)?;
    let (mut done, mut batches) = (0, Vec::new());
    for part in addresses.parts(scorer, ADDRESSES_PER_PART)? {
        let (batch, _) = score_part(scorer, &schema, part?, cancel)?;
        done += batch.num_rows() as u64;
        batches.push(batch);
        progress(ScoreProgress { done, total, resumed: 0 });
    }
    Ok((schema, batches))
}

/// Scores a list of addresses into a Parquet file.
#[derive(Clone, Copy)]
pub struct ScoreJob<'a> {
    /// What scores them.
    pub scorer: &'a Scorer,
    /// The list.
    pub addresses: &'a Addresses,
    /// The file. What stood there is replaced once the new one is whole.
    pub output: &'a Path,
    /// Addresses of a part, at least 1; [`ADDRESSES_PER_PART`] unless there is a reason.
    pub addresses_per_part: usize,
}

impl ScoreJob<'_> {
    /// Runs the job, or resumes it.
    ///
    /// # Errors
    /// [`ScoreError`]; complete parts stay for the next run.
    pub fn run(&self, progress: &dyn Fn(ScoreProgress), cancel: &Cancel) -> Result<Scored, ScoreError> {
        let Self { scorer, addresses, output, addresses_per_part } = *self;
        let folder = self.folder()?;
        let lock = self.lock(&folder)?;
        let folder_of_parts = PartFolder::open(&folder, self.begin(&folder)?)?;
        let schema = score_schema(scorer);
        let total = addresses.count(scorer, addresses_per_part)?;
        let mut scored = Scored { rows: 0, failed: 0, resumed: 0 };
        let mut parts = Vec::new();
        for (number, part) in addresses.parts(scorer, addresses_per_part)?.enumerate() {
            let part = part?;
            let found = folder_of_parts.find(number)?;
            scored.resumed += found.as_ref().map_or(0, |part| part.rows);
            let part = match found {
                Some(part) => part,
                None => {
                    let (batch, failed) = score_part(scorer, &schema, part, cancel)?;
                    folder_of_parts.write(number, &batch, failed)?
                }
            };
            (scored.rows, scored.failed) = (scored.rows + part.rows, scored.failed + part.failed);
            parts.push(part);
            progress(ScoreProgress { done: scored.rows, total, resumed: scored.resumed });
        }
        join(&parts, (&schema, metadata(scorer)), output)?;
        // Renamed first, so that another process finds all of the folder or nothing.
        let over = beside(output, ".parts.over");
        let removed = fs::remove_dir_all(&over).or_else(|error| match error.kind() {
            io::ErrorKind::NotFound => Ok(()),
            _ => Err(error),
        });
        let removed = removed.and_then(|()| fs::rename(&folder, &over)).and_then(|()| fs::remove_dir_all(&over));
        removed.map_err(ScoreError::file(&folder))?;
        drop(lock);
        Ok(scored)
    }

    /// The folder of the parts.
    fn folder(&self) -> Result<PathBuf, ScoreError> {
        if let Addresses::File(input) = self.addresses
            && let (Ok(input), Ok(output)) = (input.canonicalize(), self.output.canonicalize())
            && input == output
        {
            return Err(ScoreError::input(self.output, "this is the input, which would be lost; name another output"));
        }
        if self.output.is_dir() {
            return Err(ScoreError::input(self.output, "this is a folder; name a file"));
        }
        Ok(beside(self.output, ".parts"))
    }

    /// Takes the lock of the folder, which the end of the process releases.
    fn lock(&self, folder: &Path) -> Result<File, ScoreError> {
        let path = folder.join("lock");
        for _ in 0..LOCK_ATTEMPTS {
            match fs::create_dir(folder) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                    return Err(ScoreError::file(folder)(error));
                }
                _ => {}
            }
            let opened = File::options().create(true).truncate(false).write(true).open(&path);
            let file = match opened {
                // Another process has just ended its work and removed the folder.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                opened => opened.map_err(ScoreError::file(&path))?,
            };
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(ScoreError::Busy { path: self.output.to_owned() }),
                Err(TryLockError::Error(error)) => return Err(ScoreError::file(path)(error)),
            }
            // Whoever held the lock before may have removed the file.
            let is_there = |file: &File| io::Result::Ok(fs::metadata(&path)?.ino() == file.metadata()?.ino());
            if is_there(&file).unwrap_or(false) {
                return Ok(file);
            }
        }
        Err(ScoreError::Busy { path: self.output.to_owned() })
    }

    /// Compares the job with that of the folder, or notes it there. Gives a number that names the job.
    fn begin(&self, folder: &Path) -> Result<u64, ScoreError> {
        let versions = self.scorer.versions().into_iter();
        let mut job: BTreeMap<String, String> = versions.map(|(name, version)| (name.to_owned(), version)).collect();
        job.insert("addresses".to_owned(), self.addresses.fingerprint()?);
        job.insert("addresses per part".to_owned(), self.addresses_per_part.to_string());
        let text = serde_json::to_vec_pretty(&job).expect("a map of texts");
        let note = folder.join("job.json");
        match fs::read(&note).map(|text| serde_json::from_slice::<BTreeMap<String, String>>(&text)) {
            Ok(Ok(before)) if before == job => {}
            // A job that wrote nothing, because its input was refused, is in nobody's way.
            Ok(Ok(before)) if has_parts(folder)? => {
                let difference = difference(&before, &job);
                return Err(ScoreError::OtherJob { path: folder.to_owned(), difference });
            }
            // Without a note that can be read, the parts say by themselves what they are of.
            Ok(Ok(_) | Err(_)) => whole_file(&note, |file| file.write_all(&text))?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => whole_file(&note, |file| file.write_all(&text))?,
            Err(error) => return Err(ScoreError::file(note)(error)),
        }
        Ok(xxh3_64(&text))
    }
}

/// Whether a folder contains parts.
fn has_parts(folder: &Path) -> Result<bool, ScoreError> {
    let is_part =
        |entry: io::Result<fs::DirEntry>| Ok(entry?.file_name().to_str().is_some_and(|name| number_of(name).is_some()));
    let entries = fs::read_dir(folder).map_err(ScoreError::file(folder))?;
    let found: io::Result<Vec<bool>> = entries.map(is_part).collect();
    Ok(found.map_err(ScoreError::file(folder))?.contains(&true))
}

/// The path with a longer ending.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut path = path.as_os_str().to_owned();
    path.push(ending);
    PathBuf::from(path)
}

/// Rows of a part, and how many of them have an error.
fn score_part(
    scorer: &Scorer,
    schema: &SchemaRef,
    part: Part,
    cancel: &Cancel,
) -> Result<(RecordBatch, u64), ScoreError> {
    let rows = match part {
        Part::Addresses(addresses) => scorer.score(&addresses, cancel)?,
        Part::Texts(texts) => scorer.score_texts(&texts.iter().collect::<Vec<_>>(), cancel)?,
    };
    let failed = rows.iter().filter(|row| row.error.is_some()).count() as u64;
    Ok((score_batch(scorer, schema, &rows).map_err(ScoreError::Columns)?, failed))
}

/// What the file says it was made with.
fn metadata(scorer: &Scorer) -> Vec<(String, String)> {
    let named = |(name, version): (&str, String)| (format!("{VERSION_PREFIX}{name}"), version);
    scorer.versions().into_iter().map(named).collect()
}

/// What differs between two jobs, in words.
fn difference(before: &BTreeMap<String, String>, now: &BTreeMap<String, String>) -> String {
    let names: BTreeSet<_> = before.keys().chain(now.keys()).collect();
    let shown =
        |of: &BTreeMap<String, String>, name: &String| of.get(name).cloned().unwrap_or_else(|| "none".to_owned());
    let differ = names.into_iter().filter(|name| before.get(*name) != now.get(*name));
    differ
        .map(|name| format!("{name} was {}, is {}", shown(before, name), shown(now, name)))
        .collect::<Vec<_>>()
        .join("; ")
}
