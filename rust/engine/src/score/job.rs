//! A job that writes a file of scores: part by part, so that the same job resumes after an interruption.
//!
//! Parts are joined into one file at the end. The same job gives the same bytes, whatever the thread count and however
//! often it was interrupted. Readers of lists and the format of the file come from the caller.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use headwater_ledger::Cancel;
use headwater_types::Address;
use serde::Serialize;

use super::folder::{PartFolder, whole_file};
use super::{ScoreError, ScoreRow, Scorer};
use crate::Warning;

/// Addresses of a part: the most that is computed again after an interruption, and the bound on memory.
pub const ADDRESSES_PER_PART: usize = 16_384;

/// Addresses as a list writes them, part by part; `None` where one is missing.
pub type AddressParts<'a> = Box<dyn Iterator<Item = Result<Vec<Option<String>>, ScoreError>> + 'a>;

/// A list of addresses outside the ledger.
pub trait AddressList: Sync {
    /// Returns a text that identifies the content, so that a job resumes with the same list only.
    ///
    /// # Errors
    /// When the list cannot be read.
    fn fingerprint(&self) -> Result<String, ScoreError>;

    /// Returns the addresses in parts of this size; the last one may be smaller.
    ///
    /// # Errors
    /// When the list cannot be read.
    fn parts(&self, size: usize) -> Result<AddressParts<'_>, ScoreError>;

    /// Returns the file that the list is read from, if any.
    fn file(&self) -> Option<&Path> {
        None
    }
}

/// The addresses to score.
#[derive(Clone, Copy)]
pub enum Addresses<'a> {
    /// All addresses of the chain that the ledger holds, in order.
    All,
    /// Those of a list, in its order.
    List(&'a dyn AddressList),
}

/// The format of a file of scores, whose parts are files of the same format.
pub trait ScoreFormat {
    /// The ending of the files, without the dot.
    const ENDING: &'static str;

    /// Encodes the rows of a part with their counts.
    ///
    /// # Errors
    /// When the rows do not fit the columns of the scorer.
    fn encode(scorer: &Scorer, rows: &[ScoreRow]) -> Result<Vec<u8>, ScoreError>;

    /// Reads the counts of an encoded part; the path is for messages.
    ///
    /// # Errors
    /// When the bytes are not in the format.
    fn counts(path: &Path, part: Vec<u8>) -> Result<PartCounts, ScoreError>;

    /// Writes a file with the rows of these parts, and with the versions of the scorer.
    ///
    /// # Errors
    /// When a part cannot be read or the file cannot be written.
    fn join(scorer: &Scorer, parts: &[PathBuf], file: &mut (dyn Write + Send)) -> io::Result<()>;
}

/// The counts of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartCounts {
    /// Addresses.
    pub rows: u64,
    /// Addresses with an error.
    pub failed: u64,
}

impl PartCounts {
    /// Counts rows.
    #[must_use]
    pub fn of(rows: &[ScoreRow]) -> Self {
        let failed = rows.iter().filter(|row| row.error.is_some()).count();
        Self { rows: rows.len() as u64, failed: failed as u64 }
    }
}

/// The state of a running job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreProgress {
    /// Addresses that are done.
    pub done: u64,
    /// All addresses.
    pub total: u64,
    /// Addresses among the done ones that an earlier run of the job had scored.
    pub resumed: u64,
}

/// The outcome of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScoreReport {
    /// The file.
    pub file: String,
    /// Addresses.
    pub rows: u64,
    /// Addresses among them that have an error.
    pub failed: u64,
    /// Addresses that an earlier run of the job had scored.
    pub resumed: u64,
    /// The warnings of the scorer.
    pub warnings: Vec<Warning>,
}

/// Scores addresses in memory: hands the rows of each part to `each`.
///
/// # Errors
/// [`ScoreError`], also those of `each`.
pub fn score_parts(
    scorer: &Scorer,
    addresses: Addresses<'_>,
    mut each: impl FnMut(Vec<ScoreRow>) -> Result<(), ScoreError>,
    progress: &dyn Fn(ScoreProgress),
    cancel: &Cancel,
) -> Result<(), ScoreError> {
    let total = addresses.count(scorer, ADDRESSES_PER_PART)?;
    let mut done = 0;
    for part in addresses.parts(scorer, ADDRESSES_PER_PART)? {
        let rows = part?.score(scorer, cancel)?;
        done += rows.len() as u64;
        each(rows)?;
        progress(ScoreProgress { done, total, resumed: 0 });
    }
    Ok(())
}

/// Scores addresses into a file.
#[derive(Clone, Copy)]
pub struct ScoreJob<'a> {
    /// Computes the rows.
    pub scorer: &'a Scorer,
    /// The addresses.
    pub addresses: Addresses<'a>,
    /// The file, which is replaced once the new one is whole. Until then its parts lie in `OUTPUT.parts`.
    pub output: &'a Path,
    /// Addresses of a part, at least 1; [`ADDRESSES_PER_PART`] unless there is a reason.
    pub addresses_per_part: usize,
}

