//! The table of calls, for a client of the HTTP gateway.

use headwater_engine::{ENDPOINTS, Method};
use headwater_table::Pages;
use pyo3::prelude::*;

/// A call as HTTP has it: name, path, method, credits, the field that leads through the pages of its list, and the field
/// of its answer that holds the rows.
type Call = (&'static str, &'static str, &'static str, u32, Option<&'static str>, Option<&'static str>);

/// Every call.
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
