//! Pictures of traces and paths, and the files of their interactive component.

use headwater_engine::endpoints::path::PathReport;
use headwater_engine::endpoints::trace::TraceReport;
use headwater_picture::{Component, Picture, component};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::errors::raise;

/// A picture of a trace or of paths.
#[pyclass(frozen, module = "headwater._headwater")]
pub struct NativePicture(Picture);

impl NativePicture {
    /// Lays out the picture of the report of a call.
    pub fn of_report(py: Python<'_>, name: &str, report: Value) -> PyResult<Self> {
        let picture = match name {
            "trace" => Picture::of_trace(&read::<TraceReport>(report)?),
            "path" => Picture::of_path(&read::<PathReport>(report)?),
            other => {
                let message = format!("{other:?} has no interactive picture; expected \"trace\", \"path\"");
                return Err(raise(py, "InvalidInput", &message, Some("invalid_value"), Some("endpoint")));
            }
        };
        Ok(Self(picture))
    }
}

fn read<T: DeserializeOwned>(report: Value) -> PyResult<T> {
    serde_json::from_value(report).map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl NativePicture {
    /// The picture as SVG.
    fn svg(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.svg())
    }

    /// The picture as a page.
    fn html(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.html())
    }

    /// The data of the interactive component.
    fn json(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.json())
    }

    /// The picture as PNG.
    fn png<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let drawn = py.detach(|| self.0.png());
        let drawn = drawn.map_err(|error| raise(py, "Unsupported", &error.to_string(), None, None))?;
        Ok(PyBytes::new(py, &drawn))
    }
}

/// The graph library, the component and its style sheet.
#[pyfunction]
pub fn picture_component() -> (&'static str, &'static str, &'static str) {
    let Component { library, script, style } = component();
    (library, script, style)
}
