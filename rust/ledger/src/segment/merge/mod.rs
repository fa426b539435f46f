//! Several segments as one, column by column: a merge of sorted runs that never makes facts of what it moves.
//!
//! The result is to the byte what [`build`](super::build) makes of the facts of all of them together. Accounts are
//! united in order of keys, which gives for each old segment a table from old to new ids; rows are merged by (block,
//! index, hash), postings account by account, indexes by hash. What is held in memory is those tables (4 bytes for each
//! account of each source, and for each row where sources are interleaved) and the spool up to its budget.
//!
//! The facts of one block or token are joined over all sources. The rows that a segment of corrections replaces are left
//! out of the segment before it.

mod accounts;
mod leave;
mod openings;
mod places;
mod postings;
mod rows;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::io::Write;
use std::sync::Arc;

use headwater_types::{Chain, Network};

use self::accounts::Ids;
use self::leave::OmittedEntries;
use self::rows::RowOrder;
use super::container::SegmentFile;
use super::layout::stored_decimals;
use super::marks::Marks;
use super::posting::Shape;
use super::read::{Segment, Walk};
use super::spool::Spool;
use super::write::{
    BlocksWriter, FeesWriter, HashesWriter, PostingsWriter, SpendersWriter, TokensWriter, Totals, TransactionsWriter,
    finish,
};
use crate::Cancel;
use crate::error::Result;
use crate::external::Scratch;
use crate::facts::{BlockFacts, TokenFacts};

/// Steps between two looks at the cancel token.
const CANCEL_STEP: u64 = 4096;

/// Rows or postings after which the memory of what was read of the sources is given back.
const RELEASE_STEP: u64 = 1 << 20;

/// The next of a source in order of hashes: first bytes, the hash where those are not enough, and the old row. Those of
/// which the hash is not known yet come first, so that none is handed on before it was looked at.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HashHead {
    prefix: u64,
    hash: Option<[u8; 32]>,
    source: usize,
    row: u32,
}
/// The number of a block, and its source.
type BlockHead = Reverse<(u64, usize)>;
/// The hash and output that are spent, the new input, and its source.
type SpendHead = Reverse<([u8; 32], u32, u32, usize)>;

/// A segment that goes into a merge.
pub(crate) struct Source<'a> {
    pub(crate) segment: &'a Segment,
    /// Rows that are left out, ascending.
    pub(crate) without: &'a [u32],
}

/// Gives back the memory of what was read, every [`RELEASE_STEP`].
fn release(sources: &[Source<'_>], count: u64) {
    for source in sources.iter().filter(|_| count.is_multiple_of(RELEASE_STEP)) {
        source.segment.release();
    }
}

impl Source<'_> {
    fn is_out(&self, row: u32) -> bool {
        !self.without.is_empty() && self.without.binary_search(&row).is_ok()
    }
}

