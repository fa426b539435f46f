//! Sections in progress: many grow at once, and none is known to be short.
//!
//! Each [`Part`] keeps its end in memory. When all parts of a [`Spool`] together pass the budget, whoever grows next
//! puts its end into an unnamed temporary file, which the system removes with the process. A part that is done is
//! copied into the segment file, in order.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::LedgerError;
use crate::error::Result;
use crate::external::Scratch;

/// The bytes that go to disk at once, so that they are read back in few pieces.
const PIECE: usize = 1 << 18;

/// The memory and the temporary file that sections in progress share.
pub(crate) struct Spool {
    folder: Option<PathBuf>,
    budget: u64,
    held: AtomicU64,
    file: Mutex<Option<(File, u64)>>,
}

impl Spool {
    /// All in memory.
    pub(crate) fn in_memory() -> Arc<Self> {
        Arc::new(Self { folder: None, budget: u64::MAX, held: AtomicU64::new(0), file: Mutex::new(None) })
    }

    /// Up to `budget` bytes in memory, the rest in an unnamed file in a folder.
    pub(crate) fn new(folder: PathBuf, budget: u64) -> Arc<Self> {
        Arc::new(Self { folder: Some(folder), budget, held: AtomicU64::new(0), file: Mutex::new(None) })
    }

    /// Half of the memory there is, for what works beside it needs some too.
    pub(crate) fn within(scratch: &Scratch) -> Arc<Self> {
        match scratch.place() {
            None => Self::in_memory(),
            Some(folder) => Self::new(folder.to_owned(), scratch.share(2).memory_bytes() as u64),
        }
    }

    /// Bytes now in memory.
    pub(crate) fn held(&self) -> u64 {
        self.held.load(Ordering::Relaxed)
    }

    fn is_over(&self) -> bool {
        self.folder.is_some() && self.held() > self.budget
    }

    fn with_file<T>(&self, work: impl FnOnce(&mut (File, u64)) -> std::io::Result<T>) -> Result<T> {
        let folder = self.folder.clone().unwrap_or_default();
        let failed =
            |source| LedgerError::Io { action: "cannot use a temporary file in", path: folder.clone(), source };
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let file = match &mut *file {
            Some(file) => file,
            none => none.insert((tempfile::tempfile_in(&folder).map_err(failed)?, 0)),
        };
        work(file).map_err(failed)
    }
}

/// A section in progress.
pub(crate) struct Part {
    spool: Arc<Spool>,
    spilled: Vec<(u64, usize)>,
    end: Vec<u8>,
    length: u64,
}

impl Part {
    pub(crate) fn new(spool: &Arc<Spool>) -> Self {
        Self { spool: Arc::clone(spool), spilled: Vec::new(), end: Vec::new(), length: 0 }
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> u64 {
        self.length
    }

    pub(crate) fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.end.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        self.spool.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if self.end.len() >= PIECE && self.spool.is_over() {
            self.spill()?;
        }
        Ok(())
    }

    fn spill(&mut self) -> Result<()> {
        let end = std::mem::take(&mut self.end);
        let at = self.spool.with_file(|(file, length)| {
            let at = *length;
            file.seek(SeekFrom::Start(at))?;
            file.write_all(&end)?;
            *length += end.len() as u64;
            Ok(at)
        })?;
        self.spool.held.fetch_sub(end.len() as u64, Ordering::Relaxed);
        self.spilled.push((at, end.len()));
        // An end that was long would keep its memory, which is outside of the budget by then.
        self.end = Vec::with_capacity(PIECE);
        Ok(())
    }

    /// Hands all bytes on, in order and in pieces.
    pub(crate) fn drain(mut self, mut each: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        let mut piece = Vec::new();
        for (at, length) in std::mem::take(&mut self.spilled) {
            piece.resize(length, 0);
            self.spool.with_file(|(file, _)| {
                file.seek(SeekFrom::Start(at))?;
                file.read_exact(&mut piece)
            })?;
            each(&piece)?;
        }
        each(&self.end)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.spool.held.fetch_sub(self.end.len() as u64, Ordering::Relaxed);
    }
}
