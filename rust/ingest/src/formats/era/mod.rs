//! History files of Ethereum: `era1` (blocks before the merge) and `ere`, also named `erae` (blocks of any time).
//!
//! Both are e2store containers (`entries.rs`) of at most 8,192 blocks, each with header, body, receipts and total
//! difficulty as RLP in snappy frames. They are read twice. The first pass reads the headers: each follows the one before,
//! the accumulator and the name of the file agree with them, and the index names the places of all entries (`survey.rs`).
//! The second pass checks each body and its receipts against its header, and converts them (`facts.rs`).

mod entries;
mod facts;
mod index;
mod name;
mod survey;

use std::path::Path;

use headwater_ledger::facts::Claim;
use headwater_ledger::read::CoverageTable;
use headwater_types::Chain;
use headwater_verify::evm::Senders;
use headwater_verify::evm::encoded::{EncodedHeader, EncodedReceipts, read_header, verify_encoded};
use headwater_verify::{FailureKind, VerificationError};
use rayon::prelude::*;

use self::entries::{Entries, Entry, decompressed, kind};
use self::facts::{BlockContent, convert};
use self::index::check_index;
use self::name::{MAINNET, StatedName, network};
use self::survey::Survey;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, Place, RowError};
use crate::genesis::genesis_hash;
use crate::source::{Input, Probe};
use crate::{IngestError, Sink};

/// Blocks before the merge.
pub(super) struct Era1;

/// Blocks of any time.
pub(super) struct Ere;

/// The two layouts of the entries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// Header, body, receipts and total difficulty of one block after the other.
    Era1,
    /// All headers, then all bodies, then all receipts, and so on.
    Ere,
}

/// The remedy for files that are broken.
const AGAIN: &str = "get the file again";

/// Blocks that are checked at the same time, and their compressed bytes.
const WINDOW_BLOCKS: usize = 64;
const WINDOW_BYTES: usize = 8 << 20;

impl Format for Era1 {
    fn name(&self) -> &'static str {
        "era1"
    }

    fn describe(&self) -> &'static str {
        "era1 history files of Ethereum: blocks before the merge with receipts, verified"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        sniff(probe, Layout::Era1)
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        read(job, Layout::Era1, sink)
    }
}

impl Format for Ere {
    fn name(&self) -> &'static str {
        "ere"
    }

    fn describe(&self) -> &'static str {
        "ere (erae) history files of Ethereum: blocks of any time, with receipts where the file has them, verified"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        sniff(probe, Layout::Ere)
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        read(job, Layout::Ere, sink)
    }
}

/// Detects a file by its first entries.
fn sniff(probe: &Probe, layout: Layout) -> Option<Sniffed> {
    let head = probe.head();
    let mut kinds = entries::kinds(head);
    if (kinds.next(), kinds.next()) != (Some(kind::VERSION), Some(kind::HEADER)) {
        return None;
    }
    let name = probe.input().name();
    let found = match (kinds.next(), kinds.next()) {
        (Some(kind::BODY), Some(kind::RECEIPTS)) => Layout::Era1,
        (Some(kind::BODY), None) | (None, _) if has_era1_ending(&name) => Layout::Era1,
        _ => Layout::Ere,
    };
    if found != layout {
        return None;
    }
    let header = entries::first_content(head).and_then(|header| read_header(Chain::ETHEREUM, None, &header).ok());
    let is_genesis = header.as_ref().is_some_and(|header| genesis_hash(Chain::ETHEREUM) == Some(header.hash()));
    let is_named = StatedName::of(&name).is_some_and(|stated| stated.network == MAINNET);
    Some(Sniffed {
        chain: if is_genesis || is_named {
            SniffedChain::Is(Chain::ETHEREUM)
        } else {
            SniffedChain::Usually(Chain::ETHEREUM)
        },
        table: 0,
        rank: 0,
        first_block: header.map(|header| header.number()),
    })
}

fn has_era1_ending(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|ending| ending.eq_ignore_ascii_case("era1"))
}

