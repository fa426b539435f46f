//! A file that has its name only once it is whole.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::ExportError;

/// A file in the making. Dropped before it is finished, it leaves nothing.
pub(super) struct Draft {
    path: PathBuf,
    temporary: PathBuf,
}

impl Draft {
    /// Creates the file under a temporary name.
    pub(super) fn create(path: &Path) -> Result<(Self, File), ExportError> {
        let mut temporary = path.as_os_str().to_owned();
        temporary.push(".tmp");
        let temporary = PathBuf::from(temporary);
        let file = File::create(&temporary).map_err(ExportError::io(&temporary))?;
        Ok((Self { path: path.to_owned(), temporary }, file))
    }

    /// The name that the file has until it is whole.
    pub(super) fn temporary(&self) -> &Path {
        &self.temporary
    }

    /// Gives the file its name.
    pub(super) fn finish(self, file: &File) -> Result<(), ExportError> {
        file.sync_all().map_err(ExportError::io(&self.temporary))?;
        fs::rename(&self.temporary, &self.path).map_err(ExportError::io(&self.path))
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // A finished file has another name.
        let _ = fs::remove_file(&self.temporary);
    }
}
