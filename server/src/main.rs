//! The `headwater` binary: the command line and nothing else.

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// What one thread allocates another one frees all the time here: a call is read, made and written by three.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(headwater_server::cli::run(std::env::args_os()))
}
