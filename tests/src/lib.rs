//! Tests that cross crates and interfaces: `architecture/` (layer order, file sizes), `corpus/` (real chain data under
//! `HEADWATER_CORPUS`), `parity/` (one request, every interface, one answer), `python/` (run through the wheel).
#![forbid(unsafe_code)]

use std::path::PathBuf;

/// The folder of real chain data.
///
/// # Panics
/// When `HEADWATER_CORPUS` names no folder: a corpus test that cannot run says so. `make test` leaves the tests named
/// `corpus_*` out by name and counts them where there is no corpus.
#[must_use]
pub fn corpus() -> PathBuf {
    let folder = std::env::var_os("HEADWATER_CORPUS").map(PathBuf::from);
    folder.filter(|folder| folder.is_dir()).expect("corpus tests need HEADWATER_CORPUS, the folder of real chain data")
}
