//! The entries of an e2store container: a type, a length, and as many bytes.

use std::io::{self, BufReader, Read};

use snap::read::FrameDecoder;

use super::AGAIN;
use crate::IngestError;
use crate::error::Place;
use crate::source::Input;

/// The types of entries.
pub(super) mod kind {
    pub const EMPTY: u16 = 0;
    pub const HEADER: u16 = 0x03;
    pub const BODY: u16 = 0x04;
    pub const RECEIPTS: u16 = 0x05;
    pub const TOTAL_DIFFICULTY: u16 = 0x06;
    pub const ACCUMULATOR: u16 = 0x07;
    pub const SLIM_RECEIPTS: u16 = 0x0a;
    pub const PROOF: u16 = 0x0b;
    pub const VERSION: u16 = 0x3265;
    pub const BLOCK_INDEX: u16 = 0x3266;
    pub const DYNAMIC_INDEX: u16 = 0x3267;
}

/// The bytes before the content of an entry: type, length, and two that are zero.
const HEAD: usize = 8;

/// The option that raises the limit of an entry.
const LIMIT: &str = "--max-document-bytes";

/// An entry, and the byte that it begins at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Entry {
    pub(super) kind: u16,
    pub(super) at: u64,
    pub(super) length: u32,
}

impl Entry {
    /// The byte behind it.
    pub(super) fn end(self) -> u64 {
        self.at + HEAD as u64 + u64::from(self.length)
    }
}

fn head_of(bytes: [u8; HEAD]) -> (u16, u32, u16) {
    let [kind0, kind1, length @ .., zero0, zero1] = bytes;
    (u16::from_le_bytes([kind0, kind1]), u32::from_le_bytes(length), u16::from_le_bytes([zero0, zero1]))
}

/// The types of the entries in the beginning of a file, as far as it shows where they begin.
pub(super) fn kinds(head: &[u8]) -> impl Iterator<Item = u16> {
    let mut at = 0_usize;
    std::iter::from_fn(move || {
        let bytes = head.get(at..)?.first_chunk::<HEAD>()?;
        let (kind, length, zero) = head_of(*bytes);
        at = at.checked_add(HEAD)?.checked_add(usize::try_from(length).ok()?)?;
        (zero == 0).then_some(kind)
    })
}

/// The decompressed content of the entry behind the version, as far as it is in the beginning of a file.
pub(super) fn first_content(head: &[u8]) -> Option<Vec<u8>> {
    const MAX: u64 = 1 << 16;
    let entry = head.get(HEAD..)?;
    let (_, length, _) = head_of(*entry.first_chunk::<HEAD>()?);
    let packed = entry.get(HEAD..)?.get(..usize::try_from(length).ok()?)?;
    let mut content = Vec::new();
    FrameDecoder::new(packed).take(MAX).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Reads the entries of a file from the first on.
pub(super) struct Entries<'a> {
    input: &'a Input,
    reader: BufReader<Box<dyn Read + Send>>,
    at: u64,
}

impl<'a> Entries<'a> {
    pub(super) fn open(input: &'a Input) -> Result<Self, IngestError> {
        Ok(Self { input, reader: BufReader::with_capacity(1 << 17, input.open()?), at: 0 })
    }

    /// Reads the head of the next entry; `None` at the end of the file.
    pub(super) fn next_entry(&mut self) -> Result<Option<Entry>, IngestError> {
        let mut bytes = Vec::with_capacity(HEAD);
        self.up_to(HEAD as u64, &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let at = self.at;
        let head: [u8; HEAD] = bytes.try_into().map_err(|_| self.cut_off(at))?;
        self.at += HEAD as u64;
        let (kind, length, zero) = head_of(head);
        if zero == 0 {
            return Ok(Some(Entry { kind, at, length }));
        }
        let what = format!("an entry of type 0x{kind:04x} has {zero} where zero is expected; {AGAIN}");
        Err(self.input.damaged(Some(Place::Byte(at)), what))
    }

    /// Reads the content of the entry whose head was read.
    pub(super) fn content(&mut self, entry: Entry) -> Result<Vec<u8>, IngestError> {
        let limit = self.input.bounds().document_bytes;
        if usize::try_from(entry.length).map_or(true, |length| length > limit) {
            return Err(self.input.too_large(Some(Place::Byte(entry.at)), "entry", limit, LIMIT));
        }
        let mut bytes = Vec::new();
        self.up_to(entry.length.into(), &mut bytes)?;
        self.at += bytes.len() as u64;
        if self.at == entry.end() { Ok(bytes) } else { Err(self.cut_off(entry.at)) }
    }

    /// Passes over the content of the entry whose head was read.
    pub(super) fn skip(&mut self, entry: Entry) -> Result<(), IngestError> {
        self.skip_to(entry.end(), entry.at)
    }

    /// Reads the entry that begins at a byte behind those that were read.
    pub(super) fn content_at(&mut self, at: u64) -> Result<(Entry, Vec<u8>), IngestError> {
        self.skip_to(at, at)?;
        let entry = self.next_entry()?.ok_or_else(|| self.cut_off(at))?;
        Ok((entry, self.content(entry)?))
    }

    fn skip_to(&mut self, end: u64, entry_at: u64) -> Result<(), IngestError> {
        let count = end - self.at;
        let skipped = io::copy(&mut (&mut self.reader).take(count), &mut io::sink());
        self.at += skipped.map_err(|error| self.input.io(error))?;
        if self.at == end { Ok(()) } else { Err(self.cut_off(entry_at)) }
    }

    fn up_to(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<(), IngestError> {
        (&mut self.reader).take(count).read_to_end(bytes).map_err(|error| self.input.io(error))?;
        Ok(())
    }

    fn cut_off(&self, at: u64) -> IngestError {
        let what = format!("it ends inside the entry that begins there: it was cut off; {AGAIN}");
        self.input.damaged(Some(Place::Byte(at)), what)
    }
}

/// Returns the content of an entry in snappy frames.
pub(super) fn decompressed(input: &Input, entry: Entry, packed: &[u8]) -> Result<Vec<u8>, IngestError> {
    let limit = input.bounds().document_bytes;
    let place = Some(Place::Byte(entry.at));
    let mut content = Vec::new();
    let mut decoder = FrameDecoder::new(packed).take(limit as u64 + 1);
    decoder.read_to_end(&mut content).map_err(|error| {
        input.damaged(place, format!("an entry of type 0x{:04x} is not in snappy frames: {error}; {AGAIN}", entry.kind))
    })?;
    if content.len() > limit {
        return Err(input.too_large(place, "decompressed entry", limit, LIMIT));
    }
    Ok(content)
}
