//! Sorting what does not fit into memory: runs of records sorted in memory and spilled to temporary files, merged on
//! reading.
//!
//! Records are written as they lie in memory, so a sort costs one pass of writing and one of reading beyond the
//! budget, and nothing below it. Temporary files have no name (or lose it with their handle): a process that is killed
//! leaves none behind.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use rayon::slice::ParallelSliceMut;

use crate::error::Result;
use crate::{Cancel, LedgerError};

/// The folder for data that does not fit into memory, and the memory there is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scratch {
    folder: Option<PathBuf>,
    memory_bytes: usize,
}

impl Scratch {
    /// The memory that work of a store takes by default: 1 GiB.
    pub const MEMORY_BYTES: usize = 1 << 30;

    /// Everything stays in memory, whatever it takes.
    #[must_use]
    pub const fn memory() -> Self {
        Self { folder: None, memory_bytes: usize::MAX }
    }

    /// About `memory_bytes` of memory; the rest goes to temporary files in `folder`, which must be there.
    #[must_use]
    pub fn folder(folder: impl Into<PathBuf>, memory_bytes: usize) -> Self {
        Self { folder: Some(folder.into()), memory_bytes }
    }

    /// The memory there is.
    #[must_use]
    pub const fn memory_bytes(&self) -> usize {
        self.memory_bytes
    }

    /// The folder of temporary files; `None` when everything stays in memory.
    #[must_use]
    pub fn place(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The same place with one of `parts` equal shares of the memory, for work that has several uses for it at once.
    #[must_use]
    pub fn share(&self, parts: usize) -> Self {
        let memory_bytes = match self.folder {
            None => usize::MAX,
            Some(_) => self.memory_bytes / parts.max(1),
        };
        Self { folder: self.folder.clone(), memory_bytes }
    }

    /// A new temporary file without a name; `None` when everything stays in memory.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn file(&self) -> Result<Option<File>> {
        let Some(folder) = &self.folder else { return Ok(None) };
        tempfile::tempfile_in(folder)
            .map(Some)
            .map_err(|source| failed("cannot make a temporary file in", folder, source))
    }

    /// Names this place in the error of a read or write of one of its files.
    #[must_use]
    pub fn error(&self, action: &'static str, source: io::Error) -> LedgerError {
        failed(action, self.folder.as_deref().unwrap_or(Path::new("memory")), source)
    }
}

fn failed(action: &'static str, folder: &Path, source: io::Error) -> LedgerError {
    LedgerError::Io { action, path: folder.to_owned(), source }
}

/// Runs merged at a time: what one merge holds open.
const FAN_IN: usize = 64;
/// Records between two looks at the cancel token.
const RECORDS_PER_CHECK: usize = 4096;
/// Least and most that is read from a run at a time.
const READ_BYTES: (usize, usize) = (64 << 10, 4 << 20);

/// Sorts records of a fixed size within a budget of memory.
///
/// The order must distinguish any two records with different bytes: then the outcome is the same whatever the budget.
///
/// ```
/// use headwater_ledger::Cancel;
/// use headwater_ledger::external::{ExternalSorter, Scratch};
///
/// let mut sorter = ExternalSorter::new(&Scratch::memory(), &Cancel::new());
/// for number in [3_u64, 1, 2] {
///     sorter.push(number)?;
/// }
/// let sorted = sorter.finish()?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(sorted, [1, 2, 3]);
/// # Ok::<(), headwater_ledger::LedgerError>(())
/// ```
pub struct ExternalSorter<T> {
    scratch: Scratch,
    cancel: Cancel,
    /// Records that fit into memory.
    limit: usize,
    buffer: Vec<T>,
    /// Runs by how often their records were merged already.
    levels: Vec<Vec<Run>>,
    length: u64,
}

/// A sorted run in a file of its own.
struct Run {
    file: File,
    length: u64,
}

impl<T: Pod + Ord + Send> ExternalSorter<T> {
    /// A sorter without records.
    #[must_use]
    pub fn new(scratch: &Scratch, cancel: &Cancel) -> Self {
        let limit = (scratch.memory_bytes / size_of::<T>().max(1)).max(2);
        Self {
            scratch: scratch.clone(),
            cancel: cancel.clone(),
            limit,
            buffer: Vec::new(),
            levels: Vec::new(),
            length: 0,
        }
    }