fn read(job: &Job, layout: Layout, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let input = &job.input;
    check_network(input, sink.chain())?;
    let (survey, index) = Survey::of(input, layout, sink)?;
    check_index(input, layout, &survey, &index)?;
    check_place(input, &survey, sink)?;
    let is_confirmed = survey.named.is_some() || is_linked(&survey, sink)?;
    if !is_confirmed {
        sink.warn(
            "the name of the file has no hash, and no verified block of the store links to its blocks, so nothing outside \
             it confirms them: its transactions and receipts do not count as verified; keep the published name, such as \
             mainnet-00000-5ec1ffb8.era1",
        );
    }
    let mut blocks = Blocks::open(input)?;
    let chain = sink.chain();
    loop {
        let window = blocks.window(&survey)?;
        let Some(last) = window.last() else { break };
        input.set_done(last.receipts.unwrap_or(last.body).end());
        sink.check()?;
        let read: Vec<Result<BlockContent, Fault>> =
            window.par_iter().map(|block| block.read(input, layout, &survey, chain)).collect();
        for (block, content) in window.iter().zip(read) {
            let place = Place::Byte(block.header.at);
            sink.count_row(place)?;
            match content {
                Ok(content) => content.hand_over(sink),
                Err(Fault::Field(field)) => sink.reject(RowError { file: input.path().to_owned(), place, field })?,
                Err(Fault::Fatal(error)) => return Err(error),
            }
            sink.boundary()?;
        }
    }
    if sink.skipped() == 0 {
        claim(&survey, is_confirmed, sink);
    }
    Ok(())
}

/// Checks that the name of the file states no other network. Empty blocks and old transactions are the same on all.
fn check_network(input: &Input, chain: Chain) -> Result<(), IngestError> {
    let name = input.name();
    let Some(other) = network(&name).filter(|network| *network != MAINNET) else { return Ok(()) };
    let why = format!(
        "its name states the network {other}; expected {MAINNET}: leave the file out, or give it its published name if it \
         is of {MAINNET}"
    );
    Err(IngestError::ForeignChain { path: input.path().to_owned(), chain, why })
}

/// Checks that the blocks are those of the chain, as far as the store and its first block show.
fn check_place(input: &Input, survey: &Survey, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let chain = sink.chain();
    let foreign = |why: String| IngestError::ForeignChain { path: input.path().to_owned(), chain, why };
    let written = |hash: &[u8; 32]| format!("0x{}", hex::encode(hash));
    let (first, parent) = (survey.first, survey.parent);
    if let Some(before) = first.checked_sub(1) {
        if let Some(held) = sink.block_hash(before)?.filter(|held| *held.as_bytes() != parent) {
            let (named, held) = (written(&parent), written(held.as_bytes()));
            return Err(foreign(format!(
                "its first block, {first}, follows {named}, but block {before} of the store is {held}: one of them is of \
                 another network or branch"
            )));
        }
    } else if let Some(expected) = genesis_hash(chain).filter(|hash| *hash.as_bytes() != survey.hashes[0]) {
        let (found, expected) = (written(&survey.hashes[0]), written(expected.as_bytes()));
        return Err(foreign(format!(
            "its block 0 is {found}, that of {chain} is {expected}: it is of another network"
        )));
    }
    Ok(())
}

/// Returns whether the blocks link to a block that is certain: block 0 of the chain, or a verified one that is held before
/// the first block or as the last one.
fn is_linked(survey: &Survey, sink: &Sink<'_>) -> Result<bool, IngestError> {
    // Block 0 is that of the chain: another one is refused.
    let Some(before) = survey.first.checked_sub(1) else { return Ok(genesis_hash(sink.chain()).is_some()) };
    let ends = [(before, Some(&survey.parent)), (survey.last(), survey.hashes.last())];
    for (number, hash) in ends {
        let held = sink.verified_block_hash(number)?;
        if held.is_some_and(|held| Some(held.as_bytes()) == hash) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Claims all blocks of a file as complete, and as verified if something outside the file confirms them.
fn claim(survey: &Survey, is_confirmed: bool, sink: &mut Sink<'_>) {
    use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedReceipts, VerifiedTransactions};
    let of_blocks = [Blocks, Transactions, VerifiedTransactions];
    let of_receipts = [Receipts, TokenTransfers, Logs, VerifiedReceipts];
    let of_receipts = if survey.receipts.is_empty() { &[][..] } else { &of_receipts };
    let (first, last) = (survey.first, survey.last());
    for &table in of_blocks.iter().chain(of_receipts) {
        if is_confirmed || !matches!(table, VerifiedTransactions | VerifiedReceipts) {
            sink.claim(Claim::Blocks { first, last, table });
        }
    }
}

/// The second pass: headers, bodies and receipts in step.
struct Blocks<'a> {
    headers: Entries<'a>,
    bodies: Entries<'a>,
    receipts: Entries<'a>,
    next: usize,
}

