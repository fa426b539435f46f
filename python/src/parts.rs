//! The parts of a job of scores, for engines that distribute them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use headwater_engine::QueryEngine;
use headwater_engine::score::{
    FolderLock, JobDescription, PartAddresses, PartCounts, PartFolder, PartSize, PlannedPart, ScoreColumns, ScoreError,
    ScoreFormat, ScorePlan, ScoreRow, Scorer, join_parts, parts_folder,
};
use headwater_ledger::Cancel;
use headwater_table::score::{ParquetScores, plan_table, rows_batch, score_schema};
use headwater_types::{Address, Chain};
use pyo3::prelude::*;
use pyo3_arrow::{PySchema, PyTable};
use serde_json::json;

use crate::errors::raise;
use crate::objects::object_of;
use crate::scores::{Question, Wanted, listed, prepared, refused, watched};

/// A part as a row of the plan has it: its number, first and last address, number of addresses, and their texts.
pub type PartRow = (usize, Option<String>, Option<String>, u64, Option<Vec<Option<String>>>);

/// A scorer that computes the rows of a job.
struct JobScorer {
    text: String,
    job: JobDescription,
    scorer: Scorer,
}

/// The scorer of the job that parts were asked of last.
#[derive(Default)]
pub struct LastJob(Mutex<Option<Arc<JobScorer>>>);

impl LastJob {
    /// Returns the scorer of a job, which has been checked.
    fn scorer(&self, engine: &QueryEngine, text: &str) -> Result<Arc<JobScorer>, ScoreError> {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(last) = last.as_ref().filter(|last| last.text == text) {
            return Ok(Arc::clone(last));
        }
        let job = JobDescription::from_json(text)?;
        let version = |name: &str| job.versions.get(name).map(String::as_str).unwrap_or_default();
        let unknown = |difference: String| ScoreError::OtherRows { difference };
        let chain =
            Chain::from_name(version("chain")).ok_or_else(|| unknown(format!("chain was {}", version("chain"))))?;
        let columns: ScoreColumns = version("columns").parse().map_err(unknown)?;
        let scorer = engine.scorer(chain, columns)?;
        job.check::<ParquetScores>(&scorer)?;
        Ok(Arc::clone(last.insert(Arc::new(JobScorer { text: text.to_owned(), job, scorer }))))
    }
}

impl JobScorer {
    fn addresses(&self, (number, first, last, addresses, texts): PartRow) -> Result<PartAddresses, ScoreError> {
        if let Some(texts) = texts {
            return Ok(PartAddresses::Texts(texts));
        }
        let parse = |text: String| {
            Address::parse(self.scorer.chain(), &text).map_err(|error| ScoreError::Columns(Box::new(error)))
        };
        let range = match (first, last) {
            (Some(first), Some(last)) => Some((parse(first)?, parse(last)?)),
            _ => None,
        };
        PartAddresses::of_range(&self.scorer, &PlannedPart { number, range, addresses, movements: 0 })
    }

    fn rows(&self, part: PartRow, cancel: &Cancel) -> Result<Vec<ScoreRow>, ScoreError> {
        Ok(self.addresses(part)?.score(&self.scorer, cancel)?)
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
    let (job, parts) = watched(py, None, &|_, cancel| {
        let addresses = listed(addresses.as_ref());
        let plan = ScorePlan::new::<ParquetScores>(&scorer, addresses, size, cancel)?;
        Ok((plan.job.to_json(), plan_table(&scorer, addresses, &plan)?))
    })?;
    let schema = parts.schema();
    Ok((job, PyTable::try_new(vec![parts], schema)?, object_of(py, &scorer.warnings())?))
}

/// Scores a part of a job.
pub fn part(py: Python<'_>, engine: &QueryEngine, last: &LastJob, job: &str, part: PartRow) -> PyResult<PyTable> {
    let batch = watched(py, None, &|_, cancel| {
        let job = last.scorer(engine, job)?;
        rows_batch(&job.scorer, &job.rows(part.clone(), cancel)?)
    })?;
    let schema = batch.schema();
    PyTable::try_new(vec![batch], schema)
}

/// Writes the file of a part of a job into a folder.
pub fn part_file<'py>(
    py: Python<'py>,
    engine: &QueryEngine,
    last: &LastJob,
    (job, part): (&str, PartRow),
    folder: PathBuf,
) -> PyResult<Bound<'py, PyAny>> {
    let number = part.0;
    let (path, PartCounts { rows, failed }) = watched(py, None, &|_, cancel| {
        let job = last.scorer(engine, job)?;
        let folder = PartFolder::open(&folder, &job.job, ParquetScores::ENDING)?;
        if let Some((path, bytes)) = folder.find(number)? {
            let counts = ParquetScores::counts(&path, bytes)?;
            return Ok((path, counts));
        }
        let rows = job.rows(part.clone(), cancel)?;
        let path = folder.write(number, &ParquetScores::encode(&job.scorer, &rows)?)?;
        Ok((path, PartCounts::of(&rows)))
    })?;
    object_of(py, &json!({"part": number, "file": path.display().to_string(), "rows": rows, "failed": failed}))
}

/// The folder of the parts of an output, locked until it is joined or released.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct ScoreFolder {
    path: PathBuf,
    lock: Mutex<Option<FolderLock>>,
}

impl ScoreFolder {
    fn locked(py: Python<'_>, lock: Result<FolderLock, ScoreError>) -> PyResult<Self> {
        let lock = lock.map_err(|error| refused(py, &error))?;
        Ok(Self { path: lock.folder().to_owned(), lock: Mutex::new(Some(lock)) })
    }
}

#[pymethods]
impl ScoreFolder {
    /// Locks the folder of the parts of an output, and creates it where it is missing.
    #[new]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn new(py: Python<'_>, output: PathBuf) -> PyResult<Self> {
        Self::locked(py, py.detach(|| FolderLock::take(&parts_folder(&output))))
    }

    /// Locks a folder of parts.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn existing(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        Self::locked(py, py.detach(|| FolderLock::existing(&folder)))
    }

    /// The folder.
    #[getter]
    fn path(&self) -> PathBuf {
        self.path.clone()
    }

    /// Takes the folder for a job, and returns the numbers of the parts that have no file yet.
    fn missing(&self, py: Python<'_>, job: &str) -> PyResult<Vec<usize>> {
        let missing = || {
            let job = JobDescription::from_json(job)?;
            let folder = PartFolder::open(&self.path, &job, ParquetScores::ENDING)?;
            let parts = usize::try_from(job.parts).unwrap_or(usize::MAX);
            Ok((0..parts).filter(|number| !folder.has(*number)).collect())
        };
        py.detach(missing).map_err(|error: ScoreError| refused(py, &error))
    }

    /// Joins the parts into a file, and removes the folder.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn join<'py>(&self, py: Python<'py>, output: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Bound<'py, PyAny>> {
        let lock = self.lock.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(lock) = lock else {
            return Err(raise(py, "InvalidInput", "the folder of parts was released before", None, None));
        };
        let lock = Mutex::new(Some(lock));
        let report = watched(py, progress.as_ref(), &|progress, cancel| {
            let lock = lock.lock().unwrap_or_else(PoisonError::into_inner).take();
            join_parts::<ParquetScores>(lock.expect("taken once"), &output, progress, cancel)
        })?;
        object_of(py, &report)
    }

    /// Releases the lock.
    fn release(&self) {
        drop(self.lock.lock().unwrap_or_else(PoisonError::into_inner).take());
    }
}