    /// Takes a record.
    ///
    /// # Errors
    /// When a run cannot be written, or the work is cancelled.
    pub fn push(&mut self, record: T) -> Result<()> {
        if self.buffer.len() == self.limit {
            self.spill()?;
        }
        if self.buffer.len() == self.buffer.capacity() {
            // Growth by doubling, but never past the limit.
            let more = self.buffer.len().clamp(1024, 1 << 26).min(self.limit - self.buffer.len());
            self.buffer.reserve_exact(more);
        }
        self.buffer.push(record);
        self.length += 1;
        Ok(())
    }

    /// Records taken so far.
    #[must_use]
    pub const fn len(&self) -> u64 {
        self.length
    }

    /// Returns whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.length == 0
    }

    fn spill(&mut self) -> Result<()> {
        self.cancel.check()?;
        self.buffer.par_sort_unstable();
        let Some(mut file) = self.scratch.file()? else { return Ok(()) };
        file.write_all(bytemuck::cast_slice(&self.buffer)).map_err(|source| self.unwritten(source))?;
        let run = Run { file, length: self.buffer.len() as u64 };
        self.buffer.clear();
        self.keep(run, 0)
    }

    /// Files a run; a full level becomes one run of the next.
    fn keep(&mut self, run: Run, level: usize) -> Result<()> {
        if self.levels.len() == level {
            self.levels.push(Vec::new());
        }
        self.levels[level].push(run);
        if self.levels[level].len() < FAN_IN {
            return Ok(());
        }
        let runs = std::mem::take(&mut self.levels[level]);
        // The buffer is empty now, its memory is not given back: what a merge reads at a time is little beside it.
        let merged = self.merge(runs)?;
        self.keep(merged, level + 1)
    }

    fn merge(&self, runs: Vec<Run>) -> Result<Run> {
        let length = runs.iter().map(|run| run.length).sum();
        let mut sorted: SortedRecords<T> = SortedRecords::of(runs, Vec::new(), &self.scratch, &self.cancel)?;
        let mut file = self.scratch.file()?.expect("there are runs only where there is a folder");
        let mut out: Vec<T> = Vec::with_capacity(READ_BYTES.1 / size_of::<T>().max(1) + 1);
        loop {
            let record = sorted.next().transpose()?;
            out.extend(record);
            if out.len() == out.capacity() || record.is_none() {
                file.write_all(bytemuck::cast_slice(&out)).map_err(|source| self.unwritten(source))?;
                out.clear();
            }
            if record.is_none() {
                return Ok(Run { file, length });
            }
        }
    }

    fn unwritten(&self, source: io::Error) -> LedgerError {
        self.scratch.error("cannot write a temporary file in", source)
    }

    /// All records in order.
    ///
    /// # Errors
    /// When a run cannot be read or written, or the work is cancelled.
    pub fn finish(mut self) -> Result<SortedRecords<T>> {
        self.cancel.check()?;
        self.buffer.par_sort_unstable();
        let mut runs: Vec<Run> = std::mem::take(&mut self.levels).into_iter().flatten().collect();
        while runs.len() > FAN_IN {
            let rest = runs.split_off(FAN_IN);
            let merged = self.merge(runs)?;
            runs = rest;
            runs.push(merged);
        }
        let buffer = std::mem::take(&mut self.buffer);
        SortedRecords::of(runs, buffer, &self.scratch, &self.cancel)
    }
}

/// The records of an [`ExternalSorter`] in order.
pub struct SortedRecords<T> {
    /// The smallest record of each source that has one, and the place of the source.
    heads: BinaryHeap<Reverse<(T, usize)>>,
    sources: Vec<Source<T>>,
    scratch: Scratch,
    cancel: Cancel,
    given: usize,
    left: u64,
}

/// Records of one run, read in pieces; those in memory are the last source, with nothing left to read.
struct Source<T> {
    run: Option<Run>,
    piece: Vec<T>,
    at: usize,
}