/// Writes the segment that holds what all sources hold; the number of its bytes. `progress(done, total)` counts rows.
///
/// # Errors
/// When a source is damaged, when the segment would pass its limits, when it cannot be written, or when cancelled.
pub(crate) fn merge(
    (chain, network): (Chain, Network),
    sources: &[Source<'_>],
    scratch: &Scratch,
    sink: &mut dyn Write,
    (progress, cancel): (&dyn Fn(u64, u64), &Cancel),
) -> Result<u64> {
    let spool = Spool::within(scratch);
    let leaving = sources
        .iter()
        .enumerate()
        .map(|(place, _)| OmittedEntries::of(sources, place, cancel))
        .collect::<Result<Vec<_>>>()?;
    let frame = leave::frame(sources, cancel)?;
    frame.check()?;
    let mut marks = Marks::default();
    for (source, leaving) in sources.iter().zip(&leaving) {
        marks.add(source.segment.marks());
        marks.take(leaving.marks);
    }
    let mut out = SegmentFile::begin(sink, chain, network)?;
    let ids = accounts::unite(chain, sources, &leaving, &spool, &mut out, cancel)?;

    let mut transactions = TransactionsWriter::new(&spool, frame);
    let merged = rows::merge(sources, &leaving, &ids, frame, (&mut transactions, &mut out), (progress, cancel))?;
    transactions.end_rows(&mut out)?;
    let mut totals = Totals {
        frame,
        transactions: transactions.rows(),
        movements: merged.movements,
        accounts: ids.accounts,
        assets: ids.assets,
        blocks: 0,
        tokens: 0,
        inputs: transactions.inputs(),
        hubs: 0,
        fee_payers: 0,
        marks,
        times_ordered: merged.times_ordered,
    };
    totals.tokens = put_tokens(sources, &ids, &mut transactions, &spool, &mut out)?;
    totals.blocks = put_blocks(chain, sources, &spool, &mut out, cancel)?;
    put_hashes(sources, &merged, &spool, &mut out, cancel)?;
    put_spenders(sources, &merged, &spool, &mut out, cancel)?;
    let (knots, opened) = (transactions.knots(), transactions.opened());
    let shape = Shape::new(totals.transactions, totals.accounts, totals.assets, knots.clone());
    transactions.put(&mut out)?;

    let mut writer = PostingsWriter::new(&spool, shape, frame, &mut out);
    postings::merge(sources, &ids, &merged, frame, &mut writer, cancel)?;
    totals.hubs = writer.put(totals.accounts)?;
    let mut fees = FeesWriter::new(&spool);
    postings::merge_fees(sources, &leaving, &ids, &merged, &mut fees)?;
    totals.fee_payers = fees.len();
    fees.put(&mut out)?;
    openings::merge(sources, &ids, &merged, &spool, cancel)?.put(&opened, &mut out)?;
    release(sources, 0);
    finish(out, &knots, &totals)
}

fn put_tokens(
    sources: &[Source<'_>],
    ids: &Ids,
    transactions: &mut TransactionsWriter,
    spool: &Arc<Spool>,
    out: &mut SegmentFile<'_>,
) -> Result<u64> {
    let mut tokens: BTreeMap<u32, TokenFacts> = BTreeMap::new();
    for (source, ids) in sources.iter().zip(&ids.sources) {
        for place in 0..source.segment.token_count() {
            let (contract, token) = source.segment.token_of(place)?;
            let contract = ids.account(contract);
            let joined = match tokens.remove(&contract) {
                Some(known) => known.join(token),
                None => token,
            };
            tokens.insert(contract, joined);
        }
    }
    let mut writer = TokensWriter::new(spool);
    for (contract, token) in tokens {
        let symbol = transactions.text(token.symbol.as_deref().map(str::as_bytes))?;
        let name = transactions.text(token.name.as_deref().map(str::as_bytes))?;
        writer.push(contract, symbol, name, stored_decimals(&token))?;
    }
    let count = writer.len();
    writer.put(out)?;
    Ok(count)
}

fn put_blocks(
    chain: Chain,
    sources: &[Source<'_>],
    spool: &Arc<Spool>,
    out: &mut SegmentFile<'_>,
    cancel: &Cancel,
) -> Result<u64> {
    let mut writer = BlocksWriter::new(spool);
    let mut next: Vec<(u64, Option<BlockFacts>)> = vec![(0, None); sources.len()];
    let mut heads = BinaryHeap::new();
    // The block at the head of a source, and the number of the next one.
    let mut advance = |source: usize| -> Result<(Option<BlockFacts>, Option<BlockHead>)> {
        let segment = sources[source].segment;
        let (place, head) = &mut next[source];
        let block = if *place < segment.block_count() { Some(segment.block_of(*place)?) } else { None };
        *place += 1;
        let number = block.as_ref().map(|block| Reverse((block.number, source)));
        Ok((std::mem::replace(head, block), number))
    };
    for source in 0..sources.len() {
        heads.extend(advance(source)?.1);
    }
    let mut waiting: Option<BlockFacts> = None;
    while let Some(Reverse((number, source))) = heads.pop() {
        if writer.len().is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        let (block, head) = advance(source)?;
        heads.extend(head);
        let same = waiting.take_if(|known| known.number == number);
        if let Some(other) = waiting.take() {
            writer.push(&other)?;
        }
        waiting = match (same, block) {
            (Some(known), Some(block)) => Some(known.join(&block, chain)?),
            (known, block) => known.or(block),
        };
    }
    if let Some(block) = waiting {
        writer.push(&block)?;
    }
    let count = writer.len();
    writer.put(out)?;
    Ok(count)
}

fn put_hashes(
    sources: &[Source<'_>],
    merged: &RowOrder,
    spool: &Arc<Spool>,
    out: &mut SegmentFile<'_>,
    cancel: &Cancel,
) -> Result<()> {
    let mut writer = HashesWriter::new(spool);
    let mut next: Vec<(u32, Walk)> = sources.iter().map(|_| (0, Walk::default())).collect();
    let mut advance = |source: usize| -> Result<Option<Reverse<HashHead>>> {
        let Source { segment, .. } = sources[source];
        let (place, walk) = &mut next[source];
        while *place < segment.transactions() {
            let (prefix, row) = segment.row_by_hash(*place, walk)?;
            *place += 1;
            if !sources[source].is_out(row) {
                return Ok(Some(Reverse(HashHead { prefix, hash: None, source, row })));
            }
        }
        Ok(None)
    };
    let mut heads = BinaryHeap::new();
    for source in 0..sources.len() {
        heads.extend(advance(source)?);
    }
    let mut count = 0_u64;
    while let Some(Reverse(mut head)) = heads.pop() {
        let is_tied = heads.peek().is_some_and(|Reverse(other)| other.prefix == head.prefix);
        if head.hash.is_none() && is_tied {
            // Whole hashes lie all over their section: they are read where the first bytes are equal.
            head.hash = Some(*sources[head.source].segment.hash(head.row)?.as_bytes());
            heads.push(Reverse(head));
            continue;
        }
        if count.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        release(sources, count);
        count += 1;
        writer.push(head.prefix, merged.rows[head.source].get(head.row))?;
        heads.extend(advance(head.source)?);
    }
    writer.put(out)
}

fn put_spenders(
    sources: &[Source<'_>],
    merged: &RowOrder,
    spool: &Arc<Spool>,
    out: &mut SegmentFile<'_>,
    cancel: &Cancel,
) -> Result<()> {
    let mut writer = SpendersWriter::new(spool);
    let mut next = vec![0; sources.len()];
    let mut advance = |source: usize| -> Result<Option<SpendHead>> {
        let Source { segment, .. } = sources[source];
        while next[source] < segment.input_count() {
            let (input, hash, index) = segment.input_by_hash(next[source])?;
            next[source] += 1;
            if let Some(new) = merged.input(source, input) {
                return Ok(Some(Reverse((hash, index, new, source))));
            }
        }
        Ok(None)
    };
    let mut heads = BinaryHeap::new();
    for source in 0..sources.len() {
        heads.extend(advance(source)?);
    }
    let mut count = 0_u64;
    while let Some(mut head) = heads.peek_mut() {
        if count.is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
        }
        count += 1;
        let Reverse((hash, _, input, source)) = *head;
        writer.push(&hash, input)?;
        match advance(source)? {
            Some(next) => *head = next,
            None => {
                std::collections::binary_heap::PeekMut::pop(head);
            }
        }
    }
    writer.put(out)
}
