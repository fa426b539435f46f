//! The container of a segment: named sections, and a CRC-32C for every 4 KiB page of them.
//!
//! ```text
//! header, 64 bytes:   magic, format, network, chain
//! sections            each aligned to 64 bytes, to 4,096 when it is longer than a page
//! directory           48 bytes per section: name, element size, offset, count
//! footer, 64 bytes:   directory offset and count, so that a file is written from front to back
//! checksums           CRC-32C of each 4,096 bytes of all before it (the last page may be shorter)
//! trailer, 40 bytes:  where the checksums begin, length of the file, their CRC-32C, magic, own CRC-32C
//! ```
//!
//! Opening checks the trailer, the checksums, the header and the directory. Every other page is checked when it is
//! first touched, so a flipped bit is an error with its offset and never an answer, and opening does not read the
//! data. [`SegmentFile`] writes a file in pieces and holds none of it. Magic and trailer stay as they are in every format,
//! so that a file of another format is not taken for a damaged one. All numbers are little-endian.

mod column;
mod file;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use bytemuck::{Pod, Zeroable};
use headwater_types::{Chain, Network};

use super::map::Bytes;
use super::section::Section;
use crate::LedgerError;
use crate::error::Result;

pub(crate) use self::column::{Column, search, search_from};
pub(crate) use self::file::{SegmentFile, StreamedSection};

#[cfg(target_endian = "big")]
compile_error!("segments are read in place and little-endian");

/// The one format that is written and read.
const FORMAT: u32 = 3;
/// Bytes per checksum.
pub(super) const PAGE: usize = 4096;

const MAGIC: [u8; 8] = *b"HDWTRSEG";
const END_MAGIC: [u8; 8] = *b"HDWTREND";
const ALIGN: usize = 64;
const NAME: usize = 24;
const NETWORKS: [Network; 4] = [Network::Mainnet, Network::Testnet, Network::Signet, Network::Regtest];

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Header {
    magic: [u8; 8],
    format: u32,
    network: u32,
    chain: [u8; 16],
    reserved: [u64; 4],
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Entry {
    name: [u8; NAME],
    size: u64,
    offset: u64,
    count: u64,
}

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Trailer {
    checks: u64,
    length: u64,
    checks_crc: u32,
    reserved: u32,
    magic: [u8; 8],
    reserved_too: u32,
    own_crc: u32,
}

/// The end of the data.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Footer {
    directory: u64,
    sections: u64,
    reserved: [u64; 6],
}

impl Header {
    fn new(chain: Option<Chain>, network: Network) -> Self {
        let mut header = Self {
            magic: MAGIC,
            format: FORMAT,
            network: (0..).zip(NETWORKS).find(|&(_, known)| known == network).map_or(0, |(code, _)| code),
            chain: [0; 16],
            reserved: [0; 4],
        };
        let name = chain.map_or("", Chain::name);
        header.chain[..name.len()].copy_from_slice(name.as_bytes());
        header
    }
}

impl Entry {
    fn new<T>(section: Section<T>, offset: u64, count: u64) -> Self {
        let mut name = [0; NAME];
        name[..section.name().len()].copy_from_slice(section.name().as_bytes());
        Self { name, size: size_of::<T>() as u64, offset, count }
    }
}

impl Trailer {
    /// The end of a file whose checksums begin at a place.
    fn of(checks_at: u64, checks: &[u8]) -> Self {
        let mut trailer = Self {
            checks: checks_at,
            length: checks_at + (checks.len() + size_of::<Self>()) as u64,
            checks_crc: crc32c::crc32c(checks),
            reserved: 0,
            magic: END_MAGIC,
            reserved_too: 0,
            own_crc: 0,
        };
        trailer.own_crc = trailer.crc();
        trailer
    }

    fn crc(&self) -> u32 {
        crc32c::crc32c(&bytemuck::bytes_of(self)[..size_of::<Self>() - size_of::<u32>()])
    }
}

