//! A file of a store while it is written: in pieces, its length and digest taken on the way.

use std::io::{self, Write};

use xxhash_rust::xxh3::Xxh3;

use super::disk::DiskFile;

/// Bytes that go to the disk at a time.
const PIECE_BYTES: usize = 1 << 18;

/// Writes to a file of the disk, and keeps the first error: what the writer above makes of it does not matter.
pub(super) struct Sink {
    file: Box<dyn DiskFile>,
    piece: Vec<u8>,
    digest: Xxh3,
    length: u64,
    fault: Option<io::Error>,
}

impl Sink {
    pub(super) fn new(file: Box<dyn DiskFile>) -> Self {
        Self { file, piece: Vec::new(), digest: Xxh3::new(), length: 0, fault: None }
    }

    /// The file with all its bytes appended, how many those are, and their digest.
    pub(super) fn finish(mut self) -> io::Result<(Box<dyn DiskFile>, u64, u128)> {
        let flushed = self.flush();
        match self.fault {
            Some(fault) => Err(fault),
            None => flushed.map(|()| (self.file, self.length, self.digest.digest128())),
        }
    }

    /// The error of the disk, when that is what stopped the writing.
    pub(super) fn into_fault(self) -> Option<io::Error> {
        self.fault
    }

    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.digest.update(bytes);
        self.length += bytes.len() as u64;
        self.file.append(bytes).map_err(|source| {
            let reported = io::Error::new(source.kind(), source.to_string());
            self.fault.get_or_insert(source);
            reported
        })
    }
}

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.piece.len() + bytes.len() > PIECE_BYTES {
            self.flush()?;
        }
        if bytes.len() > PIECE_BYTES {
            self.append(bytes)?;
        } else {
            self.piece.extend_from_slice(bytes);
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut piece = std::mem::take(&mut self.piece);
        let outcome = if piece.is_empty() { Ok(()) } else { self.append(&piece) };
        piece.clear();
        self.piece = piece;
        outcome
    }
}
