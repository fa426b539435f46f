//! Serialised Bitcoin blocks: one block per file, or the block files of a node.
//!
//! Files of both kinds are seen together. A first pass reads the headers of all of them, from which the chain is
//! rebuilt; a second pass decodes the blocks that are on it, in the order they lie in, one at a time.

use std::collections::BTreeSet;
use std::io::{BufReader, Read};

use headwater_ledger::LedgerError;
use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;
use headwater_types::{BlockHash, Chain, Network};

use super::{Format, Job, Sniffed, SniffedChain};
use crate::bitcoin::block::{HEADER_BYTES, MAX_BLOCK_BYTES};
use crate::bitcoin::block_file::{FrameError, Records, XorKey, network_of};
use crate::bitcoin::chain::{Held, Link, Seat, genesis_of, place};
use crate::bitcoin::{RawHeader, decode_block, decode_header, peek_block, to_facts};
use crate::error::{FieldError, Place, RowError};
use crate::options::OnError;
use crate::source::{Content, Input, Probe};
use crate::{IngestError, Sink};

/// One block per file, and `blk*.dat`.
pub(super) struct BitcoinBlocks;

// What a file of this format holds.
const SERIALISED: u8 = 0;
const FRAMED: u8 = 1;
/// Files that a node keeps beside its blocks: the key and the undo data.
const COMPANION: u8 = 2;

/// Behind all that shows its first block, and together.
const RANK: u8 = 200;
/// The maximum number of stale blocks that a report names.
const NAMED: usize = 5;

impl Format for BitcoinBlocks {
    fn name(&self) -> &'static str {
        "bitcoin-blocks"
    }

    fn describe(&self) -> &'static str {
        "serialised Bitcoin blocks: one per file, or the blk*.dat of a node with or without their XOR key"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let name = probe.input().name();
        let head = probe.head();
        let framed = key_of(probe.input()).is_ok_and(|(_, network)| network.is_some());
        let table = if (name == "xor.dat" && head.len() == 8) || (framed && numbered(&name, "rev")) {
            COMPANION
        } else if *probe.content() != Content::Binary {
            return None;
        } else if framed {
            FRAMED
        } else if is_one_block(head) {
            SERIALISED
        } else {
            return None;
        };
        Some(Sniffed { chain: SniffedChain::Is(Chain::BITCOIN), table, rank: RANK, first_block: None })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.read_all(&[job], &mut |_, _| Ok(()), sink)
    }

    fn reads_together(&self) -> bool {
        true
    }

    fn read_all(
        &self,
        jobs: &[&Job],
        next: &mut dyn FnMut(usize, &mut Sink<'_>) -> Result<(), IngestError>,
        sink: &mut Sink<'_>,
    ) -> Result<(), IngestError> {
        let network = network(jobs, sink)?;
        let index = Index::of(jobs, network, sink)?;
        let seats = place(&index.links, &HeldBySink(sink))?;
        sink.network(network);
        let mut seated = index.places.iter().copied().zip(seats).peekable();
        for (number, job) in jobs.iter().enumerate() {
            next(number, sink)?;
            let mut of_file = Vec::new();
            while let Some((_, seat)) = seated.next_if(|((file, _), _)| *file == number) {
                of_file.push(seat);
            }
            emit(job, network, of_file, sink)?;
        }
        Ok(())
    }
}

/// `blk00012.dat`, `rev00012.dat`.
fn numbered(name: &str, kind: &str) -> bool {
    let number = name.strip_prefix(kind).and_then(|rest| rest.strip_suffix(".dat"));
    number.is_some_and(|number| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit()))
}

/// A header that meets its bits, and behind it the beginning of a coinbase: chance does not look like that.
fn is_one_block(head: &[u8]) -> bool {
    let Some((header, rest)) = head.split_first_chunk::<HEADER_BYTES>() else { return false };
    let spends_nothing = [&[1][..], &[0; 32], &[0xff; 4]].concat();
    decode_header(header).check_work().is_ok()
        && rest.iter().take(16).enumerate().any(|(at, _)| rest[at..].starts_with(&spends_nothing))
}

