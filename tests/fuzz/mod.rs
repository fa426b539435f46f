//! Readers of what strangers send, tried on random and on nearly right input; see [`headwater_testkit::fuzz`]. What
//! can be reached only inside a crate is tried there, under the same names.

mod bitcoin;
mod gateway;
mod imports;
mod labels;
mod market;
mod requests;
mod words;

use std::path::Path;

use headwater_testkit::fuzz::Reader;

/// A reader whose kept cases lie beside this file.
fn reader(name: &'static str) -> Reader {
    Reader::new(name, concat!(env!("CARGO_MANIFEST_DIR"), "/fuzz/corpus"))
}

/// The text of an input that is one.
fn text(input: &[u8]) -> Option<&str> {
    std::str::from_utf8(input).ok()
}

/// Writes a file anew. One that is cut and written again is brought to the disk at once by some file systems, which
/// takes a hundred times as long.
fn put(path: &Path, content: impl AsRef<[u8]>) {
    let _ = std::fs::remove_file(path);
    std::fs::write(path, content).unwrap();
}
