//! The bytes of a segment: a memory map of an immutable file, or an aligned copy in memory.
//!
//! The only unsafe code of the ledger lives here.

use std::fs::File;
use std::ops::Range;
use std::path::Path;

use memmap2::{Advice, Mmap, UncheckedAdvice};

use crate::LedgerError;

/// Bytes whose start is aligned for every element type of a segment.
pub(super) enum Bytes {
    Mapped(Mmap),
    Owned { words: Vec<u128>, length: usize },
}

impl Bytes {
    /// Maps a file, advised for random access: with the usual read-ahead one cold page of postings reads megabytes.
    pub(super) fn map(path: &Path) -> Result<Self, LedgerError> {
        let failed =
            |action| move |source: std::io::Error| LedgerError::Io { action, path: path.to_path_buf(), source };
        let file = File::open(path).map_err(failed("cannot open"))?;
        if file.metadata().map_err(failed("cannot read the size of"))?.len() == 0 {
            return Ok(Self::Owned { words: Vec::new(), length: 0 });
        }
        #[expect(unsafe_code, reason = "a map is sound while nobody writes to or cuts the file")]
        // SAFETY: segment files are written under another name, synced, renamed, and never changed afterwards; only
        // unlisted ones are removed, and removing a file leaves its maps whole.
        let map = unsafe { Mmap::map(&file) }.map_err(failed("cannot map"))?;
        // Advice only: where the system supports none, reading still works.
        let _ = map.advise(Advice::Random);
        Ok(Self::Mapped(map))
    }

    /// A copy in memory.
    pub(super) fn copy(bytes: &[u8]) -> Self {
        let mut words = vec![0_u128; bytes.len().div_ceil(size_of::<u128>())];
        bytemuck::cast_slice_mut::<u128, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self::Owned { words, length: bytes.len() }
    }

    pub(super) fn as_slice(&self) -> &[u8] {
        match self {
            Self::Mapped(map) => map,
            Self::Owned { words, length } => &bytemuck::cast_slice(words)[..*length],
        }
    }

    /// Gives the memory of pages that were read back to the system; what is read again comes from the file.
    pub(super) fn release(&self) {
        if let Self::Mapped(map) = self {
            #[expect(unsafe_code, reason = "dropped pages must come back as they were")]
            // SAFETY: the map is of a file, shared and never written to, so that a page dropped is read again as it was.
            let _ = unsafe { map.unchecked_advise(UncheckedAdvice::DontNeed) };
        }
    }

    /// Announces that a range is about to be read whole.
    pub(super) fn will_need(&self, range: Range<usize>) {
        if let Self::Mapped(map) = self
            && range.end <= map.len()
            && !range.is_empty()
        {
            let _ = map.advise_range(Advice::WillNeed, range.start, range.len());
        }
    }
}