/// The key that hides a file, and the network of its first magic. A key lies beside the files it was used on;
/// files that were copied there without one are recognised as they are.
fn key_of(input: &Input) -> Result<(XorKey, Option<Network>), IngestError> {
    let first: [u8; 4] = match input.head(4)?.try_into() {
        Ok(first) => first,
        Err(_) => return Ok((XorKey::default(), None)),
    };
    let mut key = XorKey::default();
    let beside = input.path().with_file_name("xor.dat");
    if beside.is_file() {
        let failed = |source| IngestError::Io { path: beside.clone(), source };
        let content = std::fs::read(&beside).map_err(failed)?;
        key = XorKey::new(&content).ok_or_else(|| IngestError::Damaged {
            path: beside.clone(),
            place: None,
            what: format!("a key has 8 bytes, this file {}", content.len()),
        })?;
    }
    let mut plain = first;
    key.apply(0, &mut plain);
    Ok(match (network_of(plain), network_of(first)) {
        (None, Some(network)) => (XorKey::default(), Some(network)),
        (network, _) => (key, network),
    })
}

/// The one network of all files: of their magics, else as the caller says, else the main network.
fn network(jobs: &[&Job], sink: &Sink<'_>) -> Result<Network, IngestError> {
    let mut agreed = sink.options().network;
    for job in jobs.iter().filter(|job| job.sniffed.table == FRAMED) {
        let (_, found) = key_of(&job.input)?;
        match (agreed, found) {
            (Some(held), Some(offered)) if held != offered => {
                return Err(LedgerError::NetworkMismatch { chain: Chain::BITCOIN, held, offered }.into());
            }
            (None, found) => agreed = found,
            _ => {}
        }
    }
    Ok(agreed.unwrap_or_default())
}

/// All blocks of all files by their headers, in the order of the files.
#[derive(Default)]
struct Index {
    links: Vec<Link>,
    /// (file, byte) of each.
    places: Vec<(usize, u64)>,
}

impl Index {
    fn of(jobs: &[&Job], network: Network, sink: &Sink<'_>) -> Result<Self, IngestError> {
        let mut index = Self::default();
        for (number, job) in jobs.iter().enumerate() {
            let before = index.links.len();
            let read = each_block(job, &mut |block: Found<'_>| {
                sink.check()?;
                match block.header(network) {
                    Ok((header, stated)) => {
                        let (hash, parent, work) = (header.hash, header.parent, header.work());
                        index.links.push(Link { hash, parent, work, stated, named: None });
                        index.places.push((number, block.offset));
                        Ok(())
                    }
                    // What is left out here is left out aloud when the file is read.
                    Err(_) if sink.options().on_error == OnError::Skip => Ok(()),
                    Err(field) => Err(row_error(&job.input, block.offset, field)),
                }
            });
            match read {
                Err(IngestError::Damaged { .. }) if sink.options().on_error == OnError::Skip => {}
                read => read?,
            }
            if let [only] = &mut index.links[before..] {
                only.named = height_in_name(&job.input.name());
            }
        }
        Ok(index)
    }
}

/// A block as it lies in a file.
struct Found<'a> {
    offset: u64,
    network: Option<Network>,
    bytes: &'a [u8],
}

impl Found<'_> {
    /// Its header, proven to be of the network, and the height its coinbase states.
    fn header(&self, network: Network) -> Result<(RawHeader, Option<u64>), FieldError> {
        let wrong = |hash: Option<&BlockHash>, what: String| {
            let hash = hash.map(|hash| hex::encode(hash.as_bytes()));
            FieldError::new("block", hash.as_deref(), format!("a valid block: {what}"))
        };
        let (header, stated) = peek_block(self.bytes).map_err(|error| wrong(None, error.to_string()))?;
        let hash = Some(&header.hash);
        if let Some(other) = self.network.filter(|other| *other != network) {
            return Err(wrong(hash, format!("its magic is of {other}, the other files are of {network}")));
        }
        header.check_network(network).map_err(|error| wrong(hash, error.to_string()))?;
        if header.parent.as_bytes() == &[0; 32] && genesis_of(&header.hash) != Some(network) {
            return Err(wrong(hash, format!("it has no parent, and is not the first block of {network}")));
        }
        Ok((header, stated))
    }
}

