//! Traces as `GraphML`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

/// The `data` of an answer of `trace`, as JSON text, as `GraphML`.
#[pyfunction]
pub fn graphml(py: Python<'_>, trace: &str) -> PyResult<String> {
    let trace = serde_json::from_str(trace).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(py.detach(|| headwater_table::graphml(&trace)))
}
