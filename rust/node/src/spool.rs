//! The folder of answers on their way into the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::NodeError;

/// A folder to which nothing was written for this time is of a load that was killed.
const LEFT: Duration = Duration::from_hours(24);

/// Counts the loads of this process.
static LOADS: AtomicU64 = AtomicU64::new(0);

/// The folder of answers on their way into the store, which each load has for itself. What a killed load left is removed
/// by a later one.
pub(crate) struct Spool {
    folder: PathBuf,
}

impl Spool {
    pub fn new(store: &Path) -> Result<Self, NodeError> {
        let all = store.join("incoming");
        remove_left(&all);
        let number = LOADS.fetch_add(1, Ordering::Relaxed);
        let folder = all.join(format!("{}-{number}", std::process::id()));
        fs::create_dir_all(&folder).map_err(|source| failed(&folder, source))?;
        Ok(Self { folder })
    }

    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, NodeError> {
        let file = self.folder.join(name);
        // Another load removes a folder to which nothing was written for long.
        fs::create_dir_all(&self.folder).map_err(|source| failed(&self.folder, source))?;
        fs::write(&file, content).map_err(|source| failed(&file, source))?;
        Ok(file)
    }
}

impl Drop for Spool {
    fn drop(&mut self) {
        // Else a later load removes it.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Removes the folders of killed loads; those that cannot be removed stay.
fn remove_left(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        let age = entry.metadata().and_then(|folder| folder.modified()).ok().and_then(|time| time.elapsed().ok());
        if age.is_some_and(|age| age > LEFT) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Removes a file that was read.
pub(crate) fn remove(file: &Path) -> Result<(), NodeError> {
    fs::remove_file(file).map_err(|source| failed(file, source))
}

fn failed(file: &Path, source: io::Error) -> NodeError {
    NodeError::Io { file: file.display().to_string(), source }
}
