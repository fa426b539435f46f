//! Ledgers over a store or over frames, answering calls by name.

use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime};

use arrow::array::RecordBatch;
use headwater_engine::{
    ClaimDisputeRequest, Endpoint, Intelligence, QueryEngine, endpoint, list_disputes, record_dispute,
};
use headwater_ingest::frames::{Transfers, transfers_batch};
use headwater_ingest::labels::{LabelOptions, Labels, read_label_frame};
use headwater_ledger::labels::DisputeAction;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{LabelImport, MissingClaims, PinnedStore, ShrinkPolicy, WriterOptions, in_memory};
use headwater_ledger::{LedgerError, Store};
use headwater_state::causes;
use headwater_types::Timestamp;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_arrow::{PySchema, PyTable};
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::errors::{exception, raise};
use crate::export;
use crate::interrupt::interruptible;
use crate::objects::{object_of, value_of};
use crate::parts::{self, LastJob, PartRow};
use crate::scan::StoredScan;
use crate::scores::{self, Question, Wanted};
use crate::tables;

/// A ledger that answers calls by name.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct NativeLedger {
    engine: QueryEngine,
    ledgers: Arc<dyn Generations>,
    source: String,
    last_job: LastJob,
}

#[pymethods]
impl NativeLedger {
    /// Answers one call: the endpoint's name and the fields of its request.
    fn answer(&self, py: Python<'_>, name: &str, request: &Bound<'_, PyDict>) -> PyResult<Answer> {
        let (endpoint, request) = question(py, name, request)?;
        let engine = self.engine.clone();
        interruptible(py, move |cancel| engine.answer(endpoint, request, cancel))?
            .map(|answer| Answer::of_engine(endpoint, answer))
            .map_err(|error| exception(py, &error))
    }

