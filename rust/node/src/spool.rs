//! The folder of answers on their way into the store.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::NodeError;

/// The folder of answers on their way into the store. What a killed load left there is removed by the next one.
pub(crate) struct Spool {
    folder: PathBuf,
}

impl Spool {
    pub fn new(store: &Path) -> Result<Self, NodeError> {
        let folder = store.join("incoming");
        let failed = |source| NodeError::Io { file: folder.display().to_string(), source };
        match fs::remove_dir_all(&folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        fs::create_dir_all(&folder).map_err(failed)?;
        Ok(Self { folder })
    }

    pub fn write(&self, name: &str, content: &[u8]) -> Result<PathBuf, NodeError> {
        let file = self.folder.join(name);
        fs::write(&file, content).map_err(|source| NodeError::Io { file: file.display().to_string(), source })?;
        Ok(file)
    }
}

/// Removes a file that was read.
pub(crate) fn remove(file: &Path) -> Result<(), NodeError> {
    fs::remove_file(file).map_err(|source| NodeError::Io { file: file.display().to_string(), source })
}
