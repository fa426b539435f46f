//! A job that writes a file of scores: part by part, so that the same job resumes after an interruption, and so that
//! several processes can share the parts.
//!
//! Parts are joined into one file at the end. The same job gives the same bytes, whatever the thread count, however
//! often it was interrupted and whoever made its parts. Readers of lists and the format of the file come from the
//! caller.

use std::path::{Path, PathBuf};

use headwater_ledger::{Cancel, LedgerError};
use serde::Serialize;

use super::addresses::Addresses;
use super::folder::{FolderLock, PartFolder, parts_folder, whole_file};
use super::format::{PartCounts, ScoreFormat};
use super::part::PartAddresses;
use super::plan::{ADDRESSES_PER_PART, PartSize, ScorePlan, Shard};
use super::{ScoreError, ScoreRow, Scorer};
use crate::{Error, Warning};

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

/// The outcome of a shard of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ShardReport {
    /// The folder of the parts.
    pub folder: String,
    /// Parts of the shard.
    pub parts: u64,
    /// Parts of the job.
    pub parts_total: u64,
    /// Addresses of the shard.
    pub rows: u64,
    /// Addresses among them that have an error.
    pub failed: u64,
    /// Addresses that an earlier run of the shard had scored.
    pub resumed: u64,
    /// The warnings of the scorer.
    pub warnings: Vec<Warning>,
}

/// The outcome of joining the parts of a job.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct JoinReport {
    /// The file.
    pub file: String,
    /// Parts.
    pub parts: u64,
    /// Addresses.
    pub rows: u64,
    /// Addresses among them that have an error.
    pub failed: u64,
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
    for part in addresses.cells(scorer, ADDRESSES_PER_PART)? {
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
    /// The size of parts; the default one unless there is a reason.
    pub part_size: PartSize,
}

/// The parts of a shard that are done.
struct FinishedParts {
    files: Vec<PathBuf>,
    counts: PartCounts,
    resumed: u64,
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
        self.check_output()?;
        let lock = FolderLock::take(&parts_folder(self.output))?;
        let plan = ScorePlan::new::<F>(self.scorer, self.addresses, self.part_size, cancel)?;
        let folder = PartFolder::open(lock.folder(), &plan.job, F::ENDING)?;
        let made = self.make::<F>(&plan, Shard::ALL, &folder, (progress, cancel))?;
        whole_file(self.output, &plan.job, |file| F::join(&plan.job.versions, &made.files, file))?;
        lock.clear(&made.files)?;
        let FinishedParts { counts: PartCounts { rows, failed }, resumed, .. } = made;
        let file = self.output.display().to_string();
        Ok(ScoreReport { file, rows, failed, resumed, warnings: self.scorer.warnings() })
    }

    /// Makes the parts of a shard, or resumes that. [`join_parts`] makes the file once all shards are done. Shards may
    /// run at the same time, also twice.
    ///
    /// # Errors
    /// [`ScoreError`]; complete parts stay for the next run.
    pub fn run_shard<F: ScoreFormat>(
        &self,
        shard: Shard,
        progress: &dyn Fn(ScoreProgress),
        cancel: &Cancel,
    ) -> Result<ShardReport, ScoreError> {
        self.check_output()?;
        let plan = ScorePlan::new::<F>(self.scorer, self.addresses, self.part_size, cancel)?;
        let path = parts_folder(self.output);
        let folder = PartFolder::open(&path, &plan.job, F::ENDING)?;
        let FinishedParts { files, counts, resumed } = self.make::<F>(&plan, shard, &folder, (progress, cancel))?;
        Ok(ShardReport {
            folder: path.display().to_string(),
            parts: files.len() as u64,
            parts_total: plan.job.parts,
            rows: counts.rows,
            failed: counts.failed,
            resumed,
            warnings: self.scorer.warnings(),
        })
    }

    /// Makes the missing parts of a shard.
    fn make<F: ScoreFormat>(
        &self,
        plan: &ScorePlan,
        shard: Shard,
        folder: &PartFolder,
        (progress, cancel): (&dyn Fn(ScoreProgress), &Cancel),
    ) -> Result<FinishedParts, ScoreError> {
        let wanted = plan.parts_of(shard);
        let total = wanted.iter().map(|number| plan.parts[*number].addresses).sum();
        let mut made = FinishedParts { files: Vec::new(), counts: PartCounts::default(), resumed: 0 };
        for part in plan.read(self.scorer, self.addresses, |number| wanted.contains(&number))? {
            let (part, addresses) = part?;
            let PartFile { path, counts, is_found } =
                part_file::<F>(self.scorer, folder, (part.number, &addresses), cancel)?;
            made.resumed += if is_found { counts.rows } else { 0 };
            made.counts.add(counts);
            made.files.push(path);
            progress(ScoreProgress { done: made.counts.rows, total, resumed: made.resumed });
        }
        Ok(made)
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
        check_file(self.output)
    }
}

