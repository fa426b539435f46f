//! History from nodes, comparisons with them, and what was seen of them.

use std::path::PathBuf;

use headwater_ledger::{Cancel, Store};
use headwater_node::{
    BLOCKS_PER_COMMIT, HistoryOptions, HistoryProgress, HistoryState, NodeError, Providers, Traces, compare_balances,
    known_providers, load_history,
};
use headwater_state::causes;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::address::chain_of;
use crate::errors::raise;
use crate::ledger::now;
use crate::load::{LoadStep, NewestStep, class_of, options_of, refused, watched};
use crate::objects::object_of;

/// The options of a load from nodes.
#[derive(Debug, Deserialize)]
struct NodeOptions {
    chain: String,
    from_block: Option<u64>,
    to_block: Option<u64>,
    requests_per_second: Option<f64>,
    parallel: usize,
    traces: bool,
}

impl HistoryProgress for NewestStep {
    fn update(&self, state: HistoryState) {
        let name = if state.what == "blocks" { "" } else { state.what };
        self.note(LoadStep { name, unit: "blocks" }, state.done, state.total);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.note(LoadStep::building(kind), done, total);
    }
}

/// Loads blocks from nodes into a store; the report and its notes in sentences come back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn ingest_rpc<'py>(
    py: Python<'py>,
    rpc: Vec<String>,
    store: PathBuf,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let options = options_of::<NodeOptions>(py, options)?;
    let providers = Providers::new(&rpc, options.requests_per_second).map_err(|error| failed(py, &error))?;
    let options = HistoryOptions {
        chain: chain_of(py, &options.chain)?,
        from: options.from_block,
        to: options.to_block,
        parallel: options.parallel,
        blocks_per_commit: BLOCKS_PER_COMMIT,
        traces: if options.traces { Traces::WherePossible } else { Traces::LeftOut },
        imported_at: now(),
    };
    let load = |steps: &NewestStep, cancel: &Cancel| load_history(&store, &providers, &options, steps, cancel);
    let report = watched(py, progress.as_ref(), load)?.map_err(|error| failed(py, &error))?;
    Ok((object_of(py, &report)?, headwater_cli::notes_of_history(&report)))
}

/// Compares balances of a store with nodes; the report comes back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn verify_rpc<'py>(
    py: Python<'py>,
    store: PathBuf,
    rpc: Vec<String>,
    chain: &str,
    accounts: usize,
    requests_per_second: Option<f64>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let providers = Providers::new(&rpc, requests_per_second).map_err(|error| failed(py, &error))?;
    let chain = chain_of(py, chain)?;
    let compare = |steps: &NewestStep, cancel: &Cancel| {
        let snapshot = Store::open(&store)?.snapshot()?;
        let note = |done, total| steps.note(LoadStep { name: "", unit: "accounts" }, done, total);
        compare_balances(snapshot.as_ref(), chain, accounts, &providers, &note, cancel)
    };
    let report = watched(py, progress.as_ref(), compare)?.map_err(|error: NodeError| failed(py, &error))?;
    object_of(py, &report)
}

/// Returns what loads of a store saw of the nodes that they asked.
#[pyfunction]
#[pyo3(name = "known_providers")]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn providers_of(py: Python<'_>, store: PathBuf) -> PyResult<Bound<'_, PyAny>> {
    let known = known_providers(&store).map_err(|error| failed(py, &error))?;
    object_of(py, &known)
}

/// The exception for a call to nodes that failed.
pub fn failed(py: Python<'_>, error: &NodeError) -> PyErr {
    let class = match error {
        NodeError::Ingest(error) => return refused(py, error),
        NodeError::Ledger(error) => class_of(error),
        NodeError::Io { .. } | NodeError::Store(_) => "StorageError",
        NodeError::NoAnswer { .. }
        | NodeError::NoProvider { .. }
        | NodeError::Branches { .. }
        | NodeError::Disagreement { .. }
        | NodeError::Moved { .. }
        | NodeError::DeepReorg { .. }
        | NodeError::FollowedAlready { .. } => "Unavailable",
        NodeError::NoAddress
        | NodeError::Address { .. }
        | NodeError::Range(_)
        | NodeError::Rate(_)
        | NodeError::Socket(_)
        | NodeError::Contradiction { .. } => "InvalidInput",
    };
    raise(py, class, &causes(error), None, None)
}
