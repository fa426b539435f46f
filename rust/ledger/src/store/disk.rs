//! The one place where a store touches the disk for writing, small enough to put a faulty disk in its place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use crate::permissions;

/// The operations that a writer needs of a disk.
pub trait Disk: Send {
    /// Makes a folder and those above it, where they are missing.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&mut self, path: &Path) -> io::Result<()>;

    /// Begins a new file with the permissions of its folder, replacing one of that name.
    ///
    /// # Errors
    /// What the system says.
    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>>;

    /// Gives a file another name, replacing one of that name.
    ///
    /// # Errors
    /// What the system says.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    ///
    /// # Errors
    /// What the system says.
    fn sync_folder(&mut self, path: &Path) -> io::Result<()>;

    /// Deletes a file.
    ///
    /// # Errors
    /// What the system says.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// A file that is being written, from front to back.
pub trait DiskFile: Send {
    /// Appends bytes, all of them.
    ///
    /// # Errors
    /// What the system says: then nothing of the file counts.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Makes all that was appended durable.
    ///
    /// # Errors
    /// The error of the system: then the contents of the disk are unknown.
    fn sync(&mut self) -> io::Result<()>;
}

/// The disk of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn create(&mut self, path: &Path) -> io::Result<Box<dyn DiskFile>> {
        Ok(Box::new(permissions::create(path)?))
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_folder(&mut self, path: &Path) -> io::Result<()> {
        File::open(path)?.sync_all()
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}

impl DiskFile for File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}
