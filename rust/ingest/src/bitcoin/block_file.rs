//! The block files of a node: blocks in the order of their arrival, each behind a magic and its length.

use std::io::{self, ErrorKind, Read};

use headwater_types::Network;

use super::block::{HEADER_BYTES, MAX_BLOCK_BYTES};

/// The mark before every block, by network: main, testnet3, testnet4, signet, regtest.
const MAGICS: [([u8; 4], Network); 5] = [
    ([0xf9, 0xbe, 0xb4, 0xd9], Network::Mainnet),
    ([0x0b, 0x11, 0x09, 0x07], Network::Testnet),
    ([0x1c, 0x16, 0x3f, 0x28], Network::Testnet),
    ([0x0a, 0x03, 0xcf, 0x40], Network::Signet),
    ([0xfa, 0xbf, 0xb5, 0xda], Network::Regtest),
];

/// The network of a magic.
#[must_use]
pub fn network_of(magic: [u8; 4]) -> Option<Network> {
    MAGICS.iter().find(|(known, _)| *known == magic).map(|(_, network)| *network)
}

/// The key that hides block files since Bitcoin Core 28: byte i of a file is stored xor byte i mod 8 of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct XorKey([u8; 8]);

impl XorKey {
    /// From the content of `xor.dat`; `None` when that is not eight bytes.
    #[must_use]
    pub fn new(content: &[u8]) -> Option<Self> {
        content.try_into().ok().map(Self)
    }

    /// Applies the key to bytes that begin at an offset of their file. Twice gives back what was there.
    pub fn apply(self, offset: u64, bytes: &mut [u8]) {
        if self.0 == [0; 8] {
            return;
        }
        let start = usize::try_from(offset % 8).expect("less than 8");
        for (byte, key) in bytes.iter_mut().zip(self.0.iter().cycle().skip(start)) {
            *byte ^= key;
        }
    }
}

/// One framed block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record<'a> {
    /// The offset of the block itself, in bytes of the file.
    pub offset: u64,
    /// The network of its magic.
    pub network: Network,
    /// The serialised block, not proven yet.
    pub block: &'a [u8],
}

/// Why a block file cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The bytes are no magic.
    #[error("the bytes {} stand where a block magic is expected{}", hex::encode(found), hint(*at))]
    Magic {
        /// Where.
        at: u64,
        /// The bytes at that place.
        found: [u8; 4],
    },
    /// A length that no block has.
    #[error("a block of {length} bytes is announced, expected {HEADER_BYTES} to {MAX_BLOCK_BYTES}")]
    Length {
        /// Where.
        at: u64,
        /// The length.
        length: u32,
    },
    /// The file ends inside a block.
    #[error("the file ends inside a block of {length} bytes: it was cut short, or the node was writing it")]
    Cut {
        /// The offset of the block.
        at: u64,
        /// Its length.
        length: u32,
    },
    /// The system refused, or the compression is damaged.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl FrameError {
    /// Returns the position in the file.
    #[must_use]
    pub const fn at(&self) -> Option<u64> {
        match self {
            Self::Magic { at, .. } | Self::Length { at, .. } | Self::Cut { at, .. } => Some(*at),
            Self::Io(_) => None,
        }
    }
}

fn hint(at: u64) -> &'static str {
    if at == 0 { ": is its xor.dat missing beside it?" } else { "" }
}

/// The framed blocks of one file, in bounded memory: one block at a time, whatever length is announced.
pub struct Records<R> {
    reader: R,
    key: XorKey,
    at: u64,
    block: Vec<u8>,
}

impl<R: Read> Records<R> {
    /// Reads a file from its beginning.
    pub const fn new(reader: R, key: XorKey) -> Self {
        Self { reader, key, at: 0, block: Vec::new() }
    }

    /// The next block; `None` at the end. Zeros between blocks and after the last one are space that the node reserved.
    ///
    /// # Errors
    /// [`FrameError`]; after one nothing more can be read, since the next block is not found without its frame.
    pub fn next_record(&mut self) -> Result<Option<Record<'_>>, FrameError> {
        let mut magic = [0; 4];
        loop {
            let read = self.fill(&mut magic)?;
            if read < 4 {
                if magic[..read].iter().all(|byte| *byte == 0) {
                    return Ok(None);
                }
                return Err(FrameError::Magic { at: self.at - read as u64, found: magic });
            }
            // Reserved space may have any length: go on byte by byte until something stands there.
            while magic[0] == 0 && magic != [0; 4] {
                magic.rotate_left(1);
                if self.fill(&mut magic[3..])? == 0 {
                    return Err(FrameError::Magic { at: self.at - 3, found: magic });
                }
            }
            if magic != [0; 4] {
                break;
            }
        }
        let at = self.at - 4;
        let network = network_of(magic).ok_or(FrameError::Magic { at, found: magic })?;
        let mut length = [0; 4];
        if self.fill(&mut length)? < 4 {
            return Err(FrameError::Cut { at, length: 0 });
        }
        let length = u32::from_le_bytes(length);
        let bytes = length as usize;
        if !(HEADER_BYTES..=MAX_BLOCK_BYTES).contains(&bytes) {
            return Err(FrameError::Length { at, length });
        }
        let offset = self.at;
        let mut block = std::mem::take(&mut self.block);
        block.clear();
        // Grows with what is really there, not with what is announced.
        let read = (&mut self.reader).take(u64::from(length)).read_to_end(&mut block)?;
        self.key.apply(offset, &mut block);
        self.at += read as u64;
        self.block = block;
        if read < bytes {
            return Err(FrameError::Cut { at: offset, length });
        }
        Ok(Some(Record { offset, network, block: &self.block }))
    }

    /// Fills a buffer as far as the file goes.
    fn fill(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < buffer.len() {
            match self.reader.read(&mut buffer[read..]) {
                Ok(0) => break,
                Ok(count) => read += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.key.apply(self.at, &mut buffer[..read]);
        self.at += read as u64;
        Ok(read)
    }
}

#[cfg(test)]
#[path = "block_file_tests.rs"]
mod tests;
