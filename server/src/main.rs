//! The `headwater` binary: the command line and nothing else.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(headwater_server::cli::run(std::env::args_os()))
}
