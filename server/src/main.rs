//! The `headwater` binary: the command line and nothing else.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(headwater_server::cli::run(std::env::args_os()))
}