impl<T: Pod + Ord> SortedRecords<T> {
    fn of(runs: Vec<Run>, buffer: Vec<T>, scratch: &Scratch, cancel: &Cancel) -> Result<Self> {
        let left = runs.iter().map(|run| run.length).sum::<u64>() + buffer.len() as u64;
        let share = (scratch.memory_bytes / (4 * runs.len().max(1))).clamp(READ_BYTES.0, READ_BYTES.1);
        let records = share / size_of::<T>().max(1) + 1;
        let mut sources = Vec::with_capacity(runs.len() + 1);
        for mut run in runs {
            run.file
                .seek(SeekFrom::Start(0))
                .map_err(|source| scratch.error("cannot read a temporary file in", source))?;
            sources.push(Source { run: Some(run), piece: Vec::with_capacity(records), at: 0 });
        }
        sources.push(Source { run: None, piece: buffer, at: 0 });
        let mut this = Self {
            heads: BinaryHeap::with_capacity(sources.len()),
            sources,
            scratch: scratch.clone(),
            cancel: cancel.clone(),
            given: 0,
            left,
        };
        for place in 0..this.sources.len() {
            if let Some(head) = this.sources[place].next(&this.scratch)? {
                this.heads.push(Reverse((head, place)));
            }
        }
        Ok(this)
    }

    /// Records that are still to come.
    #[must_use]
    pub const fn left(&self) -> u64 {
        self.left
    }

    fn advance(&mut self) -> Result<Option<T>> {
        let Some(mut top) = self.heads.peek_mut() else { return Ok(None) };
        if self.given.is_multiple_of(RECORDS_PER_CHECK) {
            self.cancel.check()?;
        }
        let Reverse((record, place)) = *top;
        match self.sources[place].next(&self.scratch)? {
            Some(head) => *top = Reverse((head, place)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
        self.given += 1;
        self.left -= 1;
        Ok(Some(record))
    }
}

impl<T: Pod> Source<T> {
    fn next(&mut self, scratch: &Scratch) -> Result<Option<T>> {
        if self.at == self.piece.len() {
            let Some(run) = self.run.as_mut().filter(|run| run.length > 0) else { return Ok(None) };
            let count = usize::try_from(run.length).unwrap_or(usize::MAX).min(self.piece.capacity());
            self.piece.resize(count, T::zeroed());
            run.file
                .read_exact(bytemuck::cast_slice_mut(&mut self.piece))
                .map_err(|source| scratch.error("cannot read a temporary file in", source))?;
            run.length -= count as u64;
            self.at = 0;
        }
        self.at += 1;
        Ok(Some(self.piece[self.at - 1]))
    }
}

impl<T: Pod + Ord> Iterator for SortedRecords<T> {
    type Item = Result<T>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = self.advance();
        if next.is_err() {
            // Whoever continues after an error must not take what is left for the whole.
            self.heads.clear();
        }
        next.transpose()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(records: &[u64], scratch: &Scratch) -> Vec<u64> {
        let mut sorter = ExternalSorter::new(scratch, &Cancel::new());
        records.iter().try_for_each(|record| sorter.push(*record)).unwrap();
        assert_eq!(sorter.len(), records.len() as u64);
        let sorted = sorter.finish().unwrap();
        assert_eq!(sorted.left(), records.len() as u64);
        sorted.collect::<Result<_>>().unwrap()
    }

    proptest! {
        #[test]
        fn whatever_the_budget_the_order_is_that_of_sort(
            records in prop::collection::vec(0..300_u64, 0..700),
            memory_bytes in 0..2000_usize,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let mut expected = records.clone();
            expected.sort_unstable();
            prop_assert_eq!(&sorted(&records, &Scratch::folder(folder.path(), memory_bytes)), &expected);
            prop_assert_eq!(&sorted(&records, &Scratch::memory()), &expected);
        }
    }

    #[test]
    fn sorter_merges_many_runs_in_levels_and_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let records: Vec<u64> = (0..20_000_u64).map(|number| number.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
        let mut expected = records.clone();
        expected.sort_unstable();
        // Two records to a run: 10,000 runs, three levels.
        assert_eq!(sorted(&records, &Scratch::folder(folder.path(), 16)), expected);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_sort_that_is_cancelled_stops() {
        let cancel = Cancel::new();
        let mut sorter = ExternalSorter::new(&Scratch::memory(), &cancel);
        sorter.push(1_u64).unwrap();
        let mut sorted = sorter.finish().unwrap();
        cancel.cancel();
        assert!(matches!(sorted.next(), Some(Err(LedgerError::Cancelled(_)))));
        assert!(sorted.next().is_none());
    }

    #[test]
    fn a_folder_that_is_gone_is_named() {
        let mut sorter = ExternalSorter::new(&Scratch::folder("/nowhere/at/all", 0), &Cancel::new());
        let outcome = (0..3_u64).try_for_each(|record| sorter.push(record));
        assert!(matches!(outcome, Err(LedgerError::Io { path, .. }) if path == Path::new("/nowhere/at/all")));
    }
}
