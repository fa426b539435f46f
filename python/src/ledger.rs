//! Ledgers over a store or over frames, answering calls by name.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};
use std::time::{Instant, SystemTime};

use arrow::array::RecordBatch;
use headwater_engine::{
    ClaimDisputeRequest, Endpoint, Intelligence, QueryEngine, endpoint, list_disputes, record_dispute,
};
use headwater_export::ExportError;
use headwater_ingest::frames::{Transfers, transfers_batch};
use headwater_ingest::labels::{LabelOptions, Labels, read_label_frame};
use headwater_ledger::labels::DisputeAction;
use headwater_ledger::read::Generations;
use headwater_ledger::store::{LabelImport, MissingClaims, ShrinkPolicy, in_memory};
use headwater_ledger::{LedgerError, Store};
use headwater_types::Timestamp;
use pyo3::prelude::*;
use pyo3_arrow::PyTable;
use serde_json::{Value, json};

use crate::address::chain_of;
use crate::answer::Answer;
use crate::errors::{exception, raise};
use crate::interrupt::interruptible;
use crate::scores::{self, Question, Wanted};
use crate::tables;

/// A ledger that answers calls by name.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct NativeLedger {
    engine: QueryEngine,
    ledgers: Arc<dyn Generations>,
    source: String,
}

#[pymethods]
impl NativeLedger {
    /// Answers one call: the endpoint's name and its request as JSON.
    fn answer(&self, py: Python<'_>, name: &str, request: &str) -> PyResult<Answer> {
        let (endpoint, request) = question(py, name, request)?;
        interruptible(py, |cancel| self.engine.answer(endpoint, &request, cancel))?
            .map(|report| Answer::of_report(endpoint, report))
            .map_err(|error| exception(py, &error))
    }

    /// Writes the rows of a list to a file, in the form that its ending stands for: all of them unless the request has a
    /// `limit`. Rows, cursor and warnings come back as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn write_table(&self, py: Python<'_>, name: &str, request: &str, path: PathBuf) -> PyResult<String> {
        let (endpoint, request) = question(py, name, request)?;
        let form = tables::form_of(py, &path)?;
        let written =
            interruptible(py, |cancel| tables::to_file(&self.engine, (endpoint, &request), (form, &path), cancel))?
                .map_err(|error| tables::refused(py, &error, Some(&path)))?;
        let (next_cursor, warnings) = (written.next_cursor, written.warnings);
        Ok(json!({"rows": written.rows, "next_cursor": next_cursor, "warnings": warnings}).to_string())
    }

    /// The rows of a list as a table: all of them unless the request has a `limit`.
    fn read_table(&self, py: Python<'_>, name: &str, request: &str) -> PyResult<PyTable> {
        let (endpoint, request) = question(py, name, request)?;
        let (batches, schema) =
            interruptible(py, |cancel| tables::in_memory(&self.engine, (endpoint, &request), cancel))?
                .map_err(|error| tables::refused(py, &error, None))?;
        PyTable::try_new(batches, schema)
    }

    /// Writes the transfers as partitioned Parquet; what was written comes back as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn export_transfers(&self, py: Python<'_>, out: PathBuf, chains: Vec<String>) -> PyResult<String> {
        let chains: Vec<_> = chains.iter().map(|name| chain_of(py, name)).collect::<PyResult<_>>()?;
        interruptible(py, |cancel| {
            let ledger = self.ledgers.current()?;
            headwater_export::transfers(&*ledger, &chains, &out, &|_, _| {}, cancel)
        })?
        .map(|manifest| json!(manifest).to_string())
        .map_err(|error| export_error(py, &error))
    }

    /// Scores of many addresses as a table, and warnings as JSON. Without addresses: of all of the chain.
    fn score_table(
        &self,
        py: Python<'_>,
        addresses: Option<PyTable>,
        wanted: Wanted,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<(PyTable, String)> {
        scores::table(py, &self.engine, Question { addresses, wanted, progress })
    }

    /// Writes scores to a Parquet file; the same call resumes after an interruption. What was written comes back as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn score_file(
        &self,
        py: Python<'_>,
        addresses: Option<PyTable>,
        wanted: Wanted,
        output: PathBuf,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<String> {
        scores::file(py, &self.engine, Question { addresses, wanted, progress }, &output)
    }

    /// Records that claims are disputed or confirmed; an entry for each claim comes back as JSON.
    fn record_dispute(
        &self,
        py: Python<'_>,
        action: &str,
        address: String,
        reason: String,
        only: (Option<String>, Option<String>, Option<String>),
    ) -> PyResult<String> {
        let unknown = || raise(py, "InvalidInput", &format!("unknown action {action:?}"), None, Some("action"));
        let action = DisputeAction::from_name(action).ok_or_else(unknown)?;
        let Some(folder) = self.ledgers.folder() else {
            let message = "disputes are kept in a store: this ledger was built from tables, so open a store";
            return Err(raise(py, "Unsupported", message, None, None));
        };
        let (blockchain, source, code) = only;
        let request = ClaimDisputeRequest { address, reason, blockchain, source, code };
        let by = format!("python:{}", headwater_cli::user());
        py.detach(|| record_dispute(folder, action, &request, (&by, now())))
            .map(|recorded| json!(recorded).to_string())
            .map_err(|error| exception(py, &error))
    }

    /// The history of disputes, of one address or of all, the newest first, as JSON.
    #[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
    fn list_disputes(&self, py: Python<'_>, address: Option<String>) -> PyResult<String> {
        py.detach(|| list_disputes(&*self.ledgers.current()?, address.as_deref()))
            .map(|listed| json!(listed).to_string())
            .map_err(|error| exception(py, &error))
    }

    /// Where the data comes from, for people.
    #[getter]
    fn source(&self) -> &str {
        &self.source
    }
}

