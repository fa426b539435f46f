//! Traces as `GraphML`.

use headwater_engine::endpoints::trace::TraceReport;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// Formats a trace, given as the JSON text of its report, as `GraphML`.
#[pyfunction]
pub fn graphml(py: Python<'_>, trace: &str) -> PyResult<String> {
    let trace: TraceReport = serde_json::from_str(trace).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(py.detach(|| headwater_table::graphml(&trace)))
}