impl ScoreJob<'_> {
    /// Runs the job, or resumes it.
    ///
    /// # Errors
    /// [`ScoreError`]; complete parts stay for the next run.
    pub fn run<F: ScoreFormat>(
        &self,
        progress: &dyn Fn(ScoreProgress),
        cancel: &Cancel,
    ) -> Result<ScoreReport, ScoreError> {
        let Self { scorer, addresses, output, addresses_per_part } = *self;
        self.check_output()?;
        let lock = PartFolder::lock(output)?;
        let folder = lock.resume(&self.description()?, F::ENDING)?;
        let total = addresses.count(scorer, addresses_per_part)?;
        let mut report = ScoreReport {
            file: output.display().to_string(),
            rows: 0,
            failed: 0,
            resumed: 0,
            warnings: scorer.warnings(),
        };
        let mut paths = Vec::new();
        for (number, part) in addresses.parts(scorer, addresses_per_part)?.enumerate() {
            let part = part?;
            let (path, counts) = if let Some((path, bytes)) = folder.find(number)? {
                let counts = F::counts(&path, bytes)?;
                report.resumed += counts.rows;
                (path, counts)
            } else {
                let rows = part.score(scorer, cancel)?;
                (folder.write(number, &F::encode(scorer, &rows)?)?, PartCounts::of(&rows))
            };
            (report.rows, report.failed) = (report.rows + counts.rows, report.failed + counts.failed);
            paths.push(path);
            progress(ScoreProgress { done: report.rows, total, resumed: report.resumed });
        }
        whole_file(output, |file| F::join(scorer, &paths, file))?;
        folder.remove()?;
        Ok(report)
    }

    /// Refuses an output that is the input or a folder.
    fn check_output(&self) -> Result<(), ScoreError> {
        if let Addresses::List(list) = self.addresses
            && let Some(input) = list.file()
            && let (Ok(input), Ok(output)) = (input.canonicalize(), self.output.canonicalize())
            && input == output
        {
            return Err(ScoreError::input(self.output, "this is the input, which would be lost; name another output"));
        }
        if self.output.is_dir() {
            return Err(ScoreError::input(self.output, "this is a folder; name a file"));
        }
        Ok(())
    }

    /// Describes the job by everything that its bytes depend on.
    fn description(&self) -> Result<BTreeMap<String, String>, ScoreError> {
        let versions = self.scorer.versions().into_iter();
        let mut job: BTreeMap<String, String> = versions.map(|(name, version)| (name.to_owned(), version)).collect();
        job.insert("addresses".to_owned(), self.addresses.fingerprint()?);
        job.insert("addresses per part".to_owned(), self.addresses_per_part.to_string());
        Ok(job)
    }
}

/// The addresses of one part.
enum Part {
    Known(Vec<Address>),
    Texts(Vec<Option<String>>),
}

impl Part {
    fn len(&self) -> usize {
        match self {
            Self::Known(addresses) => addresses.len(),
            Self::Texts(texts) => texts.len(),
        }
    }

    fn score(&self, scorer: &Scorer, cancel: &Cancel) -> Result<Vec<ScoreRow>, ScoreError> {
        Ok(match self {
            Self::Known(addresses) => scorer.score(addresses, cancel)?,
            Self::Texts(texts) => {
                scorer.score_texts(&texts.iter().map(Option::as_deref).collect::<Vec<_>>(), cancel)?
            }
        })
    }
}

/// The parts of a list, in order.
type Parts<'a> = Box<dyn Iterator<Item = Result<Part, ScoreError>> + 'a>;

impl<'a> Addresses<'a> {
    fn fingerprint(self) -> Result<String, ScoreError> {
        match self {
            Self::All => Ok("all of the chain".to_owned()),
            Self::List(list) => list.fingerprint(),
        }
    }

    /// Counts the addresses. Reads all of them once, so that a damaged row is found before the work begins.
    fn count(self, scorer: &Scorer, size: usize) -> Result<u64, ScoreError> {
        self.parts(scorer, size)?.map(|part| Ok(part?.len() as u64)).sum()
    }

    fn parts(self, scorer: &'a Scorer, size: usize) -> Result<Parts<'a>, ScoreError> {
        Ok(match self {
            Self::All => all(scorer, size),
            Self::List(list) => Box::new(list.parts(size)?.map(|part| part.map(Part::Texts))),
        })
    }
}

fn all(scorer: &Scorer, size: usize) -> Parts<'_> {
    let mut last: Option<Address> = None;
    let mut is_over = false;
    Box::new(std::iter::from_fn(move || {
        if is_over {
            return None;
        }
        let read = scorer.addresses(last.as_ref(), size);
        last = read.as_ref().ok().and_then(|addresses| addresses.last().copied());
        is_over = last.is_none();
        match read {
            Ok(addresses) if addresses.is_empty() => None,
            read => Some(read.map(Part::Known).map_err(ScoreError::from)),
        }
    }))
}