/// An open container.
pub(crate) struct Container {
    file: PathBuf,
    bytes: Bytes,
    data: usize,
    /// `None` for a file about all chains.
    chain: Option<Chain>,
    network: Network,
    entries: Vec<Entry>,
    checked: Vec<AtomicU64>,
}

impl Container {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        Self::read(path.to_path_buf(), Bytes::map(path)?)
    }

    pub(crate) fn from_bytes(name: &str, bytes: &[u8]) -> Result<Self> {
        Self::read(PathBuf::from(name), Bytes::copy(bytes))
    }

    fn read(file: PathBuf, bytes: Bytes) -> Result<Self> {
        let corrupt = |offset: usize, what: &str| LedgerError::Corrupt {
            file: file.clone(),
            offset: offset as u64,
            what: what.to_owned(),
        };
        let all = bytes.as_slice();
        if all.len() < size_of::<Header>() + size_of::<Trailer>() {
            return Err(corrupt(all.len(), "the file is too short for a segment"));
        }
        if all[..MAGIC.len()] != MAGIC {
            return Err(corrupt(0, "the file does not begin like a segment"));
        }
        let trailer_at = all.len() - size_of::<Trailer>();
        let trailer: Trailer = bytemuck::pod_read_unaligned(&all[trailer_at..]);
        if trailer.magic != END_MAGIC || trailer.own_crc != trailer.crc() || trailer.length != all.len() as u64 {
            return Err(corrupt(trailer_at, "the file does not end like a segment: it was cut short, or changed"));
        }
        let data = usize::try_from(trailer.checks).unwrap_or(usize::MAX);
        let pages = data.div_ceil(PAGE);
        if data < size_of::<Header>() || !data.is_multiple_of(ALIGN) || data.checked_add(pages * 4) != Some(trailer_at)
        {
            return Err(corrupt(trailer_at, "the trailer names a wrong place for the checksums"));
        }
        if crc32c::crc32c(&all[data..trailer_at]) != trailer.checks_crc {
            return Err(corrupt(data, "the checksums do not match their own checksum"));
        }
        let checked = (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        let mut this =
            Self { file, bytes, data, chain: None, network: Network::default(), entries: Vec::new(), checked };
        this.read_directory()?;
        Ok(this)
    }

    fn read_directory(&mut self) -> Result<()> {
        let header: Header = bytemuck::pod_read_unaligned(self.range(0..size_of::<Header>())?);
        if header.format != FORMAT {
            return Err(LedgerError::OtherFormat { path: self.file.clone(), found: header.format, expected: FORMAT });
        }
        let name = text(&header.chain);
        if !name.is_empty() {
            let chain = Chain::from_name(name);
            self.chain = Some(chain.ok_or_else(|| self.corrupt(16, format!("unknown chain {name:?}")))?);
        }
        self.network = usize::try_from(header.network)
            .ok()
            .and_then(|code| NETWORKS.get(code).copied())
            .ok_or_else(|| self.corrupt(12, format!("unknown network code {}", header.network)))?;
        let footer = self.range(self.data - size_of::<Footer>()..self.data)?;
        let Footer { directory: offset, sections, .. } = bytemuck::pod_read_unaligned(footer);
        let directory = self.checked_range(offset, sections, size_of::<Entry>() as u64)?;
        let entries = self.range(directory)?.chunks_exact(size_of::<Entry>());
        self.entries = entries.map(bytemuck::pod_read_unaligned).collect();
        for entry in &self.entries {
            self.checked_range(entry.offset, entry.count, entry.size)?;
            if !entry.offset.is_multiple_of(ALIGN as u64) {
                return Err(self.corrupt(0, format!("section {} is not aligned", text(&entry.name))));
            }
        }
        Ok(())
    }

    /// The byte range of `count` elements, if it lies inside the data.
    fn checked_range(&self, offset: u64, count: u64, size: u64) -> Result<Range<usize>> {
        let range = || {
            let start = usize::try_from(offset).ok()?;
            let length = usize::try_from(count.checked_mul(size)?).ok()?;
            let end = start.checked_add(length)?;
            (end <= self.data).then_some(start..end)
        };
        range().ok_or_else(|| self.corrupt(0, format!("{count} elements at {offset} do not fit the file")))
    }

    pub(crate) fn column<T: Pod>(self: &std::sync::Arc<Self>, section: Section<T>) -> Result<Column<T>> {
        let entry = self
            .entries
            .iter()
            .find(|entry| text(&entry.name) == section.name())
            .ok_or_else(|| self.corrupt(0, format!("section {} is missing", section.name())))?;
        if entry.size != size_of::<T>() as u64 {
            return Err(self.corrupt(0, format!("section {} has elements of {} bytes", section.name(), entry.size)));
        }
        let range = self.checked_range(entry.offset, entry.count, entry.size)?;
        Ok(Column::new(std::sync::Arc::clone(self), range, section.name()))
    }

    /// Bytes that were checked against their checksums.
    pub(super) fn range(&self, range: Range<usize>) -> Result<&[u8]> {
        if range.is_empty() {
            return Ok(&[]);
        }
        for page in range.start / PAGE..=(range.end - 1) / PAGE {
            if self.checked[page / 64].load(Ordering::Relaxed) & (1 << (page % 64)) == 0 {
                self.check_page(page)?;
            }
        }
        Ok(&self.bytes.as_slice()[range])
    }

    #[cold]
    fn check_page(&self, page: usize) -> Result<()> {
        let all = self.bytes.as_slice();
        let start = page * PAGE;
        let at = self.data + page * size_of::<u32>();
        let stored: u32 = bytemuck::pod_read_unaligned(&all[at..at + size_of::<u32>()]);
        if crc32c::crc32c(&all[start..self.data.min(start + PAGE)]) != stored {
            return Err(self.corrupt(start, "the page does not match its checksum".to_owned()));
        }
        self.checked[page / 64].fetch_or(1 << (page % 64), Ordering::Relaxed);
        Ok(())
    }

    /// Checks every page anew, whether it was touched before or not.
    pub(crate) fn verify(&self, progress: &mut dyn FnMut(u64, u64)) -> Result<()> {
        const STEP: usize = 1024;
        let pages = self.pages();
        for first in (0..pages).step_by(STEP) {
            let last = pages.min(first + STEP);
            self.bytes.will_need(first * PAGE..self.data.min(last * PAGE));
            for page in first..last {
                self.check_page(page)?;
            }
            progress(last as u64, pages as u64);
        }
        Ok(())
    }

    pub(super) fn release(&self) {
        self.bytes.release();
    }

    pub(super) fn will_need(&self, range: Range<usize>) {
        self.bytes.will_need(range);
    }

    pub(super) fn pages(&self) -> usize {
        self.data.div_ceil(PAGE)
    }

    /// Returns the number of pages that were read so far.
    #[cfg(test)]
    pub(super) fn touched(&self) -> u32 {
        self.checked.iter().map(|word| word.load(Ordering::Relaxed).count_ones()).sum()
    }

    #[cold]
    pub(crate) fn corrupt(&self, offset: usize, what: String) -> LedgerError {
        LedgerError::Corrupt { file: self.file.clone(), offset: offset as u64, what }
    }

    pub(super) fn sections(&self) -> Vec<(String, u64)> {
        let bytes = |entry: &Entry| entry.count.saturating_mul(entry.size);
        self.entries.iter().map(|entry| (text(&entry.name).to_owned(), bytes(entry))).collect()
    }

    /// The chain of a file that is about one.
    pub(crate) fn chain(&self) -> Result<Chain> {
        self.chain.ok_or_else(|| self.corrupt(16, "the file names no chain".to_owned()))
    }

    pub(super) fn network(&self) -> Network {
        self.network
    }

    pub(crate) fn length(&self) -> u64 {
        self.bytes.as_slice().len() as u64
    }
}

fn text(padded: &[u8]) -> &str {
    let end = padded.iter().position(|&byte| byte == 0).unwrap_or(padded.len());
    std::str::from_utf8(&padded[..end]).unwrap_or("?")
}