/// The file of a part.
#[derive(Debug)]
pub struct PartFile {
    /// The file.
    pub path: PathBuf,
    /// Its counts.
    pub counts: PartCounts,
    /// True if it was there before.
    pub is_found: bool,
}

/// Returns the file of a part, which is made unless it is there.
///
/// # Errors
/// [`ScoreError`].
pub fn part_file<F: ScoreFormat>(
    scorer: &Scorer,
    folder: &PartFolder,
    (number, addresses): (usize, &PartAddresses),
    cancel: &Cancel,
) -> Result<PartFile, ScoreError> {
    if let Some((path, bytes)) = folder.find(number)? {
        let counts = F::counts(&path, bytes)?;
        if counts.rows == addresses.len() as u64 {
            return Ok(PartFile { path, counts, is_found: true });
        }
    }
    let rows = addresses.score(scorer, cancel)?;
    let path = folder.write(number, &F::encode(scorer, &rows)?)?;
    Ok(PartFile { path, counts: PartCounts::of(&rows), is_found: false })
}

fn check_file(output: &Path) -> Result<(), ScoreError> {
    if output.is_dir() {
        return Err(ScoreError::input(output, "this is a folder; name a file"));
    }
    Ok(())
}

/// Joins the parts of a locked folder into a file, and removes them. Needs no store.
///
/// # Errors
/// [`ScoreError::PartsMissing`] when parts are missing or damaged; then nothing is removed.
pub fn join_parts<F: ScoreFormat>(
    lock: &FolderLock,
    output: &Path,
    progress: &dyn Fn(ScoreProgress),
    cancel: &Cancel,
) -> Result<JoinReport, ScoreError> {
    check_file(output)?;
    let (folder, job) = PartFolder::existing(lock.folder(), F::ENDING)?;
    let (mut files, mut missing, mut counts) = (Vec::new(), Vec::new(), PartCounts::default());
    for number in 0..job.parts {
        cancel.check().map_err(LedgerError::from).map_err(Error::from)?;
        match folder.find(usize::try_from(number).unwrap_or(usize::MAX))? {
            Some((file, bytes)) => {
                counts.add(F::counts(&file, bytes)?);
                files.push(file);
                progress(ScoreProgress { done: counts.rows, total: job.rows, resumed: 0 });
            }
            None => missing.push(number),
        }
    }
    if !missing.is_empty() {
        let unusable = folder.files() - files.len() as u64;
        return Err(ScoreError::PartsMissing { path: lock.folder().to_owned(), missing, unusable, parts: job.parts });
    }
    if counts.rows != job.rows {
        let message =
            format!("its parts have {} rows, expected {}; remove the folder to start again", counts.rows, job.rows);
        return Err(ScoreError::input(lock.folder(), message));
    }
    whole_file(output, &job, |file| F::join(&job.versions, &files, file))?;
    lock.clear(&files)?;
    let PartCounts { rows, failed } = counts;
    Ok(JoinReport { file: output.display().to_string(), parts: job.parts, rows, failed })
}
