//! Movements as the accounts see them: one entry per movement and side, in order of rows, kinds and ordinals.

use std::ops::Range;

use headwater_types::Amount;

use crate::primitives::{MovementKind, PostingFlags, posting_bits};
use crate::segment::layout::NONE;
use crate::segment::lines::{MovementLine, MovementLines};
use crate::segment::record::TransactionRecord;

/// One posting to be.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) account: u32,
    pub(super) row: u32,
    pub(super) other: u32,
    pub(super) asset: u32,
    pub(super) flags: u8,
    pub(super) ordinal: u64,
    pub(super) amount: Amount,
}

/// Parts that entries are put in: few enough to write to all of them in turn, many enough for each to be sorted in the
/// cache.
const PARTS: usize = 256;

/// Makes entries; counts movements on the way.
pub(super) struct Movements {
    /// Entries by part; the accounts of a part follow each other.
    parts: Vec<Vec<Entry>>,
    /// Accounts of a part.
    step: u32,
    pub(super) count: u64,
    lines: MovementLines,
}

impl Movements {
    /// For so many accounts.
    pub(super) fn new(accounts: usize) -> Self {
        let step = u32::try_from(accounts.div_ceil(PARTS)).unwrap_or(u32::MAX).max(1);
        Self { parts: vec![Vec::new(); PARTS], step, count: 0, lines: MovementLines::default() }
    }

    /// All entries, in parts: the accounts of each, and its entries in order of rows.
    pub(super) fn into_parts(self) -> impl Iterator<Item = (Range<u32>, Vec<Entry>)> {
        let step = self.step;
        let starts = (0..).map(move |part: u32| part.saturating_mul(step));
        self.parts.into_iter().zip(starts).map(move |(entries, start)| (start..start.saturating_add(step), entries))
    }

    /// All movements of one transaction; see [`MovementLines::visit`].
    pub(super) fn add(&mut self, row: u32, record: &TransactionRecord, is_made: bool) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.visit(record, is_made, &mut |line| self.sides(row, line));
        self.lines = lines;
    }

    fn sides(&mut self, row: u32, line: &MovementLine) {
        self.count += 1;
        let MovementLine { flags, ordinal, from, to, asset, amount } = *line;
        let is_net = PostingFlags(flags).kind() == MovementKind::Utxo;
        let mut push = |account: Option<u32>, other: Option<u32>, direction: u8| {
            if let Some(account) = account {
                // On the other side of a net change there may be several.
                let other = other.filter(|_| !is_net).unwrap_or(NONE);
                self.push(Entry { account, row, other, asset, flags: flags | direction, ordinal, amount });
            }
        };
        if from == to {
            push(from, to, posting_bits::OWN);
        } else {
            push(from, to, posting_bits::OUT);
            push(to, from, posting_bits::IN);
        }
    }

    fn push(&mut self, entry: Entry) {
        self.parts[(entry.account / self.step) as usize].push(entry);
    }
}
