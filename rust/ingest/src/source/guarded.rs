//! A limit on what a parser gathers that has none of its own.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes that a parser may have read beyond the part that it is at, because it reads into a buffer.
const READ_AHEAD: u64 = 1 << 17;

/// A reader that fails with [`io::ErrorKind::FileTooLarge`] where one part of the content is longer than the limit.
pub(super) struct Guarded {
    inner: Box<dyn Read + Send>,
    read: u64,
    allowed: Arc<AtomicU64>,
}

/// The parser's side of a [`Guarded`] reader.
pub(super) struct Guard {
    allowed: Arc<AtomicU64>,
    margin: u64,
}

impl Guarded {
    pub(super) fn new(inner: Box<dyn Read + Send>, limit: usize) -> (Self, Guard) {
        let margin = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(READ_AHEAD);
        let allowed = Arc::new(AtomicU64::new(margin));
        (Self { inner, read: 0, allowed: Arc::clone(&allowed) }, Guard { allowed, margin })
    }
}

impl Guard {
    /// The next part begins there.
    pub(super) fn allow_from(&self, byte: u64) {
        self.allowed.store(byte.saturating_add(self.margin), Ordering::Relaxed);
    }
}

impl Read for Guarded {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.read > self.allowed.load(Ordering::Relaxed) {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        let count = self.inner.read(buffer)?;
        self.read += u64::try_from(count).unwrap_or(0);
        Ok(count)
    }
}
