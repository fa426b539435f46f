//! Writing a segment file in pieces.

use std::io::Write;
use std::path::PathBuf;

use bytemuck::Pod;
use headwater_types::{Chain, Network};

use super::super::section::Section;
use super::super::spool::Part;
use super::{ALIGN, Entry, Footer, Header, PAGE, Trailer};
use crate::LedgerError;
use crate::error::Result;

/// Bytes that are written and checked at a time.
const PIECE: usize = 1 << 17;

/// Writes a segment file to a sink, from front to back, with the checksums of its pages.
///
/// Sections are put whole ([`SegmentFile::put`]), from a [`Part`] that grew meanwhile ([`SegmentFile::part`]), or in
/// pieces as they come ([`StreamedSection`]); the file has them in that order. What is held: one page, the directory,
/// and four bytes per page.
pub(crate) struct SegmentFile<'a> {
    sink: &'a mut dyn Write,
    written: u64,
    page: u32,
    checks: Vec<u32>,
    entries: Vec<Entry>,
}

impl<'a> SegmentFile<'a> {
    /// Begins a file about one chain.
    pub(crate) fn begin(sink: &'a mut dyn Write, chain: Chain, network: Network) -> Result<Self> {
        Self::begin_under(sink, &Header::new(Some(chain), network))
    }

    /// Begins a file about all chains.
    pub(crate) fn begin_for_all_chains(sink: &'a mut dyn Write) -> Result<Self> {
        Self::begin_under(sink, &Header::new(None, Network::Mainnet))
    }

    fn begin_under(sink: &'a mut dyn Write, header: &Header) -> Result<Self> {
        let mut this = Self { sink, written: 0, page: 0, checks: Vec::new(), entries: Vec::new() };
        this.append(bytemuck::bytes_of(header))?;
        Ok(this)
    }

    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        // Everyone who looks at a piece does so while it is in the cache.
        bytes.chunks(PIECE).try_for_each(|piece| self.append_piece(piece))
    }

    fn append_piece(&mut self, mut bytes: &[u8]) -> Result<()> {
        self.send(bytes)?;
        while !bytes.is_empty() {
            let in_page = usize::try_from(self.written % PAGE as u64).expect("less than a page");
            let (now, later) = bytes.split_at(bytes.len().min(PAGE - in_page));
            self.page = crc32c::crc32c_append(self.page, now);
            self.written += now.len() as u64;
            if in_page + now.len() == PAGE {
                self.checks.push(self.page);
                self.page = 0;
            }
            bytes = later;
        }
        Ok(())
    }

    fn send(&mut self, bytes: &[u8]) -> Result<()> {
        self.sink.write_all(bytes).map_err(|source| LedgerError::Io {
            action: "cannot write",
            path: PathBuf::from("segment"),
            source,
        })
    }

    fn align(&mut self, to: u64) -> Result<()> {
        let rest = self.written.next_multiple_of(to) - self.written;
        self.append(&[0; PAGE][..usize::try_from(rest).expect("at most a page")])
    }

    fn enter<T>(&mut self, section: Section<T>, length: u64) -> Result<()> {
        self.align(if length > PAGE as u64 { PAGE as u64 } else { ALIGN as u64 })?;
        self.entries.push(Entry::new(section, self.written, length / size_of::<T>() as u64));
        Ok(())
    }

    /// Adds a section. Empty ones are written too: a missing section is damage.
    pub(crate) fn put<T: Pod>(&mut self, section: Section<T>, values: &[T]) -> Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.enter(section, bytes.len() as u64)?;
        self.append(bytes)
    }

    /// Adds a section that grew in pieces.
    pub(crate) fn part<T: Pod>(&mut self, section: Section<T>, part: Part) -> Result<()> {
        self.enter(section, part.len())?;
        part.drain(|piece| self.append(piece))
    }

    /// Ends the file; the number of its bytes.
    pub(crate) fn finish(mut self) -> Result<u64> {
        self.align(ALIGN as u64)?;
        let footer = Footer { directory: self.written, sections: self.entries.len() as u64, reserved: [0; 6] };
        let entries = std::mem::take(&mut self.entries);
        self.append(bytemuck::cast_slice(&entries))?;
        self.align(ALIGN as u64)?;
        self.append(bytemuck::bytes_of(&footer))?;
        if !self.written.is_multiple_of(PAGE as u64) {
            self.checks.push(self.page);
        }
        let checks = std::mem::take(&mut self.checks);
        let checks: &[u8] = bytemuck::cast_slice(&checks);
        let trailer = Trailer::of(self.written, checks);
        self.send(checks)?;
        self.send(bytemuck::bytes_of(&trailer))?;
        Ok(trailer.length)
    }
}

/// The one section that goes into the file while it grows: it waits neither in memory nor in a temporary file. Nothing
/// else may be put from its first byte to its end.
pub(crate) struct StreamedSection<T> {
    section: Section<T>,
    /// Its beginning, once some of it is written.
    start: Option<u64>,
    waiting: Vec<u8>,
    length: u64,
}

impl<T: Pod> StreamedSection<T> {
    pub(crate) const fn new(section: Section<T>) -> Self {
        Self { section, start: None, waiting: Vec::new(), length: 0 }
    }

    /// Bytes so far.
    pub(crate) const fn len(&self) -> u64 {
        self.length
    }

    pub(crate) fn write(&mut self, bytes: &[u8], out: &mut SegmentFile<'_>) -> Result<()> {
        self.waiting.extend_from_slice(bytes);
        self.length += bytes.len() as u64;
        if self.waiting.len() < PIECE {
            return Ok(());
        }
        if self.start.is_none() {
            out.align(PAGE as u64)?;
            self.start = Some(out.written);
        }
        debug_assert_eq!(self.start.map(|start| start + self.length), Some(out.written + self.waiting.len() as u64));
        out.append(&self.waiting)?;
        self.waiting.clear();
        Ok(())
    }

    /// Ends the section.
    pub(crate) fn end(&mut self, out: &mut SegmentFile<'_>) -> Result<()> {
        let Some(start) = self.start else {
            out.enter(self.section, self.length)?;
            return out.append(&self.waiting);
        };
        out.entries.push(Entry::new(self.section, start, self.length / size_of::<T>() as u64));
        out.append(&self.waiting)
    }
}
