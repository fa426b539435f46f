//! Errors of the engine as the exception tree of `headwater.errors`.

use headwater_engine::{Error, ErrorKind, Reason};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// The exception for an error; its attributes carry the details that HTTP clients get.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let (class, reason) = match error.kind {
        ErrorKind::InvalidInput(reason @ Reason::UnknownField) => ("UnknownField", serde_json::to_value(reason).ok()),
        ErrorKind::InvalidInput(reason) => ("InvalidInput", serde_json::to_value(reason).ok()),
        ErrorKind::NotFound => ("NotFound", None),
        ErrorKind::Cancelled => ("Cancelled", None),
        ErrorKind::Overloaded => ("RateLimited", Some("overloaded".into())),
        ErrorKind::Storage => ("StorageError", None),
        ErrorKind::Internal => ("InternalError", None),
    };
    let reason = reason.and_then(|reason| reason.as_str().map(str::to_owned));
    let message = match (&error.kind, &error.source) {
        // In a library the cause is the caller's own to see.
        (ErrorKind::Storage | ErrorKind::Internal, Some(source)) => source.to_string(),
        _ => error.message.clone(),
    };
    make(py, (class, &message), (reason.as_deref(), error.field.as_deref()), &error.candidates)
}

/// An exception of the tree by its name.
pub fn raise(py: Python<'_>, class: &str, message: &str, reason: Option<&str>, field: Option<&str>) -> PyErr {
    make(py, (class, message), (reason, field), &[])
}

fn make(
    py: Python<'_>,
    (class, message): (&str, &str),
    (reason, field): (Option<&str>, Option<&str>),
    candidates: &[String],
) -> PyErr {
    let make = || -> PyResult<Bound<'_, PyAny>> {
        let keywords = PyDict::new(py);
        keywords.set_item("reason", reason)?;
        keywords.set_item("field", field)?;
        keywords.set_item("candidates", candidates)?;
        py.import("headwater.errors")?.getattr(class)?.call((message,), Some(&keywords))
    };
    make().map_or_else(|failure| failure, PyErr::from_value)
}
