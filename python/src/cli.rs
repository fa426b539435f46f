//! The command line, carried by the wheel.

use pyo3::prelude::*;

/// Runs the command line with the given arguments (the program's name first) and returns its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, arguments: Vec<String>) -> u8 {
    py.detach(|| headwater_server::commands::run(arguments))
}
