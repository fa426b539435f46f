//! The parts of a job of scores, for engines that distribute them.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use headwater_engine::QueryEngine;
use headwater_engine::score::{
    FolderLock, JobDescription, PartAddresses, PartCounts, PartFolder, PartSize, PlannedPart, ScoreColumns, ScoreError,
    ScoreFormat, ScorePlan, Scorer, join_parts, part_file as part_file_of, parts_folder,
};
use headwater_ledger::Cancel;
use headwater_table::score::{ParquetScores, plan_table, rows_batch, score_schema};
use headwater_types::{Address, Chain};
use pyo3::prelude::*;
use pyo3_arrow::{PySchema, PyTable};
use serde_json::json;

use crate::errors::raise;
use crate::objects::object_of;
use crate::scores::{Question, Wanted, listed, prepared, score_exception, watched};

/// A part as a row of the plan has it: its number, first and last address, number and checksum of addresses, and their
/// texts.
pub type PartRow = (usize, Option<String>, Option<String>, u64, String, Option<Vec<Option<String>>>);

/// A scorer that computes the rows of a job.
struct JobScorer {
    text: String,
    job: JobDescription,
    scorer: Scorer,
}

/// The scorer of the job that parts were asked of last, and the folder that they were written into last.
#[derive(Default)]
pub struct LastJob {
    scorer: Mutex<Option<Arc<JobScorer>>>,
    folder: Mutex<Option<(PathBuf, String, Arc<PartFolder>)>>,
}

impl LastJob {
    /// Returns the scorer of a job, which has been checked.
    fn scorer(&self, engine: &QueryEngine, text: &str, cancel: &Cancel) -> Result<Arc<JobScorer>, ScoreError> {
        let mut last = self.scorer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.text == text) {
            return Ok(Arc::clone(last));
        }
        let job = JobDescription::from_json(text)?;
        let version = |name: &str| job.versions.get(name).map(String::as_str).unwrap_or_default();
        let other = |difference: String| ScoreError::OtherRows { difference };
        let chain =
            Chain::from_name(version("chain")).ok_or_else(|| other(format!("chain was {}", version("chain"))))?;
        let columns: ScoreColumns = version("columns").parse().map_err(other)?;
        let scorer = engine.scorer(chain, columns)?;
        job.check::<ParquetScores>(&scorer, cancel)?;
        Ok(Arc::clone(last.insert(Arc::new(JobScorer { text: text.to_owned(), job, scorer }))))
    }

    /// Returns a folder of a job, which lists its files once.
    fn folder(&self, path: &Path, job: &JobScorer) -> Result<Arc<PartFolder>, ScoreError> {
        let mut last = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, _, folder)) = last.as_ref().filter(|(held, text, _)| held == path && *text == job.text) {
            return Ok(Arc::clone(folder));
        }
        let folder = Arc::new(PartFolder::open(path, &job.job, ParquetScores::ENDING)?);
        *last = Some((path.to_owned(), job.text.clone(), Arc::clone(&folder)));
        Ok(folder)
    }
}

impl JobScorer {
    /// Returns the addresses of a part, which are those of its checksum.
    fn addresses(&self, part: PartRow) -> Result<PartAddresses, ScoreError> {
        let (number, first, last, addresses, checksum, texts) = part;
        let other = |difference: String| ScoreError::OtherRows { difference };
        let checksum = u64::from_str_radix(&checksum, 16)
            .map_err(|_| other(format!("part {number} has the checksum {checksum:?}, which is not one")))?;
        let parse = |text: String| {
            Address::parse(self.scorer.chain(), &text).map_err(|error| other(format!("part {number}: {error}")))
        };
        let range = first.map(parse).transpose()?.zip(last.map(parse).transpose()?);
        let planned = match texts {
            Some(texts) => PartAddresses::Texts(texts),
            None => {
                let part = PlannedPart { number, range, addresses, movements: 0, checksum };
                PartAddresses::of_range(&self.scorer, &part)?
            }
        };
        if planned.checksum(number) == checksum {
            return Ok(planned);
        }
        Err(other(format!("part {number} was of addresses with the checksum {checksum:016x}, is of others")))
    }
}

/// Returns the columns of scores.
pub fn schema(py: Python<'_>, engine: &QueryEngine, wanted: Wanted) -> PyResult<PySchema> {
    let (scorer, _) = prepared(py, engine, None, wanted)?;
    Ok(PySchema::new(score_schema(&scorer)))
}