/// Hands on every block of a file with the byte it begins at.
fn each_block(job: &Job, handle: &mut dyn FnMut(Found<'_>) -> Result<(), IngestError>) -> Result<(), IngestError> {
    let input = &job.input;
    match job.sniffed.table {
        SERIALISED => {
            let bytes = input.read_whole(MAX_BLOCK_BYTES as u64)?;
            handle(Found { offset: 0, network: None, bytes: &bytes })
        }
        FRAMED => {
            let (key, _) = key_of(input)?;
            let reader: BufReader<Box<dyn Read + Send>> = BufReader::with_capacity(1 << 17, input.open()?);
            let mut records = Records::new(reader, key);
            loop {
                match records.next_record() {
                    Ok(Some(record)) => {
                        let (offset, network) = (record.offset, Some(record.network));
                        handle(Found { offset, network, bytes: record.block })?;
                    }
                    Ok(None) => return Ok(()),
                    Err(FrameError::Io(error)) => return Err(input.io(error)),
                    Err(error) => return Err(input.damaged(error.at().map(Place::Byte), error.to_string())),
                }
            }
        }
        _ => Ok(()),
    }
}

fn row_error(input: &Input, offset: u64, field: FieldError) -> IngestError {
    IngestError::Row(Box::new(RowError { file: input.path().to_owned(), place: Place::Byte(offset), field }))
}

/// Decodes the blocks of a file that are on the chain. `seats` are those of its valid blocks, in order.
fn emit(job: &Job, network: Network, seats: Vec<Seat>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    if job.sniffed.table == COMPANION {
        sink.warn("a file that belongs to block files: it holds no blocks, and is used or left alone as needed");
        return Ok(());
    }
    let mut seats = seats.into_iter();
    let mut heights = BTreeSet::new();
    let mut stale = Vec::new();
    let read = each_block(job, &mut |found: Found<'_>| {
        sink.count_row(Place::Byte(found.offset))?;
        let outcome = found.header(network).and_then(|(header, _)| {
            let seat = seats.next().ok_or_else(|| FieldError::new("block", None, "the file as it was a moment ago"))?;
            match seat {
                Seat::Main(height) => {
                    let hash = hex::encode(header.hash.as_bytes());
                    let block = decode_block(found.bytes)
                        .map_err(|error| FieldError::new("block", Some(&hash), format!("a valid block: {error}")))?;
                    let (block, transactions) = to_facts(&block, height, network);
                    sink.block(block);
                    for facts in transactions {
                        sink.transaction(facts);
                    }
                    heights.insert(height);
                }
                Seat::Stale(_) => stale.push(header.hash),
                Seat::Repeated => {}
                Seat::Unknown => {
                    let hash = hex::encode(header.hash.as_bytes());
                    let remedy =
                        "states none, so give the file of an earlier block too, or name the file by the height";
                    return Err(FieldError::new("height", None, format!("a height: block {hash} {remedy}")));
                }
            }
            Ok(())
        });
        if let Err(field) = outcome {
            sink.reject(RowError { file: job.input.path().to_owned(), place: Place::Byte(found.offset), field })?;
        }
        sink.boundary()
    });
    match read {
        // The files behind this one are read nevertheless.
        Err(IngestError::Damaged { place, what, .. }) if sink.options().on_error == OnError::Skip => {
            let place = place.unwrap_or(Place::Byte(0));
            let field = FieldError::new("block", None, format!("a readable file: {what}"));
            sink.reject(RowError { file: job.input.path().to_owned(), place, field })?;
        }
        read => read?,
    }
    claim(&heights, sink);
    if !stale.is_empty() {
        let named: Vec<_> = stale.iter().take(NAMED).map(|hash| hex::encode(hash.as_bytes())).collect();
        let more = if stale.len() > NAMED { ", ..." } else { "" };
        sink.warn(format!("{} blocks on stale branches were left out: {}{more}", stale.len(), named.join(", ")));
    }
    Ok(())
}

/// A block states all of itself: each run of heights is complete.
fn claim(heights: &BTreeSet<u64>, sink: &mut Sink<'_>) {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for &height in heights {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == height => *last = height,
            _ => runs.push((height, height)),
        }
    }
    for (first, last) in runs {
        for table in [CoverageTable::Blocks, CoverageTable::Transactions] {
            sink.claim(Claim::Blocks { first, last, table });
        }
    }
}

/// The one number in the name of a file that holds one block; none in `blk00012.dat`, whose number is no height.
fn height_in_name(name: &str) -> Option<u64> {
    if numbered(name, "blk") {
        return None;
    }
    let stem = name.split('.').next().unwrap_or(name);
    let mut numbers = stem.split(|letter: char| !letter.is_ascii_digit()).filter(|run| !run.is_empty());
    match (numbers.next(), numbers.next()) {
        (Some(only), None) if only.len() <= 9 => only.parse().ok(),
        _ => None,
    }
}

/// The blocks that were read before and those of the store.
struct HeldBySink<'a, 's>(&'a Sink<'s>);

impl Held for HeldBySink<'_, '_> {
    type Error = IngestError;

    fn hash_at(&self, height: u64) -> Result<Option<BlockHash>, IngestError> {
        self.0.block_hash(height)
    }

    fn height_of(&self, hash: &BlockHash) -> Result<Option<u64>, IngestError> {
        self.0.block_number(hash)
    }
}

#[cfg(test)]
#[path = "bitcoin_blocks_tests.rs"]
mod tests;
