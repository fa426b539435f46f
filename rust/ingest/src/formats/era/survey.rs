//! The first pass over a file: the places of its entries, its headers, and everything that all of them must agree with.

use headwater_types::BlockHash;
use headwater_verify::accumulator::{HeaderRecord, accumulator};
use headwater_verify::evm::encoded::{EncodedHeader, read_header};
use ruint::aliases::U256;

use super::entries::{Entries, Entry, decompressed, kind};
use super::name::{ERA_BLOCKS, StatedName};
use super::{AGAIN, Layout, refused};
use crate::error::Place;
use crate::source::Input;
use crate::{IngestError, Sink};

/// The maximum number of blocks of a file.
const MAX_BLOCKS: usize = 8_192;
/// Headers between two checks of the cancel token.
const BETWEEN_CHECKS: usize = 1_024;

/// The entries of a file whose headers are consistent. Places are the bytes at which entries begin, in order of the blocks.
#[derive(Debug, Default)]
pub(super) struct Survey {
    /// The number of the first block.
    pub(super) first: u64,
    /// The parent of the first block.
    pub(super) parent: [u8; 32],
    /// The hashes of the blocks.
    pub(super) hashes: Vec<[u8; 32]>,
    pub(super) headers: Vec<u64>,
    pub(super) bodies: Vec<u64>,
    /// Empty where the file has no receipts.
    pub(super) receipts: Vec<u64>,
    pub(super) difficulties: Vec<u64>,
    pub(super) proofs: Vec<u64>,
    /// The hash in the name of the file.
    pub(super) named: Option<[u8; 4]>,
    /// The blocks of the accumulator: in an ere file those before the merge.
    records: Vec<HeaderRecord>,
    own_difficulties: Vec<U256>,
    accumulator: Option<[u8; 32]>,
}

/// The index at the end of a file.
#[derive(Debug)]
pub(super) struct PackedIndex {
    pub(super) entry: Entry,
    pub(super) content: Vec<u8>,
}

impl Survey {
    /// Surveys a file. Returns its index too, which is not checked.
    ///
    /// # Errors
    /// When the file is cut off, entries are missing or in another order, or headers, accumulator and name of the file do not
    /// agree.
    pub(super) fn of(input: &Input, layout: Layout, sink: &mut Sink<'_>) -> Result<(Self, PackedIndex), IngestError> {
        let mut pass = Pass { input, layout, survey: Self::default(), rank: 0, totals: Vec::new() };
        let mut entries = Entries::open(input)?;
        let mut index = None;
        let mut is_first = true;
        while let Some(entry) = entries.next_entry()? {
            if index.is_some() {
                return Err(pass.misplaced(entry, "nothing behind the block index"));
            }
            if is_first && (entry.kind, entry.length) != (kind::VERSION, 0) {
                return Err(pass.misplaced(entry, "the version of the container"));
            }
            match entry.kind {
                kind::VERSION if is_first => {}
                kind::EMPTY => entries.skip(entry)?,
                kind::BLOCK_INDEX | kind::DYNAMIC_INDEX => {
                    index = Some(PackedIndex { entry, content: entries.content(entry)? });
                }
                _ => pass.take(entry, &mut entries, sink)?,
            }
            is_first = false;
        }
        let missing = || input.damaged(None, format!("it has no block index at its end: it was cut off; {AGAIN}"));
        let index = index.ok_or_else(missing)?;
        Ok((pass.end()?, index))
    }

    /// The number of the last block.
    pub(super) fn last(&self) -> u64 {
        self.first + (self.headers.len() as u64 - 1)
    }
}

/// A pass that runs.
struct Pass<'a> {
    input: &'a Input,
    layout: Layout,
    survey: Survey,
    /// The rank of the last entry of an ere file.
    rank: u8,
    totals: Vec<U256>,
}

/// The order of entries in ere files.
const fn rank(kind: u16) -> u8 {
    match kind {
        kind::HEADER => 0,
        kind::BODY => 1,
        kind::SLIM_RECEIPTS => 2,
        kind::PROOF | kind::TOTAL_DIFFICULTY => 3,
        _ => 4,
    }
}

