//! The containers: entries, accumulator and index.

use std::io::Write as _;

use sha2::{Digest as _, Sha256};

use super::block::EraBlock;

const VERSION: u16 = 0x3265;

/// The parts of an ere file that may be left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Receipts.
    pub receipts: bool,
    /// Total difficulties, and the accumulator over blocks before the merge.
    pub difficulties: bool,
    /// Proofs; those written here prove nothing.
    pub proofs: bool,
}

/// An entry of a container.
#[must_use]
pub fn entry(kind: u16, content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(content.len()).unwrap();
    [&kind.to_le_bytes()[..], &length.to_le_bytes(), &[0, 0], content].concat()
}

/// The entries of a container: type, and range of bytes of the content.
#[must_use]
pub fn entries(file: &[u8]) -> Vec<(u16, std::ops::Range<usize>)> {
    let mut found = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let kind = u16::from_le_bytes(file[at..at + 2].try_into().unwrap());
        let length = usize::try_from(u32::from_le_bytes(file[at + 2..at + 6].try_into().unwrap())).unwrap();
        found.push((kind, at + 8..at + 8 + length));
        at += 8 + length;
    }
    found
}

/// Content in snappy frames.
#[must_use]
pub fn snappy(content: &[u8]) -> Vec<u8> {
    let mut encoder = snap::write::FrameEncoder::new(Vec::new());
    encoder.write_all(content).unwrap();
    encoder.into_inner().unwrap()
}

/// An era1 file of blocks in a row; `before` is the total difficulty of the block before the first. Returns its name too.
#[must_use]
pub fn era1(blocks: &[EraBlock], before: u128) -> (String, Vec<u8>) {
    let mut file = entry(VERSION, &[]);
    let mut places = Vec::new();
    let mut records = Vec::new();
    let mut total = before;
    for block in blocks {
        total += block.difficulty;
        places.push(vec![file.len()]);
        records.push((block.hash, total));
        file.extend(entry(0x03, &snappy(&block.header)));
        file.extend(entry(0x04, &snappy(&block.body)));
        file.extend(entry(0x05, &snappy(&block.receipts)));
        file.extend(entry(0x06, &little_endian(total)));
    }
    let root = accumulator(&records);
    file.extend(entry(0x07, &root));
    let index = index(blocks[0].number, &places, file.len(), &[blocks.len()]);
    file.extend(entry(0x3266, &index));
    (format!("mainnet-{:05}-{}.era1", blocks[0].number / 8_192, hex::encode(&root[..4])), file)
}

/// An ere file of blocks in a row. Returns its name too.
#[must_use]
pub fn ere(blocks: &[EraBlock], before: u128, parts: Parts) -> (String, Vec<u8>) {
    let mut file = entry(VERSION, &[]);
    let mut places = vec![Vec::new(); blocks.len()];
    let mut add = |kind: u16, content: &dyn Fn(&EraBlock) -> Vec<u8>| {
        for (block, places) in blocks.iter().zip(&mut places) {
            places.push(file.len());
            file.extend(entry(kind, &content(block)));
        }
    };
    add(0x03, &|block| snappy(&block.header));
    add(0x04, &|block| snappy(&block.body));
    if parts.receipts {
        add(0x0a, &|block| snappy(&block.slim));
    }
    if parts.proofs {
        add(0x0b, &|_| snappy(&[0xc2, 0x03, 0x80]));
    }
    let mut records = Vec::new();
    if parts.difficulties {
        let totals = std::cell::Cell::new(before);
        let records_of = std::cell::RefCell::new(&mut records);
        add(0x06, &|block| {
            totals.set(totals.get() + block.difficulty);
            if block.difficulty > 0 {
                records_of.borrow_mut().push((block.hash, totals.get()));
            }
            little_endian(totals.get()).to_vec()
        });
    }
    if !records.is_empty() {
        file.extend(entry(0x07, &accumulator(&records)));
    }
    let index = index(blocks[0].number, &places, file.len(), &[places[0].len(), blocks.len()]);
    file.extend(entry(0x3267, &index));
    let hash = blocks.last().unwrap().hash;
    let profile = [(parts.proofs, "-noproofs"), (parts.receipts, "-noreceipts")]
        .map(|(is_there, name)| if is_there { "" } else { name });
    (format!("mainnet-{:05}-{}{}.ere", blocks[0].number / 8_192, hex::encode(&hash[..4]), profile.concat()), file)
}

fn index(first: u64, places: &[Vec<usize>], begin: usize, counts: &[usize]) -> Vec<u8> {
    let word = |number: usize| u64::try_from(number).unwrap();
    let relative = |place: &usize| word(*place).wrapping_sub(word(begin));
    let words = std::iter::once(first)
        .chain(places.iter().flatten().map(relative))
        .chain(counts.iter().map(|count| word(*count)));
    words.flat_map(u64::to_le_bytes).collect()
}

fn little_endian(number: u128) -> [u8; 32] {
    let mut bytes = [0; 32];
    bytes[..16].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// The accumulator of records, over all 8,192 leaves of the tree.
#[must_use]
pub fn accumulator(records: &[([u8; 32], u128)]) -> [u8; 32] {
    let pair = |one: [u8; 32], other: [u8; 32]| -> [u8; 32] { Sha256::digest([one, other].concat()).into() };
    let mut level: Vec<[u8; 32]> = records.iter().map(|(hash, total)| pair(*hash, little_endian(*total))).collect();
    level.resize(8_192, [0; 32]);
    while level.len() > 1 {
        level = level.chunks(2).map(|two| pair(two[0], two[1])).collect();
    }
    pair(level[0], little_endian(records.len() as u128))
}
