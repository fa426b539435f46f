//! A cursor over serialised bytes that believes no length.

use super::BlockError;

/// Reads the consensus serialisation from a slice; what it hands out borrows from that slice.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// Returns the count of bytes that were read.
    pub(super) const fn position(&self) -> usize {
        self.at
    }

    /// The bytes read since an earlier position.
    pub(super) fn since(&self, start: usize) -> &'a [u8] {
        &self.bytes[start..self.at]
    }

    pub(super) const fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    pub(super) fn take(&mut self, count: usize, what: &'static str) -> Result<&'a [u8], BlockError> {
        let end = self.at.checked_add(count).filter(|end| *end <= self.bytes.len());
        let end = end.ok_or(BlockError::Truncated { what, at: self.bytes.len() })?;
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    pub(super) fn array<const N: usize>(&mut self, what: &'static str) -> Result<[u8; N], BlockError> {
        Ok(self.take(N, what)?.try_into().expect("as many bytes as were asked for"))
    }

    pub(super) fn u32(&mut self, what: &'static str) -> Result<u32, BlockError> {
        Ok(u32::from_le_bytes(self.array(what)?))
    }

    pub(super) fn u64(&mut self, what: &'static str) -> Result<u64, BlockError> {
        Ok(u64::from_le_bytes(self.array(what)?))
    }

    /// A variable-length integer in its one shortest form.
    fn compact_size(&mut self, what: &'static str) -> Result<u64, BlockError> {
        let start = self.at;
        let [first] = self.array(what)?;
        let (value, least) = match first {
            0xfd => (u64::from(u16::from_le_bytes(self.array(what)?)), 0xfd),
            0xfe => (u64::from(self.u32(what)?), 0x1_0000),
            0xff => (self.u64(what)?, 0x1_0000_0000),
            small => (u64::from(small), 0),
        };
        if value < least { Err(BlockError::LongCount { what, at: start }) } else { Ok(value) }
    }

    /// A number of items, each of which takes at least `least` bytes: more than what is left could hold is a forgery.
    pub(super) fn count(&mut self, least: usize, what: &'static str) -> Result<usize, BlockError> {
        let start = self.at;
        let count = self.compact_size(what)?;
        match usize::try_from(count) {
            Ok(fits) if fits <= self.left() / least => Ok(fits),
            _ => Err(BlockError::ForgedCount { what, at: start, count, left: self.left() }),
        }
    }

    /// A script or another run of bytes with its length before it.
    pub(super) fn run(&mut self, what: &'static str) -> Result<&'a [u8], BlockError> {
        let length = self.count(1, what)?;
        self.take(length, what)
    }
}
