//! Files into stores: loads of chain data, simulated economies, and imports of labels, prices and tokens.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use headwater_ingest::labels::{self, ImportTerms, LabelImportReport, LabelOptions};
use headwater_ingest::{
    Bounds, FeedItems, IngestError, LoadOptions, OnError, Options, Progress, ProgressState, SnapshotOptions,
    import_exchange_rates, import_prices, import_tokens, list_exchange_rates, list_prices, list_tokens, load,
    read_sources,
};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::{ShrinkPolicy, WriterOptions};
use headwater_ledger::{Cancel, LedgerError};
use headwater_simulate::{BuildStep, SimulateError, build_store};
use headwater_state::causes;
use headwater_types::{Chain, Timestamp};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::address::chain_of;
use crate::errors::raise;
use crate::interrupt::interruptible_with;
use crate::ledger::now;
use crate::objects::{object_of, value_of};

/// The options of a load, as [`Options`] has them.
#[derive(Debug, Deserialize)]
struct IngestOptions {
    chain: Option<String>,
    format: Option<String>,
    network: Option<String>,
    contract: Option<String>,
    at_block: Option<u64>,
    at_time: Option<i64>,
    decimals: Option<u8>,
    on_error: Option<String>,
    #[serde(default)]
    events: bool,
    batch_transactions: Option<usize>,
    max_line_bytes: Option<usize>,
    max_document_bytes: Option<usize>,
    max_document_values: Option<usize>,
    max_document_depth: Option<usize>,
    max_column_bytes: Option<usize>,
}

impl IngestOptions {
    fn bounds(&self) -> Bounds {
        let defaults = Bounds::default();
        Bounds {
            line_bytes: self.max_line_bytes.unwrap_or(defaults.line_bytes),
            document_bytes: self.max_document_bytes.unwrap_or(defaults.document_bytes),
            document_values: self.max_document_values.unwrap_or(defaults.document_values),
            document_depth: self.max_document_depth.unwrap_or(defaults.document_depth),
            column_bytes: self.max_column_bytes.unwrap_or(defaults.column_bytes),
        }
    }

    fn checked(self, py: Python<'_>) -> PyResult<LoadOptions> {
        let bounds = self.bounds();
        let defaults = Options::default();
        let network = self.network.as_deref().map(str::parse).transpose();
        let on_error = match self.on_error.as_deref() {
            None | Some("stop") => OnError::Stop,
            Some("skip") => OnError::Skip,
            Some(other) => return Err(invalid(py, "on_error", &format!("{other:?}: expected \"stop\" or \"skip\""))),
        };
        let reading = Options {
            chain: chain(py, self.chain.as_deref())?,
            format: self.format,
            network: network.map_err(|error| invalid(py, "network", &format!("{error}")))?,
            snapshot: SnapshotOptions {
                contract: self.contract,
                at_block: self.at_block,
                at_time: self.at_time.map(Timestamp::new),
                decimals: self.decimals,
            },
            on_error,
            batch_transactions: self.batch_transactions.unwrap_or(defaults.batch_transactions).max(1),
            bounds,
            ..defaults
        };
        let feed = if self.events { FeedItems::PerBlock } else { FeedItems::None };
        Ok(LoadOptions { reading, feed, imported_at: now() })
    }
}

/// Loads files into a store; the report and its notes in sentences come back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn ingest<'py>(
    py: Python<'py>,
    paths: Vec<PathBuf>,
    store: PathBuf,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let options = options_of::<IngestOptions>(py, options)?.checked(py)?;
    let report = watched(py, progress.as_ref(), |steps, cancel| load(&store, &paths, &options, steps, cancel))?
        .map_err(|error| refused(py, &error))?;
    Ok((object_of(py, &report)?, headwater_cli::notes_of_load(&report)))
}

