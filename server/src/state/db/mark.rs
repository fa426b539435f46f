//! The mark: a small file beside a `SQLite` database with the number of the last commit that was told as done. Who writes
//! takes turns by it.
//!
//! A log of commits that was damaged on the disk reads like one that ends earlier: `SQLite` goes back to the last commit
//! that is whole and says nothing. The mark tells. It is written once the commit is synced and never synced itself: after
//! a loss of power it may be older than the database, never newer.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Read;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::state::StateError;
use crate::state::secrets::io_error;

/// What the file begins with.
const BEGIN: [u8; 8] = *b"HWMARK01";
const LENGTH: usize = 20;

/// An open mark.
#[derive(Debug)]
pub(super) struct Mark {
    file: File,
}

impl Mark {
    /// Where the mark of a database is.
    pub fn of(database: &Path) -> PathBuf {
        database.with_extension("mark")
    }

    /// Opens the mark of a database, and gives the number that it holds; 0 where it holds none that can be read.
    pub fn open(database: &Path) -> Result<(Self, i64), StateError> {
        let path = Self::of(database);
        let failed = |source| io_error("cannot open", &path)(source);
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let mut bytes = Vec::with_capacity(LENGTH);
        file.read_to_end(&mut bytes).map_err(failed)?;
        Ok((Self { file }, number(&bytes).unwrap_or(0)))
    }

    /// The turn to begin a transaction, until it is dropped. `SQLite` knows no turns: a writer that comes back at once
    /// finds the database free each time, and another that asks now and then may never do so. Who waits longer than any
    /// turn takes goes on without.
    pub fn turn(&self) -> Turn<'_> {
        const LONGEST: Duration = Duration::from_secs(5);
        const PAUSE: Duration = Duration::from_micros(200);
        let mut since = None;
        while let Err(TryLockError::WouldBlock) = self.file.try_lock() {
            if since.get_or_insert_with(Instant::now).elapsed() > LONGEST {
                break;
            }
            thread::sleep(PAUSE);
        }
        Turn(&self.file)
    }

    /// Notes a commit. One that cannot be noted leaves the older mark, which sees less.
    pub fn note(&self, number: i64) {
        if let Err(error) = self.file.write_all_at(&bytes(number), 0) {
            tracing::debug!(%error, "the mark of commits could not be written");
        }
    }
}

/// A turn of [`Mark::turn`].
pub(super) struct Turn<'a>(&'a File);

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let Err(error) = self.0.unlock() {
            tracing::debug!(%error, "a turn could not be given up");
        }
    }
}

fn bytes(number: i64) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    bytes[..8].copy_from_slice(&BEGIN);
    bytes[8..16].copy_from_slice(&number.to_le_bytes());
    let sum = crc32fast::hash(&bytes[..16]);
    bytes[16..].copy_from_slice(&sum.to_le_bytes());
    bytes
}

fn number(found: &[u8]) -> Option<i64> {
    let number = i64::from_le_bytes(found.get(8..16)?.try_into().ok()?);
    (found == bytes(number)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_was_changed_by_a_bit_says_nothing() {
        let whole = bytes(0x0123_4567_89ab);
        assert_eq!(number(&whole), Some(0x0123_4567_89ab));
        for bit in 0..LENGTH * 8 {
            let mut changed = whole;
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(number(&changed), None, "bit {bit}");
        }
        assert_eq!((number(&[]), number(&whole[..19])), (None, None));
    }
}
