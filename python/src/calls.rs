//! The table of calls, for a client of the HTTP gateway.

use headwater_engine::{Description, ENDPOINTS, Method};
use headwater_table::Pages;
use pyo3::prelude::*;
use serde_json::{Map, json};

use crate::objects::object_of;

/// A call as HTTP has it: name, path, method, credits, the field that leads through the pages of its list, and the field
/// of its answer that holds the rows.
type Call = (&'static str, &'static str, &'static str, u32, Option<&'static str>, Option<&'static str>);

/// Returns every call.
#[pyfunction]
pub fn calls() -> Vec<Call> {
    let call = |endpoint: &'static headwater_engine::Endpoint| {
        let method = match endpoint.method {
            Method::Get => "GET",
            Method::Post => "POST",
        };
        let pages = Pages::of(endpoint).map(|pages| match pages {
            Pages::Cursor => "cursor",
            Pages::Offset => "offset",
        });
        let rows = endpoint.rows;
        (endpoint.name, endpoint.path, method, endpoint.cost, pages, rows)
    };
    ENDPOINTS.iter().map(call).collect()
}

/// Returns the schemas of requests and reports by call, the columns that tables begin with, and the named schemas that they refer to, as in the `OpenAPI` document: the
/// methods of ledgers and the types of records are generated from them.
#[pyfunction]
pub fn descriptions(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    let (mut calls, mut components) = (Map::new(), Map::new());
    for endpoint in ENDPOINTS {
        let Description { request, report, components: named } = endpoint.describe();
        calls.insert(endpoint.name.to_owned(), json!({"request": request, "report": report, "first": endpoint.first}));
        components.extend(named);
    }
    object_of(py, &json!({"calls": calls, "components": components}))
}