/// Builds a store of a simulated economy; its report comes back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn simulate<'py>(
    py: Python<'py>,
    store: PathBuf,
    preset: &str,
    seed: u64,
    truth: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let preset = preset.parse().map_err(|error: headwater_simulate::UnknownPreset| {
        let message = format!("preset: {error}");
        raise(py, "InvalidInput", &message, Some("invalid_value"), Some("preset"))
    })?;
    let report = watched(py, progress.as_ref(), |steps, cancel| {
        let step = |step: BuildStep, done, total| steps.note(step_of(step), done, total);
        build_store(&store, (preset, seed), truth.as_deref(), &step, cancel)
    })?;
    let report = report.map_err(|error| match &error {
        SimulateError::Ledger(cause) => raise(py, class_of(cause), &causes(&error), None, None),
        SimulateError::OtherEconomy { .. } => invalid(py, "store", &error.to_string()),
        SimulateError::Cancelled(_) => raise(py, "Cancelled", &error.to_string(), None, None),
        SimulateError::Ingest(error) => refused(py, error),
        SimulateError::Truth(_) | SimulateError::Lists(_) => raise(py, "StorageError", &causes(&error), None, None),
    })?;
    object_of(py, &report)
}

fn step_of(step: BuildStep) -> LoadStep {
    match step {
        BuildStep::Days => LoadStep { name: "", unit: "days" },
        BuildStep::Sidecar(kind) => LoadStep::building(kind),
    }
}

/// The options of an import of prices and tokens.
#[derive(Debug, Deserialize)]
struct MarketOptions {
    source: Option<String>,
    chain: Option<String>,
    symbol: Option<String>,
}

/// Imports `"tokens"`, `"prices"` or `"exchange rates"` into a store; an entry for each version comes back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn import_market<'py>(
    py: Python<'py>,
    what: &str,
    store: PathBuf,
    paths: Vec<PathBuf>,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let MarketOptions { source, chain: name, symbol } = options_of(py, options)?;
    let (chain, source, symbol) = (chain(py, name.as_deref())?, source.as_deref(), symbol.as_deref());
    let imports = watched(py, progress.as_ref(), |steps, cancel| match what {
        "tokens" => {
            let sources = read_sources(&paths, source, |file| list_tokens(file, chain))?;
            Ok(import_tokens(&store, sources, steps, cancel)?)
        }
        "exchange rates" => {
            let sources = read_sources(&paths, source, list_exchange_rates)?;
            Ok(import_exchange_rates(&store, sources, steps, cancel)?)
        }
        _ => {
            let sources = read_sources(&paths, source, |file| list_prices(file, symbol))?;
            Ok(import_prices(&store, sources, steps, cancel)?)
        }
    })?;
    object_of(py, &imports.map_err(|error: IngestError| refused(py, &error))?)
}

/// The options of an import of labels.
#[derive(Debug, Deserialize)]
struct LabelArguments {
    source: Option<String>,
    list: Option<String>,
    format: Option<String>,
    chain: Option<String>,
    level: Option<String>,
    group: Option<String>,
    entity: Option<String>,
    code: Option<String>,
    licence: Option<String>,
    columns: Vec<(String, String)>,
    trust: bool,
    accept_shrinking: bool,
}

impl LabelArguments {
    fn checked(self, py: Python<'_>) -> PyResult<(LabelOptions, ImportTerms)> {
        let level = self.level.as_deref().map(|name| {
            let names = || Level::ALL.iter().map(|level| level.name()).collect::<Vec<_>>().join(", ");
            Level::from_name(name)
                .ok_or_else(|| invalid(py, "level", &format!("{name:?}: expected one of {}", names())))
        });
        let code = self.code.as_deref().map(|name| {
            let names = || Code::ALL.iter().map(|code| code.name()).collect::<Vec<_>>().join(", ");
            Code::from_name(name).ok_or_else(|| invalid(py, "code", &format!("{name:?}: expected one of {}", names())))
        });
        let options = LabelOptions {
            source: self.source,
            list: self.list,
            format: self.format,
            chain: chain(py, self.chain.as_deref())?,
            level: level.transpose()?.or(self.trust.then_some(Level::TrustedProvider)),
            group: self.group,
            entity: self.entity,
            code: code.transpose()?,
            licence: self.licence,
            columns: self.columns,
            ..LabelOptions::default()
        };
        let shrinking = if self.accept_shrinking { ShrinkPolicy::Accepted } else { ShrinkPolicy::Refused };
        Ok((options, ImportTerms { imported_at: now(), shrinking }))
    }
}

/// Imports files of labels into a store; the report and its notes in sentences come back.
#[pyfunction]
pub fn import_labels<'py>(
    py: Python<'py>,
    store: PathBuf,
    paths: Vec<PathBuf>,
    options: &Bound<'py, PyDict>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let (options, terms) = options_of::<LabelArguments>(py, options)?.checked(py)?;
    imported(py, move |cancel| {
        let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
        labels::import_labels(&mut writer, &paths, &options, terms)
    })
}