    /// Writes the rows of a list to a file, in the form that its ending stands for: all of them unless the request has a
    /// `limit`. Rows, cursor and warnings come back.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn write_table<'py>(
        &self,
        py: Python<'py>,
        name: &str,
        request: &Bound<'py, PyDict>,
        path: PathBuf,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (endpoint, request) = question(py, name, request)?;
        let form = tables::form_of(py, &path)?;
        let (engine, file) = (self.engine.clone(), path.clone());
        let written =
            interruptible(py, move |cancel| tables::to_file(&engine, (endpoint, &request), (form, &file), cancel))?
                .map_err(|error| tables::refused(py, &error, Some(&path)))?;
        let (next_cursor, warnings) = (written.next_cursor, written.warnings);
        object_of(py, &json!({"rows": written.rows, "next_cursor": next_cursor, "warnings": warnings}))
    }

    /// The rows of a list as a table: all of them unless the request has a `limit`.
    fn read_table(&self, py: Python<'_>, name: &str, request: &Bound<'_, PyDict>) -> PyResult<PyTable> {
        let (endpoint, request) = question(py, name, request)?;
        let engine = self.engine.clone();
        let (batches, schema) =
            interruptible(py, move |cancel| tables::in_memory(&engine, (endpoint, &request), cancel))?
                .map_err(|error| tables::refused(py, &error, None))?;
        PyTable::try_new(batches, schema)
    }

    /// Writes tables as partitioned Parquet; their manifests come back. `progress` is called with the table, rows done and all
    /// rows.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn export<'py>(
        &self,
        py: Python<'py>,
        out: PathBuf,
        tables: Vec<String>,
        chains: Vec<String>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let written = export::write(py, &*self.ledgers, (&tables, &chains), &out, progress.as_ref())?;
        object_of(py, &written)
    }

    /// A table of the store as its present generation has it, under a filter.
    fn stored_scan(&self, py: Python<'_>, table: String, filter: &Bound<'_, PyDict>) -> PyResult<StoredScan> {
        let ledger = py.detach(|| self.ledgers.current()).map_err(|error| exception(py, &error.into()))?;
        StoredScan::new(py, ledger, table, filter)
    }

    /// Scores of many addresses as a table, and warnings. Without addresses: of all of the chain.
    fn score_table<'py>(
        &self,
        py: Python<'py>,
        addresses: Option<PyTable>,
        wanted: Wanted,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(PyTable, Bound<'py, PyAny>)> {
        scores::table(py, &self.engine, Question { addresses, wanted, progress })
    }

    /// Writes scores to a Parquet file; the same call resumes after an interruption. Its counts come back.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn score_file<'py>(
        &self,
        py: Python<'py>,
        addresses: Option<PyTable>,
        wanted: Wanted,
        output: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        scores::file(py, &self.engine, Question { addresses, wanted, progress }, &output)
    }

    /// The columns of scores.
    fn score_schema(&self, py: Python<'_>, wanted: Wanted) -> PyResult<PySchema> {
        parts::schema(py, &self.engine, wanted)
    }

    /// Plans a job of scores; its description, its parts and warnings come back.
    fn score_plan<'py>(
        &self,
        py: Python<'py>,
        addresses: Option<PyTable>,
        wanted: Wanted,
        part_size: Option<(usize, u64)>,
    ) -> PyResult<(String, PyTable, Bound<'py, PyAny>)> {
        parts::plan(py, &self.engine, Question { addresses, wanted, progress: None }, part_size)
    }

    /// Scores a part of a job.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn score_part(&self, py: Python<'_>, job: &str, part: PartRow) -> PyResult<PyTable> {
        parts::part(py, &self.engine, &self.last_job, job, &part)
    }

    /// Writes the file of a part of a job into a folder.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn score_part_file<'py>(
        &self,
        py: Python<'py>,
        job: &str,
        part: PartRow,
        folder: PathBuf,
    ) -> PyResult<Bound<'py, PyAny>> {
        parts::part_file(py, &self.engine, &self.last_job, (job, &part), &folder)
    }

    /// Records that claims are disputed or confirmed; an entry for each claim comes back.
    fn record_dispute<'py>(
        &self,
        py: Python<'py>,
        action: &str,
        address: String,
        reason: String,
        only: (Option<String>, Option<String>, Option<String>),
    ) -> PyResult<Bound<'py, PyAny>> {
        let unknown = || raise(py, "InvalidInput", &format!("unknown action {action:?}"), None, Some("action"));
        let action = DisputeAction::from_name(action).ok_or_else(unknown)?;
        let Some(folder) = self.ledgers.folder() else {
            let message = "disputes are kept in a store: this ledger was built from tables, so open a store";
            return Err(raise(py, "Unsupported", message, None, None));
        };
        let (blockchain, source, code) = only;
        let request = ClaimDisputeRequest { address, reason, blockchain, source, code };
        let by = format!("python:{}", headwater_cli::user());
        let folder = folder.to_owned();
        let recorded = interruptible(py, move |cancel| {
            let options = WriterOptions::default().cancelled_by(cancel);
            record_dispute(&folder, action, &request, (&by, now()), options)
        })?;
        object_of(py, &recorded.map_err(|error| exception(py, &error))?)
    }

    /// The history of disputes, of one address or of all, the newest first.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn list_disputes<'py>(&self, py: Python<'py>, address: Option<String>) -> PyResult<Bound<'py, PyAny>> {
        let listed = py.detach(|| list_disputes(&*self.ledgers.current()?, address.as_deref()));
        object_of(py, &listed.map_err(|error| exception(py, &error))?)
    }

    /// The folder of the store. A ledger that was built from tables has none.
    fn store_folder(&self, py: Python<'_>) -> PyResult<PathBuf> {
        let message = "imports need a store: this ledger was built from tables, which headwater.Ledger.from_frames takes \
                       labels, prices and tokens with";
        let folder = self.ledgers.folder().map(Path::to_owned);
        folder.ok_or_else(|| raise(py, "Unsupported", message, None, None))
    }

    /// The origin of the data, for people.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }
}

impl NativeLedger {
    fn new(ledgers: Arc<dyn Generations>, source: String, intelligence: Intelligence) -> Self {
        let engine = QueryEngine::new(Arc::clone(&ledgers)).with_clock(milliseconds);
        let engine = engine.with_whole_lists().with_intelligence(intelligence);
        Self { engine, ledgers, source, last_job: LastJob::default() }
    }
}

/// Returns an endpoint by its name, and a request from its fields.
fn question(py: Python<'_>, name: &str, request: &Bound<'_, PyDict>) -> PyResult<(&'static Endpoint, Value)> {
    let endpoint =
        endpoint(name).ok_or_else(|| raise(py, "NotFound", &format!("there is no call {name:?}"), None, None))?;
    let request = value_of(request).map_err(|error| {
        let error = error.value(py);
        raise(py, "InvalidInput", &format!("the request is no JSON: {error}"), Some("invalid_json"), None)
    })?;
    Ok((endpoint, request))
}

/// Milliseconds since the first call.
fn milliseconds() -> u64 {
    static START: LazyLock<Instant> = LazyLock::new(Instant::now);
    u64::try_from(START.elapsed().as_millis()).unwrap_or(u64::MAX)
}

/// The time.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::new(i64::try_from(since).unwrap_or(i64::MAX))
}

