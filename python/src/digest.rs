//! Digests of files, which copies of a store are compared by.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use pyo3::prelude::*;
use xxhash_rust::xxh3::Xxh3Default;

use crate::errors::raise;

/// The bytes that are read at a time.
const CHUNK: usize = 1 << 20;

/// Returns the length of a file and its XXH3-128 in hexadecimal digits, as manifests have it.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "arguments from Python arrive as owned values")]
pub fn file_digest(py: Python<'_>, path: PathBuf) -> PyResult<(u64, String)> {
    py.detach(|| digest(&path))
        .map_err(|error| raise(py, "StorageError", &format!("{} cannot be read: {error}", path.display()), None, None))
}

fn digest(path: &Path) -> io::Result<(u64, String)> {
    let mut file = File::open(path)?;
    let (mut hasher, mut chunk, mut length) = (Xxh3Default::new(), vec![0; CHUNK], 0);
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok((length, format!("{:032x}", hasher.digest128())));
        }
        hasher.update(&chunk[..read]);
        length += read as u64;
    }
}
