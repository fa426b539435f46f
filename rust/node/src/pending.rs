//! Verified blocks that wait for a commit.

use std::collections::BTreeSet;

use headwater_ledger::facts::{Claim, MovementFact};
use headwater_ledger::read::{ChainRange, CoverageTable, History as _, Ordinal, Transactions as _, uncovered};
use headwater_ledger::{LedgerError, Snapshot};
use headwater_types::{BlockHash, Chain};

use crate::error::NodeError;
use crate::source::{BlockCounts, FetchedBlocks};

/// The longest run of transactions that is read at once.
const RUN: u32 = 1 << 16;

/// The end of the blocks that were taken so far: each piece must follow the one before, whatever was committed in between.
#[derive(Debug, Default)]
pub(crate) struct Link(Option<(u64, BlockHash, String)>);

impl Link {
    /// Compares the parent of a piece with the last block before it.
    pub fn follow(&mut self, (first, last): (u64, u64), fetched: &FetchedBlocks) -> Result<(), NodeError> {
        if let (Some((number, hash, provider)), Some(parent)) = (&self.0, fetched.parent)
            && number.checked_add(1) == Some(first)
            && *hash != parent
        {
            return Err(NodeError::Branches {
                block: first,
                provider: fetched.provider.clone(),
                before: *number,
                other: provider.clone(),
            });
        }
        self.0 = fetched.hashes.last().map(|hash| (last, *hash, fetched.provider.clone()));
        Ok(())
    }
}

/// Answers that wait for a commit.
#[derive(Default)]
pub(crate) struct PendingCommit {
    /// The first and the last block.
    pub range: Option<(u64, u64)>,
    /// The number of blocks.
    pub blocks: u64,
    /// The answers as a file would have them.
    pub content: Vec<u8>,
    pieces: Vec<Piece>,
}

/// A piece that was verified.
struct Piece {
    range: (u64, u64),
    complete: Vec<CoverageTable>,
    counts: Vec<BlockCounts>,
}

impl PendingCommit {
    /// Adds a piece.
    pub fn add(&mut self, range: (u64, u64), fetched: FetchedBlocks) {
        self.range = Some((self.range.map_or(range.0, |(begin, _)| begin), range.1));
        self.blocks += fetched.blocks;
        self.content.extend(fetched.content);
        self.pieces.push(Piece { range, complete: fetched.complete, counts: fetched.counts });
    }

    /// Returns the blocks of which the store holds more than was verified: another source added it.
    pub fn surplus(&self, snapshot: &Snapshot, chain: Chain) -> Result<BTreeSet<u64>, LedgerError> {
        let mut surplus = BTreeSet::new();
        for piece in self.pieces.iter().filter(|piece| !piece.counts.is_empty()) {
            surplus.extend(surplus_of(snapshot, chain, piece.range, &piece.counts)?);
        }
        Ok(surplus)
    }

    /// Returns the claims of the ranges that are complete. Blocks with a surplus are not claimed to be verified.
    pub fn claims(&self, surplus: &BTreeSet<u64>) -> Vec<Claim> {
        let unclaimed: Vec<(u64, u64)> = surplus.iter().map(|number| (*number, *number)).collect();
        let mut claims = Vec::new();
        for Piece { range, complete, .. } in &self.pieces {
            for &table in complete {
                let ranges = match table {
                    CoverageTable::VerifiedTransactions | CoverageTable::VerifiedReceipts => {
                        uncovered(&unclaimed, *range)
                    }
                    _ => vec![*range],
                };
                claims.extend(ranges.into_iter().map(|(first, last)| Claim::Blocks { first, last, table }));
            }
        }
        claims
    }
}

/// Returns the blocks of a piece of which the store holds more transactions, logs or token transfers than were verified.
fn surplus_of(
    snapshot: &Snapshot,
    chain: Chain,
    (first, last): (u64, u64),
    counts: &[BlockCounts],
) -> Result<BTreeSet<u64>, LedgerError> {
    let mut surplus = BTreeSet::new();
    let mut held = vec![BlockCounts { transactions: 0, logs: Some(0) }; counts.len()];
    let range = ChainRange { from_block: Some(first), up_to_block: Some(last), ..ChainRange::default() };
    for run in snapshot.transaction_runs(chain, &range, RUN)? {
        for reference in run?.transactions() {
            let facts = snapshot.transaction(reference)?.facts;
            let place = usize::try_from(facts.block - first).unwrap_or(usize::MAX);
            let (Some(held), Some(verified)) = (held.get_mut(place), counts.get(place)) else { continue };
            if facts.hash.is_made() {
                continue;
            }
            held.transactions += 1;
            held.logs = held.logs.map(|logs| logs + facts.logs.len() as u64);
            let is_logged = |ordinal| match ordinal {
                Ordinal::Indexed(index) => facts.logs.iter().any(|log| log.index == index),
                Ordinal::Unindexed(_) => false,
            };
            let mut tokens = facts.movements.iter().filter(|movement| movement.kind == MovementFact::Token);
            if verified.logs.is_some() && tokens.any(|movement| !is_logged(movement.ordinal)) {
                surplus.insert(facts.block);
            }
        }
    }
    for ((number, held), verified) in (first..).zip(held).zip(counts) {
        if held.transactions > verified.transactions || verified.logs.is_some_and(|logs| held.logs > Some(logs)) {
            surplus.insert(number);
        }
    }
    Ok(surplus)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(parent: u8, hashes: &[u8]) -> FetchedBlocks {
        let hash = |byte| BlockHash::new([byte; 32]);
        FetchedBlocks {
            parent: Some(hash(parent)),
            hashes: hashes.iter().copied().map(hash).collect(),
            provider: "a".to_owned(),
            ..FetchedBlocks::default()
        }
    }

    #[test]
    fn pieces_follow_each_other_or_leave_blocks_out() {
        let mut link = Link::default();
        link.follow((4, 5), &piece(3, &[4, 5])).unwrap();
        link.follow((6, 6), &piece(5, &[6])).unwrap();
        link.follow((8, 8), &piece(1, &[8])).unwrap();
        let error = link.follow((9, 9), &piece(7, &[9])).unwrap_err();
        assert!(matches!(error, NodeError::Branches { block: 9, before: 8, .. }), "{error}");
    }
}