/// Opens a store for reading, at one generation if it is given. Model files classify in place of the built-in classifiers
/// of their chains.
#[pyfunction]
#[pyo3(signature = (path, classifiers=Vec::new(), generation=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn open_store(
    py: Python<'_>,
    path: PathBuf,
    classifiers: Vec<PathBuf>,
    generation: Option<u64>,
) -> PyResult<NativeLedger> {
    let intelligence = Intelligence { now_secs: Some(|| now().secs()), ..scores::with_models(py, &classifiers)? };
    let source = path.display().to_string();
    let Some(generation) = generation else {
        let store = py.detach(|| Store::open(&path)).map_err(|error| unopened(py, &error))?;
        return Ok(NativeLedger::new(Arc::new(store), source, intelligence));
    };
    let store = py.detach(|| PinnedStore::open(&path, generation)).map_err(|error| unopened(py, &error))?;
    if let Some(warning) = store.warning().and_then(|warning| CString::new(warning).ok()) {
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &warning, 2)?;
    }
    Ok(NativeLedger::new(Arc::new(store), format!("{source}, generation {generation}"), intelligence))
}

/// Name, bytes and digest of a file.
type FileEntry = (String, u64, String);

/// Lists the files of a generation of a store, of the newest by default: its number, and name, bytes and digest of each file.
#[pyfunction]
#[pyo3(signature = (path, generation=None))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn generation_files(py: Python<'_>, path: PathBuf, generation: Option<u64>) -> PyResult<(u64, Vec<FileEntry>)> {
    let listed = py.detach(|| Store::open(&path)?.files(generation));
    let (generation, files) = listed.map_err(|error| unopened(py, &error))?;
    Ok((generation, files.into_iter().map(|file| (file.name, file.bytes, file.digest)).collect()))
}

/// The exception for a store that cannot be opened.
fn unopened(py: Python<'_>, error: &LedgerError) -> PyErr {
    if matches!(error, LedgerError::UnknownGeneration { .. }) {
        let message = format!("generation: {error}");
        return raise(py, "InvalidInput", &message, Some("invalid_value"), Some("generation"));
    }
    raise(py, "StorageError", &causes(error), None, None)
}

/// An import of a frame of labels, which was made at no time in particular.
fn undated(labels: Labels) -> LabelImport {
    let Labels { source, list, licence, claims, .. } = labels;
    let time = Timestamp::new(0);
    LabelImport {
        source,
        list,
        licence,
        imported_at: time,
        ended_at: time,
        claims,
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Accepted,
        sanctions_of: Vec::new(),
    }
}

/// Builds a ledger in memory from tables, with classifiers as [`open_store`] takes them.
#[pyfunction]
#[pyo3(signature = (transfers, prices=None, tokens=None, labels=None, classifiers=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn from_frames(
    py: Python<'_>,
    transfers: PyTable,
    prices: Option<PyTable>,
    tokens: Option<PyTable>,
    labels: Option<PyTable>,
    classifiers: Vec<PathBuf>,
) -> PyResult<NativeLedger> {
    let intelligence = scores::with_models(py, &classifiers)?;
    let batches = |table: PyTable| -> Vec<RecordBatch> { table.into_inner().0 };
    let transfers = batches(transfers);
    let prices = prices.map(batches).unwrap_or_default();
    let tokens = tokens.map(batches).unwrap_or_default();
    let labels = labels.map(batches).unwrap_or_default();
    let rows: usize = transfers.iter().map(RecordBatch::num_rows).sum();
    let memory = interruptible(py, move |_| -> Result<Arc<dyn Generations>, (&'static str, String)> {
        let input = |error: headwater_ingest::IngestError| ("InvalidInput", error.to_string());
        let Transfers { batches, tokens: mut listings, .. } = transfers_batch(&transfers).map_err(input)?;
        listings.extend(headwater_ingest::frames::tokens(&tokens).map_err(input)?);
        let points = headwater_ingest::frames::prices(&prices).map_err(input)?;
        let claims = if labels.is_empty() { None } else { Some(read_label_frame(&labels, &LabelOptions::default())) };
        let claims = claims.transpose().map_err(input)?;
        let failed = |error: LedgerError| ("InvalidInput", error.to_string());
        let mut memory = in_memory(batches, listings, points).map_err(failed)?;
        if let (Some(claims), Some(store)) = (claims, Arc::get_mut(&mut memory)) {
            store.import_labels(undated(claims)).map_err(failed)?;
        }
        Ok(memory)
    })?
    .map_err(|(class, message)| raise(py, class, &message, None, None))?;
    Ok(NativeLedger::new(memory, format!("{rows} transfers in memory"), intelligence))
}
