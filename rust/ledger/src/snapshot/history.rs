//! Transactions of a chain in order, merged over segments, and their movements.

use std::ops::ControlFlow;

use headwater_types::TxHash;

use super::postings::rows_in;
use crate::primitives::pack;
use crate::read::{
    AccountRef, AssetRef, ChainMovement, ChainRange, PostingFlags, Result, TransactionRef, TransactionRun,
    VisitMovement,
};
use crate::segment::{LineReader, Segment};

/// The place of a transaction: block, position (unknown last), hash.
type TransactionOrder = (u64, Option<u32>, TxHash);

/// Transactions of one segment that are still to come.
struct Front<'a> {
    part: u32,
    segment: &'a Segment,
    next: u32,
    end: u32,
    place: TransactionOrder,
}

impl Front<'_> {
    fn rank(&self) -> (u64, u64, TxHash) {
        let (block, index, hash) = self.place;
        (block, index.map_or(u64::MAX, u64::from), hash)
    }

    fn place_of(segment: &Segment, row: u32) -> Result<TransactionOrder> {
        let head = segment.head(row)?;
        Ok((head.block, head.index, head.hash))
    }
}

/// Runs over the segments of a chain, each as long as no other segment has a transaction in between.
pub(super) struct Runs<'a> {
    fronts: Vec<Front<'a>>,
    max_length: u32,
}

impl<'a> Runs<'a> {
    pub(super) fn new(
        segments: impl Iterator<Item = (u32, &'a Segment)>,
        range: &ChainRange,
        max_length: u32,
    ) -> Result<Self> {
        let mut fronts = Vec::new();
        for (part, segment) in segments {
            let rows = rows_in(segment, range)?;
            if !rows.is_empty() {
                let place = Front::place_of(segment, rows.start)?;
                fronts.push(Front { part, segment, next: rows.start, end: rows.end, place });
            }
        }
        Ok(Self { fronts, max_length: max_length.max(1) })
    }

    fn step(&mut self) -> Result<Option<TransactionRun>> {
        let Some(first) = (0..self.fronts.len()).min_by_key(|&at| self.fronts[at].rank()) else { return Ok(None) };
        let others = self.fronts.iter().enumerate().filter(|(at, _)| *at != first);
        let limit = others.map(|(_, front)| front).min_by_key(|front| front.rank()).map(|front| front.place);
        let front = &mut self.fronts[first];
        let mut end = front.end.min(front.next.saturating_add(self.max_length));
        if let Some((block, index, hash)) = limit {
            end = end.min(front.segment.row_from(block, index, &hash)?);
        }
        // A transaction is in one segment only, so the front always has one before the others.
        let run = TransactionRun { part: front.part, rows: front.next..end.max(front.next + 1) };
        front.next = run.rows.end;
        if front.next < front.end {
            front.place = Front::place_of(front.segment, front.next)?;
        } else {
            self.fronts.swap_remove(first);
        }
        Ok(Some(run))
    }
}

impl Iterator for Runs<'_> {
    type Item = Result<TransactionRun>;

    fn next(&mut self) -> Option<Self::Item> {
        let step = self.step();
        if step.is_err() {
            // One error ends the runs: what follows a hole must not look like the rest.
            self.fronts.clear();
        }
        step.transpose()
    }
}

pub(super) fn visit_movements(segment: &Segment, run: &TransactionRun, visit: VisitMovement<'_>) -> Result<()> {
    let mut reader = LineReader::default();
    let mut lines = Vec::new();
    for row in run.rows.clone() {
        lines.clear();
        let is_coinbase = reader.visit(segment, row, &mut |line| lines.push(*line))?;
        if lines.is_empty() {
            continue;
        }
        let head = segment.head(row)?;
        let account = |id: u32| AccountRef(pack(run.part, id));
        for line in &lines {
            let flags = PostingFlags(line.flags);
            let movement = ChainMovement {
                transaction: TransactionRef(pack(run.part, row)),
                head,
                is_coinbase,
                kind: flags.kind(),
                ordinal: line.ordinal(),
                from: line.from.map(account),
                to: line.to.map(account),
                asset: AssetRef(pack(run.part, line.asset)),
                amount: line.amount,
                status: flags.status(),
                creates_contract: flags.creates_contract(),
                approximate: flags.is_approximate(),
            };
            if let ControlFlow::Break(()) = visit(&movement)? {
                return Ok(());
            }
        }
    }
    Ok(())
}
