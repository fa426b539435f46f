//! Scores of many addresses as tables and files.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use headwater_engine::score::{
    Addresses, ObservationSample, PartSize, ScoreColumns, ScoreError, ScoreJob, ScoreProgress, Scorer,
};
use headwater_engine::{Intelligence, QueryEngine};
use headwater_ledger::Cancel;
use headwater_table::score::{AddressSource, ParquetScores, score_table};
use pyo3::prelude::*;
use pyo3_arrow::PyTable;

use crate::address::chain_of;
use crate::errors::{exception, raise};
use crate::interrupt::interruptible_with;
use crate::objects::object_of;

/// Chain, names of columns, and the share and seed of observed addresses.
pub type Wanted = (String, String, Option<(f64, u64)>);

/// The arguments of a call.
pub struct Question {
    /// All of the chain where there is none.
    pub addresses: Option<PyTable>,
    pub wanted: Wanted,
    /// Called with addresses done, all of them, and those of an earlier run.
    pub progress: Option<Py<PyAny>>,
}

/// Intelligence with the classifiers of model files.
pub fn with_models(py: Python<'_>, files: &[PathBuf]) -> PyResult<Intelligence> {
    let read = || {
        let files = files.iter().map(|path| (path.display().to_string(), fs::read(path)));
        Intelligence::default().with_models(files)
    };
    py.detach(read).map_err(|why| {
        raise(py, "InvalidInput", &format!("classifiers: {why}"), Some("invalid_value"), Some("classifiers"))
    })
}

/// Returns the scores as a table, and warnings.
pub fn table<'py>(py: Python<'py>, engine: &QueryEngine, question: Question) -> PyResult<(PyTable, Bound<'py, PyAny>)> {
    let (scorer, addresses) = prepared(py, engine, question.addresses, question.wanted)?;
    let (schema, batches) = watched(py, question.progress.as_ref(), &|progress, cancel| {
        score_table(&scorer, listed(addresses.as_ref()), progress, cancel)
    })?;
    Ok((PyTable::try_new(batches, schema)?, object_of(py, &scorer.warnings())?))
}

/// Writes the scores to a file; its counts come back.
pub fn file<'py>(
    py: Python<'py>,
    engine: &QueryEngine,
    question: Question,
    output: &Path,
) -> PyResult<Bound<'py, PyAny>> {
    let (scorer, addresses) = prepared(py, engine, question.addresses, question.wanted)?;
    let report = watched(py, question.progress.as_ref(), &|progress, cancel| {
        let addresses = listed(addresses.as_ref());
        let job = ScoreJob { scorer: &scorer, addresses, output, part_size: PartSize::default() };
        job.run::<ParquetScores>(progress, cancel)
    })?;
    object_of(py, &report)
}

pub fn listed(addresses: Option<&AddressSource>) -> Addresses<'_> {
    addresses.map_or(Addresses::All, |list| Addresses::List(list))
}

pub fn prepared(
    py: Python<'_>,
    engine: &QueryEngine,
    addresses: Option<PyTable>,
    (chain, columns, observed): Wanted,
) -> PyResult<(Scorer, Option<AddressSource>)> {
    let refused = |field: &str, why: String| {
        raise(py, "InvalidInput", &format!("{field}: {why}"), Some("invalid_value"), Some(field))
    };
    let chain = chain_of(py, &chain)?;
    let columns: ScoreColumns = columns.parse().map_err(|why| refused("columns", why))?;
    let observed = observed.map(|(share, seed)| ObservationSample { share, seed });
    let scorer = py.detach(|| engine.scorer(chain, columns).and_then(|scorer| scorer.observed(observed)));
    let scorer = scorer.map_err(|error| exception(py, &error))?;
    let addresses = addresses.map(|table| AddressSource::of_tables(&table.into_inner().0)).transpose();
    Ok((scorer, addresses.map_err(|why| refused("addresses", why))?))
}

pub type Work<'a, T> = &'a (dyn Fn(&dyn Fn(ScoreProgress), &Cancel) -> Result<T, ScoreError> + Sync);

/// Runs work that reports its progress.
pub fn watched<T: Send>(py: Python<'_>, progress: Option<&Py<PyAny>>, work: Work<'_, T>) -> PyResult<T> {
    let latest = Mutex::new(None);
    let note = |progress: ScoreProgress| {
        if let Ok(mut latest) = latest.lock() {
            *latest = Some(progress);
        }
    };
    let mut report = || {
        let reached = latest.lock().ok().and_then(|mut latest| latest.take());
        match (progress, reached) {
            (Some(progress), Some(ScoreProgress { done, total, resumed })) => {
                progress.call1(py, (done, total, resumed)).map(drop)
            }
            _ => Ok(()),
        }
    };
    interruptible_with(py, |cancel| work(&note, cancel), &mut report)?.map_err(|error| score_exception(py, &error))
}

/// Returns the exception of an error of scoring.
pub fn score_exception(py: Python<'_>, error: &ScoreError) -> PyErr {
    let class = match error {
        ScoreError::Engine(error) => return exception(py, error),
        ScoreError::Input { .. }
        | ScoreError::OtherJob { .. }
        | ScoreError::OtherRows { .. }
        | ScoreError::Job { .. }
        | ScoreError::Columns(_) => "InvalidInput",
        ScoreError::File { .. }
        | ScoreError::Busy { .. }
        | ScoreError::FolderGone { .. }
        | ScoreError::PartsMissing { .. } => "StorageError",
    };
    raise(py, class, &error.to_string(), None, None)
}