/// Plans a job: returns its description, its parts as a table, and warnings.
pub fn plan<'py>(
    py: Python<'py>,
    engine: &QueryEngine,
    question: Question,
    size: Option<(usize, u64)>,
) -> PyResult<(String, PyTable, Bound<'py, PyAny>)> {
    let (scorer, addresses) = prepared(py, engine, question.addresses, question.wanted)?;
    let size = size.map_or_else(PartSize::default, |(addresses, hub_movements)| PartSize { addresses, hub_movements });
    if size.addresses == 0 || size.hub_movements == 0 {
        let message = "part_size: a number is 0; give at least 1 address and 1 movement";
        return Err(raise(py, "InvalidInput", message, Some("invalid_value"), Some("part_size")));
    }
    let (job, parts) = watched(py, None, &|_, cancel| {
        let addresses = listed(addresses.as_ref());
        let plan = ScorePlan::new::<ParquetScores>(&scorer, addresses, size, cancel)?;
        Ok((plan.job.to_json(), plan_table(&scorer, addresses, &plan)?))
    })?;
    let schema = parts.schema();
    Ok((job, PyTable::try_new(vec![parts], schema)?, object_of(py, &scorer.warnings())?))
}

/// Scores a part of a job.
pub fn part(py: Python<'_>, engine: &QueryEngine, last: &LastJob, job: &str, part: &PartRow) -> PyResult<PyTable> {
    let batch = watched(py, None, &|_, cancel| {
        let job = last.scorer(engine, job, cancel)?;
        rows_batch(&job.scorer, &job.addresses(part.clone())?.score(&job.scorer, cancel)?)
    })?;
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)
}

/// Writes the file of a part of a job into a folder.
pub fn part_file<'py>(
    py: Python<'py>,
    engine: &QueryEngine,
    last: &LastJob,
    (job, part): (&str, &PartRow),
    folder: &Path,
) -> PyResult<Bound<'py, PyAny>> {
    let number = part.0;
    let made = watched(py, None, &|_, cancel| {
        let job = last.scorer(engine, job, cancel)?;
        let addresses = job.addresses(part.clone())?;
        part_file_of::<ParquetScores>(&job.scorer, &*last.folder(folder, &job)?, (number, &addresses), cancel)
    })?;
    let (path, PartCounts { rows, failed }) = (made.path, made.counts);
    object_of(py, &json!({"part": number, "file": path.display().to_string(), "rows": rows, "failed": failed}))
}

/// The folder of the parts of an output, locked until it is joined or released.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct ScoreFolder {
    path: PathBuf,
    lock: Mutex<Option<FolderLock>>,
}

impl ScoreFolder {
    fn of(py: Python<'_>, lock: Result<FolderLock, ScoreError>) -> PyResult<Self> {
        let lock = lock.map_err(|error| score_exception(py, &error))?;
        Ok(Self { path: lock.folder().to_owned(), lock: Mutex::new(Some(lock)) })
    }

    fn locked(&self) -> MutexGuard<'_, Option<FolderLock>> {
        self.lock.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn released(py: Python<'_>) -> PyErr {
    let message = "the folder of parts was released before; take it again with headwater.score_folder";
    raise(py, "InvalidInput", message, None, None)
}

#[pymethods]
impl ScoreFolder {
    /// Locks the folder of the parts of an output, and creates it where it is missing.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn new(py: Python<'_>, output: PathBuf) -> PyResult<Self> {
        Self::of(py, py.detach(|| FolderLock::take(&parts_folder(&output))))
    }

    /// Locks a folder of parts.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn existing(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Self::of(py, py.detach(|| FolderLock::existing(&folder)))
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Takes the folder for a job, and returns the numbers of the parts that have no file yet, or with `verify` no whole
    /// one.
    fn missing(&self, py: Python<'_>, job: &str, verify: bool) -> PyResult<Vec<usize>> {
        if self.locked().is_none() {
            return Err(released(py));
        }
        let missing = || {
            let job = JobDescription::from_json(job)?;
            let folder = PartFolder::open(&self.path, &job, ParquetScores::ENDING)?;
            let parts = usize::try_from(job.parts).unwrap_or(usize::MAX);
            let mut missing = Vec::new();
            for number in 0..parts {
                let is_there = if verify { folder.find(number)?.is_some() } else { folder.has(number) };
                if !is_there {
                    missing.push(number);
                }
            }
            Ok(missing)
        };
        py.detach(missing).map_err(|error: ScoreError| score_exception(py, &error))
    }

    /// Joins the parts into a file, and removes the folder.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn join<'py>(&self, py: Python<'py>, output: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        if self.locked().is_none() {
            return Err(released(py));
        }
        let report = watched(py, progress.as_ref(), &|progress, cancel| {
            let mut held = self.locked();
            let lock = held.as_ref().expect("checked above");
            let report = join_parts::<ParquetScores>(lock, &output, progress, cancel)?;
            *held = None;
            Ok(report)
        })?;
        object_of(py, &report)
    }

    /// Releases the lock.
    fn release(&self) {
        *self.locked() = None;
    }
}
