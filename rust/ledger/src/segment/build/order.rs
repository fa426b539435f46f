//! The order of rows: blocks by number, transactions by (block, index with unknown last, hash).

use headwater_types::Timestamp;
use rayon::prelude::*;

use super::id;
use crate::error::{ConflictParties, LedgerError, Result};
use crate::facts::{BlockFacts, TransactionFacts};
use crate::segment::SegmentInput;
use crate::segment::layout::{Summary, prefix};

/// A transaction at its place, with its sort key: facts are large, and lie far apart.
pub(super) struct Row<'a> {
    pub(super) facts: &'a TransactionFacts,
    pub(super) time: Timestamp,
    block: u64,
    /// The largest number where it is not known.
    index: u64,
    /// First bytes of the hash.
    prefix: u64,
}

/// Blocks by number, each once.
pub(super) fn blocks(input: &SegmentInput) -> Result<Vec<&BlockFacts>> {
    let mut blocks: Vec<_> = input.blocks.iter().collect();
    blocks.par_sort_unstable_by_key(|block| (block.number, block.time, block.hash, block.parent));
    blocks.dedup();
    id(blocks.len(), "blocks")?;
    match blocks.windows(2).find(|pair| pair[0].number == pair[1].number) {
        None => Ok(blocks),
        Some(pair) => Err(LedgerError::Conflict {
            chain: input.chain,
            what: "block",
            id: pair[0].number.to_string(),
            field: "facts",
            held: format!("{:?}", pair[0]),
            offered: format!("{:?}", pair[1]),
            between: ConflictParties::Rows,
        }),
    }
}

/// Transactions in order, with the times of their blocks.
pub(super) fn rows<'a>(input: &'a SegmentInput, blocks: &[&BlockFacts]) -> Result<Vec<Row<'a>>> {
    id(input.transactions.len(), "transactions")?;
    let mut of_block = None;
    let mut rows = Vec::with_capacity(input.transactions.len());
    for facts in &input.transactions {
        let transaction = || facts.hash.display(input.chain.family());
        // Transactions of one block mostly follow each other.
        if of_block.is_none_or(|block: &BlockFacts| block.number != facts.block) {
            of_block = blocks.binary_search_by_key(&facts.block, |block| block.number).ok().map(|place| blocks[place]);
        }
        let Some(block) = of_block else {
            let (chain, block) = (input.chain, facts.block);
            return Err(LedgerError::UnknownTime { chain, block, transaction: transaction() });
        };
        let time = block.time;
        if facts.time.is_some_and(|stated| stated != time) {
            return Err(LedgerError::Conflict {
                chain: input.chain,
                what: "transaction",
                id: transaction(),
                field: "time",
                held: time.to_string(),
                offered: facts.time.map_or_else(String::new, |stated| stated.to_string()),
                between: ConflictParties::Rows,
            });
        }
        let index = facts.index.map_or(u64::MAX, u64::from);
        rows.push(Row { facts, time, block: facts.block, index, prefix: prefix(facts.hash.as_bytes()) });
    }
    rows.par_sort_unstable_by(|a, b| {
        let place = |row: &Row<'_>| (row.block, row.index, row.prefix);
        place(a).cmp(&place(b)).then_with(|| a.facts.hash.cmp(&b.facts.hash))
    });
    Ok(rows)
}

/// The numbers about the whole segment that follow from the order.
pub(super) fn summary(rows: &[Row<'_>]) -> Result<Summary> {
    let mut summary: Summary = bytemuck::Zeroable::zeroed();
    summary.transactions = rows.len() as u64;
    summary.times_ordered = u64::from(rows.is_sorted_by_key(|row| row.time));
    let (Some(first), Some(last)) = (rows.first(), rows.last()) else { return Ok(summary) };
    summary.first_block = first.block;
    summary.last_block = last.block;
    summary.first_time = rows.iter().map(|row| row.time.secs()).min().unwrap_or_default();
    summary.last_time = rows.iter().map(|row| row.time.secs()).max().unwrap_or_default();
    summary.base_block = summary.first_block;
    summary.base_time = summary.first_time;
    let limit = u64::from(u32::MAX);
    if summary.last_block - summary.base_block > limit {
        return Err(LedgerError::SegmentFull { what: "blocks between its first and last", limit });
    }
    if summary.last_time.abs_diff(summary.base_time) > limit {
        return Err(LedgerError::SegmentFull { what: "seconds between its first and last", limit });
    }
    Ok(summary)
}

/// First bytes and rows in order of hashes.
pub(super) fn by_hash(input: &SegmentInput, rows: &[Row<'_>]) -> Result<Vec<(u64, u32)>> {
    id(rows.len(), "transactions")?;
    let hash = |row: u32| rows[row as usize].facts.hash;
    let mut by_hash: Vec<(u64, u32)> = rows.iter().zip(0..).map(|(at, row)| (at.prefix, row)).collect();
    by_hash.par_sort_unstable_by(|a, b| {
        a.0.cmp(&b.0).then_with(|| hash(a.1).as_bytes().cmp(hash(b.1).as_bytes())).then(a.1.cmp(&b.1))
    });
    if let Some(pair) = by_hash.windows(2).find(|pair| pair[0].0 == pair[1].0 && hash(pair[0].1) == hash(pair[1].1)) {
        let place = |row: u32| {
            let facts = rows[row as usize].facts;
            format!("block {}, index {:?}", facts.block, facts.index)
        };
        return Err(LedgerError::Conflict {
            chain: input.chain,
            what: "transaction",
            id: hash(pair[0].1).display(input.chain.family()),
            field: "place",
            held: place(pair[0].1),
            offered: place(pair[1].1),
            between: ConflictParties::Rows,
        });
    }
    Ok(by_hash)
}
