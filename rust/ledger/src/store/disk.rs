//! The one place where a store touches the disk for writing, small enough to put a faulty disk in its place.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What a writer needs of a disk.
pub trait Disk: Send {
    /// Makes a folder and those above it, where they are missing.
    ///
    /// # Errors
    /// What the system says.
    fn create_folder(&mut self, path: &Path) -> io::Result<()>;

    /// Writes a new file, replacing one of that name, and syncs it.
    ///
    /// # Errors
    /// Whether the write or the sync failed: after a failed write nothing is there that counts, after a failed sync
    /// nobody knows.
    fn write_synced(&mut self, path: &Path, bytes: &[u8]) -> Result<(), WriteFault>;

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

/// How far a write came.
#[derive(Debug)]
pub enum WriteFault {
    /// The bytes could not be written: no space, no permission.
    Write(io::Error),
    /// They were written, and whether they are on the disk is unknown.
    Sync(io::Error),
}

/// The disk of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemDisk;

impl Disk for SystemDisk {
    fn create_folder(&mut self, path: &Path) -> io::Result<()> {
        fs::create_dir_all(path)
    }

    fn write_synced(&mut self, path: &Path, bytes: &[u8]) -> Result<(), WriteFault> {
        let mut file = File::create(path).map_err(WriteFault::Write)?;
        file.write_all(bytes).map_err(WriteFault::Write)?;
        file.sync_all().map_err(WriteFault::Sync)
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
