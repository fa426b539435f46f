//! Prices from a service.

use std::path::PathBuf;

use headwater_node::prices::{
    CurrentPrices, FetchMode, KeyType, KnownGaps, PriceError, PriceOptions, PriceProgress, PriceService,
    ServiceOptions, Step, fetch_prices as fetch,
};
use headwater_state::causes;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;

use crate::errors::raise;
use crate::ledger::now;
use crate::load::{LoadStep, NewestStep, class_of, invalid, options_of, watched};
use crate::objects::object_of;

/// The options of a fetch of prices, as [`PriceOptions`] has them.
#[derive(Deserialize)]
struct FetchOptions {
    source: String,
    symbols: Vec<String>,
    start: Option<i64>,
    end: Option<i64>,
    step: String,
    url: Option<String>,
    key: Option<String>,
    key_type: String,
    requests_per_second: Option<f64>,
    current: bool,
    ask_again: bool,
    plan: bool,
}

impl FetchOptions {
    fn checked(self, py: Python<'_>) -> PyResult<PriceOptions> {
        let service: PriceService = self.source.parse().map_err(|error| invalid(py, "source", &format!("{error}")))?;
        let key_type: KeyType = self.key_type.parse().map_err(|error| invalid(py, "key_type", &format!("{error}")))?;
        let step: Step = self.step.parse().map_err(|error| invalid(py, "step", &format!("{error}")))?;
        let requests_per_second = self.requests_per_second;
        let service = ServiceOptions { service, url: self.url, key: self.key, key_type, requests_per_second };
        Ok(PriceOptions {
            symbols: self.symbols,
            from: self.start,
            to: self.end,
            step,
            gaps: if self.ask_again { KnownGaps::AskAgain } else { KnownGaps::Skip },
            current: if self.current { CurrentPrices::Stored } else { CurrentPrices::Omitted },
            mode: if self.plan { FetchMode::Plan } else { FetchMode::Fetch },
            ..PriceOptions::new(service, now())
        })
    }
}

/// Hands the progress of a fetch to the thread that shows it.
struct AsStep<'a>(&'a NewestStep);

impl PriceProgress for AsStep<'_> {
    fn update(&self, done: u64, total: u64) {
        self.0.note(LoadStep { name: "", unit: "prices" }, done, total);
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.0.note(LoadStep::building(kind), done, total);
    }
}

/// Fetches prices of a service into a store; the report and its notes in sentences come back.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn fetch_prices<'py>(
    py: Python<'py>,
    store: PathBuf,
    options: &Bound<'py, PyDict>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Bound<'py, PyAny>, Vec<String>)> {
    let options = options_of::<FetchOptions>(py, options)?.checked(py)?;
    let report = watched(py, progress.as_ref(), |steps, cancel| fetch(&store, &options, &AsStep(steps), cancel))?
        .map_err(|error| refused(py, &error))?;
    Ok((object_of(py, &report)?, headwater_cli::notes_of_prices(&report)))
}

/// The exception for a fetch that failed.
fn refused(py: Python<'_>, error: &PriceError) -> PyErr {
    let class = match error {
        PriceError::Locked { .. } | PriceError::Io { .. } | PriceError::Damaged { .. } => "StorageError",
        PriceError::Cancelled(_) => "Cancelled",
        PriceError::Ledger(error) => class_of(error),
        _ => "InvalidInput",
    };
    raise(py, class, &causes(error), None, None)
}