/// Imports the core lists of labels into a store; the report and its notes in sentences come back.
#[pyfunction]
pub fn import_core_lists(py: Python<'_>, store: PathBuf) -> PyResult<(Bound<'_, PyAny>, Vec<String>)> {
    imported(py, move |cancel| {
        let mut writer = WriterOptions::default().cancelled_by(cancel).open(store)?;
        labels::import_core_lists(&mut writer, now())
    })
}

/// Runs an import of labels; Ctrl-C ends its wait for other writers.
fn imported(
    py: Python<'_>,
    import: impl FnOnce(&Cancel) -> Result<LabelImportReport, IngestError> + Send,
) -> PyResult<(Bound<'_, PyAny>, Vec<String>)> {
    let report = watched(py, None, |_, cancel| import(cancel))?.map_err(|error| refused(py, &error))?;
    Ok((object_of(py, &report)?, headwater_cli::notes_of_labels(&report)))
}

pub(crate) fn options_of<T: DeserializeOwned>(py: Python<'_>, options: &Bound<'_, PyDict>) -> PyResult<T> {
    serde_json::from_value(value_of(options)?)
        .map_err(|error| raise(py, "InvalidInput", &error.to_string(), Some("invalid_value"), None))
}

fn chain(py: Python<'_>, name: Option<&str>) -> PyResult<Option<Chain>> {
    name.map(|name| chain_of(py, name)).transpose()
}

pub(crate) fn invalid(py: Python<'_>, field: &str, what: &str) -> PyErr {
    raise(py, "InvalidInput", &format!("{field}: {what}"), Some("invalid_value"), Some(field))
}

/// A step of a load, for people.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LoadStep {
    /// The work beside the main one, if it is such.
    pub name: &'static str,
    /// The unit that is counted.
    pub unit: &'static str,
}

impl LoadStep {
    pub(crate) const fn building(kind: &'static str) -> Self {
        Self { name: kind, unit: "steps" }
    }
}

/// The newest state of a load, for the thread that shows it.
#[derive(Debug, Default)]
pub(crate) struct NewestStep(Mutex<Option<(LoadStep, u64, u64)>>);

impl NewestStep {
    pub(crate) fn note(&self, step: LoadStep, done: u64, total: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((step, done, total));
    }

    fn take(&self) -> Option<(LoadStep, u64, u64)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Progress for NewestStep {
    fn update(&self, state: ProgressState<'_>) {
        self.note(LoadStep { name: "", unit: "bytes" }, state.bytes_done, state.bytes_total);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.note(LoadStep::building(kind), done, total);
    }
}

/// Runs a load, which Ctrl-C stops after its last commit, and reports its progress: the name of the step, the unit, the work
/// done and all work.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    progress: Option<&Py<PyAny>>,
    work: impl FnOnce(&NewestStep, &Cancel) -> T + Send,
) -> PyResult<T> {
    let newest = NewestStep::default();
    let mut show = || match (progress, newest.take()) {
        (Some(progress), Some((step, done, total))) => {
            progress.call1(py, (step.name, step.unit, done, total)).map(drop)
        }
        _ => Ok(()),
    };
    interruptible_with(py, |cancel| work(&newest, cancel), &mut show)
}

/// The exception for a load that failed.
pub(crate) fn refused(py: Python<'_>, error: &IngestError) -> PyErr {
    let class = match error {
        IngestError::Io { .. } => "StorageError",
        IngestError::Store(error) => class_of(error),
        IngestError::Cancelled(_) => "Cancelled",
        _ => "InvalidInput",
    };
    raise(py, class, &causes(error), None, None)
}

pub(crate) const fn class_of(error: &LedgerError) -> &'static str {
    match error {
        LedgerError::Cancelled(_) => "Cancelled",
        LedgerError::Io { .. }
        | LedgerError::Corrupt { .. }
        | LedgerError::OtherFormat { .. }
        | LedgerError::NoStore { .. }
        | LedgerError::Locked { .. }
        | LedgerError::Latched { .. }
        | LedgerError::OverBudget(_) => "StorageError",
        _ => "InvalidInput",
    }
}