fn export_error(py: Python<'_>, error: &ExportError) -> PyErr {
    let class = match error {
        ExportError::NotEmpty { .. } | ExportError::NothingHeld { .. } => "InvalidInput",
        ExportError::Ledger(_) | ExportError::Io { .. } | ExportError::Parquet { .. } | ExportError::Csv { .. } => {
            "StorageError"
        }
    };
    let cause = std::error::Error::source(error).map(|source| format!(": {source}")).unwrap_or_default();
    raise(py, class, &format!("{error}{cause}"), None, None)
}

impl NativeLedger {
    fn new(ledgers: Arc<dyn Generations>, source: String, intelligence: Intelligence) -> Self {
        let engine = QueryEngine::new(Arc::clone(&ledgers)).with_clock(milliseconds);
        Self { engine: engine.with_intelligence(intelligence), ledgers, source }
    }
}

/// An endpoint by its name, and a request from its text.
fn question(py: Python<'_>, name: &str, request: &str) -> PyResult<(&'static Endpoint, Value)> {
    let endpoint =
        endpoint(name).ok_or_else(|| raise(py, "NotFound", &format!("there is no call {name:?}"), None, None))?;
    let request = serde_json::from_str(request).map_err(|error| {
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
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs());
    Timestamp::new(i64::try_from(since).unwrap_or(i64::MAX))
}

/// Opens a store for reading. Model files classify in place of the built-in classifiers of their chains.
#[pyfunction]
#[pyo3(signature = (path, classifiers=Vec::new()))]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn open_store(py: Python<'_>, path: PathBuf, classifiers: Vec<PathBuf>) -> PyResult<NativeLedger> {
    let intelligence = scores::with_models(py, &classifiers)?;
    let source = path.display().to_string();
    let store =
        py.detach(|| Store::open(&path)).map_err(|error| raise(py, "StorageError", &error.to_string(), None, None))?;
    Ok(NativeLedger::new(Arc::new(store), source, intelligence))
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
