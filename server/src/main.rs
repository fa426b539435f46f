//! The `headwater` binary: the program and nothing else.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use mimalloc::MiMalloc;

/// The allocator. Here one thread frees what another one allocates all the time: a call is read, made and written by
/// three. SQLite's memory comes from it too (the crate's `override`): the C library's gave some back after every commit
/// and took it again.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() -> ExitCode {
    ExitCode::from(headwater_server::commands::run(std::env::args_os()))
}