impl Pass<'_> {
    /// Takes an entry between the version and the index.
    fn take(&mut self, entry: Entry, entries: &mut Entries<'_>, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.check_order(entry)?;
        match entry.kind {
            kind::HEADER => {
                if self.survey.headers.len().is_multiple_of(BETWEEN_CHECKS) {
                    sink.check()?;
                }
                let content = entries.content(entry)?;
                let header = decompressed(self.input, entry, &content)?;
                return self.header(entry, &header, sink);
            }
            kind::BODY => self.survey.bodies.push(entry.at),
            kind::RECEIPTS | kind::SLIM_RECEIPTS => self.survey.receipts.push(entry.at),
            kind::PROOF => self.survey.proofs.push(entry.at),
            kind::TOTAL_DIFFICULTY => {
                let content = self.hash(entry, entries)?;
                self.survey.difficulties.push(entry.at);
                self.totals.push(U256::from_le_bytes(content));
                return Ok(());
            }
            kind::ACCUMULATOR => {
                self.survey.accumulator = Some(self.hash(entry, entries)?);
                return Ok(());
            }
            other => sink.warn(format!("entries of the unknown type 0x{other:04x} are left out")),
        }
        entries.skip(entry)
    }

    fn check_order(&mut self, entry: Entry) -> Result<(), IngestError> {
        const TUPLE: [(u16, &str); 4] = [
            (kind::HEADER, "a header"),
            (kind::BODY, "a body"),
            (kind::RECEIPTS, "receipts"),
            (kind::TOTAL_DIFFICULTY, "a total difficulty"),
        ];
        let survey = &self.survey;
        let counts = [survey.headers.len(), survey.bodies.len(), survey.receipts.len(), survey.difficulties.len()];
        if counts.iter().chain([&survey.proofs.len()]).any(|count| *count > MAX_BLOCKS) {
            return Err(self.misplaced(entry, "at most 8,192 blocks"));
        }
        if survey.accumulator.is_some() {
            return Err(self.misplaced(entry, "the block index behind the accumulator"));
        }
        match self.layout {
            Layout::Era1 => {
                let open = TUPLE.iter().zip(counts).skip(1).find(|(_, count)| *count < survey.headers.len());
                let (expected, text) = open.map_or(TUPLE[0], |(expected, _)| *expected);
                let ends_blocks = open.is_none() && !TUPLE.iter().any(|(kind, _)| *kind == entry.kind);
                if entry.kind != expected && !ends_blocks {
                    return Err(self.misplaced(entry, text));
                }
            }
            Layout::Ere => {
                let rank = rank(entry.kind);
                if rank < self.rank || entry.kind == kind::RECEIPTS {
                    return Err(
                        self.misplaced(entry, "headers, bodies, slim receipts, proofs and difficulties in this order")
                    );
                }
                self.rank = rank;
            }
        }
        Ok(())
    }

    fn misplaced(&self, entry: Entry, expected: &str) -> IngestError {
        let what = format!("an entry of type 0x{:04x} lies there; expected {expected}; {AGAIN}", entry.kind);
        self.input.damaged(Some(Place::Byte(entry.at)), what)
    }

    /// Reads an entry of 32 bytes.
    fn hash(&self, entry: Entry, entries: &mut Entries<'_>) -> Result<[u8; 32], IngestError> {
        let content = entries.content(entry)?;
        content.try_into().map_err(|content: Vec<u8>| {
            let what =
                format!("an entry of type 0x{:04x} has {} bytes; expected 32; {AGAIN}", entry.kind, content.len());
            self.input.damaged(Some(Place::Byte(entry.at)), what)
        })
    }

    /// Takes a header: it follows the one before.
    fn header(&mut self, entry: Entry, bytes: &[u8], sink: &Sink<'_>) -> Result<(), IngestError> {
        let count = self.survey.headers.len() as u64;
        let header = if count == 0 {
            let header = read_header(sink.chain(), None, bytes).map_err(|error| {
                let what = format!("its first header cannot be read: {}; {AGAIN}", error.description());
                self.input.damaged(Some(Place::Byte(entry.at)), what)
            })?;
            (self.survey.first, self.survey.parent) = (header.number(), *header.parent_hash().as_bytes());
            header
        } else {
            let number = self.survey.first.checked_add(count).ok_or_else(|| self.beyond_last(entry))?;
            self.follower(entry, bytes, sink, number)?
        };
        self.survey.headers.push(entry.at);
        self.survey.hashes.push(*header.hash().as_bytes());
        self.survey.own_difficulties.push(header.difficulty());
        Ok(())
    }

    /// Returns the error of a block behind the last number of 64 bits.
    fn beyond_last(&self, entry: Entry) -> IngestError {
        let what = format!("a block follows block {}, the largest number of 64 bits; {AGAIN}", u64::MAX);
        self.input.damaged(Some(Place::Byte(entry.at)), what)
    }

    fn follower(&self, entry: Entry, bytes: &[u8], sink: &Sink<'_>, number: u64) -> Result<EncodedHeader, IngestError> {
        let fails = |error| refused(self.input, entry.at, &error);
        let header = read_header(sink.chain(), Some(number), bytes).map_err(fails)?;
        let before = self.survey.hashes.last().copied().unwrap_or_default();
        header.verify_parent(BlockHash::new(before)).map_err(fails)?;
        Ok(header)
    }

    /// Checks what all headers have in common.
    fn end(mut self) -> Result<Survey, IngestError> {
        let count = self.survey.headers.len();
        if count == 0 {
            return Err(self.input.damaged(None, format!("it has no blocks; {AGAIN}")));
        }
        let parts = [
            ("bodies", self.survey.bodies.len(), false),
            ("receipts", self.survey.receipts.len(), self.layout == Layout::Ere),
            ("total difficulties", self.survey.difficulties.len(), self.layout == Layout::Ere),
            ("proofs", self.survey.proofs.len(), true),
        ];
        if let Some((name, found, _)) =
            parts.iter().find(|(_, found, may_lack)| *found != count && (*found, *may_lack) != (0, true))
        {
            let what = format!("it has {count} headers and {found} {name}: it was cut off or changed; {AGAIN}");
            return Err(self.input.damaged(None, what));
        }
        self.check_totals()?;
        self.check_accumulator()?;
        self.check_name()?;
        Ok(self.survey)
    }

    /// Checks that each total difficulty is the one before plus the difficulty of the block.
    fn check_totals(&mut self) -> Result<(), IngestError> {
        let mut before = (self.survey.first == 0).then_some(U256::ZERO);
        for (place, (total, own)) in self.totals.iter().zip(&self.survey.own_difficulties).enumerate() {
            let expected = before.map(|before| before.saturating_add(*own));
            if let Some(expected) = expected.filter(|expected| expected != total) {
                let block = self.survey.first + place as u64;
                let what = format!(
                    "the total difficulty of block {block} is {total}; expected {expected}, the sum of difficulties; {AGAIN}"
                );
                return Err(self.input.damaged(Some(Place::Byte(self.survey.difficulties[place])), what));
            }
            before = Some(*total);
            if self.layout == Layout::Era1 || !own.is_zero() {
                self.survey.records.push(HeaderRecord { hash: self.survey.hashes[place], total_difficulty: *total });
            }
        }
        Ok(())
    }

    fn check_accumulator(&self) -> Result<(), IngestError> {
        let survey = &self.survey;
        let Some(stated) = survey.accumulator else {
            if self.layout == Layout::Era1 {
                return Err(self.input.damaged(None, format!("it has no accumulator: it was cut off; {AGAIN}")));
            }
            return Ok(());
        };
        let computed = accumulator(&survey.records).filter(|_| !survey.records.is_empty());
        if computed == Some(stated) {
            return Ok(());
        }
        let computed = computed.map_or("unknown, as blocks have no total difficulty".to_owned(), |root| {
            format!("0x{}", hex::encode(root))
        });
        let stated = hex::encode(stated);
        let what = format!(
            "the computed accumulator is {computed}, the file has 0x{stated}: a header or a total difficulty is changed; {AGAIN}"
        );
        Err(self.input.damaged(None, what))
    }

    /// Compares the name of the file with its content.
    fn check_name(&mut self) -> Result<(), IngestError> {
        let name = self.input.name();
        let Some(named) = StatedName::of(&name) else { return Ok(()) };
        let first = named.era.checked_mul(ERA_BLOCKS);
        if first != Some(self.survey.first) {
            let (era, found) = (named.era, self.survey.first);
            let begin = first.map_or_else(|| "beyond all blocks".to_owned(), |first| format!("at block {first}"));
            let what = format!(
                "its name states era {era}, which begins {begin}; its first block is {found}: give it its published name"
            );
            return Err(self.input.damaged(None, what));
        }
        let (full, meaning) = match self.layout {
            Layout::Era1 => (self.survey.accumulator, "accumulator"),
            Layout::Ere => (self.survey.hashes.last().copied(), "hash of its last block"),
        };
        let begin = full.and_then(|hash| hash.first_chunk::<4>().copied());
        if begin != Some(named.hash) {
            let (stated, found) = (hex::encode(named.hash), hex::encode(full.unwrap_or_default()));
            let what =
                format!("its name states {stated}, the {meaning} is 0x{found}: it was changed or renamed; {AGAIN}");
            return Err(self.input.damaged(None, what));
        }
        self.survey.named = Some(named.hash);
        Ok(())
    }
}