/// The entries of one block as they lie in the file.
struct PackedBlock {
    number: u64,
    header: Entry,
    body: Entry,
    receipts: Option<Entry>,
    content: [Vec<u8>; 3],
}

impl<'a> Blocks<'a> {
    fn open(input: &'a Input) -> Result<Self, IngestError> {
        let (headers, bodies, receipts) = (Entries::open(input)?, Entries::open(input)?, Entries::open(input)?);
        Ok(Self { headers, bodies, receipts, next: 0 })
    }

    /// Reads the next blocks; none at the end.
    fn window(&mut self, survey: &Survey) -> Result<Vec<PackedBlock>, IngestError> {
        let mut window = Vec::new();
        let mut bytes = 0;
        while window.len() < WINDOW_BLOCKS && bytes < WINDOW_BYTES && self.next < survey.headers.len() {
            let at = self.next;
            let number = survey.first + at as u64;
            let (header, packed_header) = self.headers.content_at(survey.headers[at])?;
            let (body, packed_body) = self.bodies.content_at(survey.bodies[at])?;
            let receipts = survey.receipts.get(at).map(|at| self.receipts.content_at(*at)).transpose()?;
            let (receipts, packed_receipts) =
                receipts.map_or((None, Vec::new()), |(entry, bytes)| (Some(entry), bytes));
            let content = [packed_header, packed_body, packed_receipts];
            bytes += content.iter().map(Vec::len).sum::<usize>();
            window.push(PackedBlock { number, header, body, receipts, content });
            self.next += 1;
        }
        Ok(window)
    }
}

impl PackedBlock {
    /// Decompresses, verifies and converts the block.
    fn read(&self, input: &Input, layout: Layout, survey: &Survey, chain: Chain) -> Result<BlockContent, Fault> {
        let [header, body, receipts] = &self.content;
        let header = decompressed(input, self.header, header)?;
        let header = self.check_header(input, survey, chain, &header)?;
        let body = decompressed(input, self.body, body)?;
        let receipts = self.receipts.map(|entry| decompressed(input, entry, receipts)).transpose()?;
        let encoded = receipts.as_deref().map(|bytes| match layout {
            Layout::Era1 => EncodedReceipts::Consensus(bytes),
            Layout::Ere => EncodedReceipts::Slim(bytes),
        });
        let block = verify_encoded(&header, &body, encoded, Senders::Recover)
            .map_err(|error| refused(input, self.body.at, &error))?;
        Ok(convert(chain, &header, &block)?)
    }

    fn check_header(
        &self,
        input: &Input,
        survey: &Survey,
        chain: Chain,
        bytes: &[u8],
    ) -> Result<EncodedHeader, IngestError> {
        let header =
            read_header(chain, Some(self.number), bytes).map_err(|error| refused(input, self.header.at, &error))?;
        let place = usize::try_from(self.number - survey.first).ok();
        if place.and_then(|place| survey.hashes.get(place)) == Some(header.hash().as_bytes()) {
            return Ok(header);
        }
        Err(input.damaged(Some(Place::Byte(self.header.at)), "it was changed while it was read; read it again"))
    }
}

/// The error of a block that failed a check.
fn refused(input: &Input, at: u64, error: &VerificationError) -> IngestError {
    match error.mismatch.kind() {
        FailureKind::Unsupported => {
            let what = format!("has a block of another form at byte {at}: {error}");
            IngestError::Container { path: input.path().to_owned(), what }
        }
        FailureKind::Contradiction | FailureKind::Malformed => {
            input.damaged(Some(Place::Byte(at)), format!("{error}; {AGAIN}"))
        }
    }
}
