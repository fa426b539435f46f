//! Movements as the accounts see them: one entry per movement and side, in order of rows, kinds and ordinals.

use std::ops::Range;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use crate::primitives::{MovementKind, posting_bits};
use crate::segment::layout::{NONE, head, movement};
use crate::segment::record::{MovementRecord, TransactionRecord};

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
    ordered: Vec<(MovementKind, bool, MovementRecord)>,
}

impl Movements {
    /// For so many accounts.
    pub(super) fn new(accounts: usize) -> Self {
        let step = u32::try_from(accounts.div_ceil(PARTS)).unwrap_or(u32::MAX).max(1);
        Self { parts: vec![Vec::new(); PARTS], step, count: 0, ordered: Vec::new() }
    }

    /// All entries, in parts: the accounts of each, and its entries in order of rows.
    pub(super) fn into_parts(self) -> impl Iterator<Item = (Range<u32>, Vec<Entry>)> {
        let step = self.step;
        let starts = (0..).map(move |part: u32| part.saturating_mul(step));
        self.parts.into_iter().zip(starts).map(move |(entries, start)| (start..start.saturating_add(step), entries))
    }

    /// All movements of one transaction. What no transaction made (`is_made`) cannot fail, and no UTXO transaction in
    /// a block can.
    pub(super) fn add(&mut self, row: u32, record: &TransactionRecord, is_made: bool) {
        let has = |bit: u32| record.flags & bit != 0;
        let status = match (has(head::SUCCESS), has(head::FAILED)) {
            (true, _) => posting_bits::SUCCESS,
            (_, true) => posting_bits::FAILED,
            _ if has(head::HAS_UTXO) || is_made => posting_bits::SUCCESS,
            _ => 0,
        };
        if let Some(value) = record.value {
            let creates = if record.from.is_some() && record.to.is_none() { posting_bits::CREATES } else { 0 };
            let native = MovementRecord {
                flags: 0,
                ordinal: 0,
                from: record.from,
                to: record.to.or(record.created),
                asset: 0,
                amount: value,
            };
            let approximate = if has(head::APPROXIMATE) { posting_bits::approximate(0) } else { 0 };
            self.sides(row, &native, kind_bits(MovementKind::Native) | status | creates | approximate);
        }
        self.inner(row, &record.movements, status);
        if has(head::HAS_UTXO) {
            self.net_changes(row, record, status);
        }
    }

    fn inner(&mut self, row: u32, movements: &[MovementRecord], status: u8) {
        let mut ordered = std::mem::take(&mut self.ordered);
        ordered.extend(movements.iter().filter_map(|record| {
            let kind = match record.flags & movement::KIND {
                movement::INTERNAL => MovementKind::Internal,
                movement::TOKEN => MovementKind::Token,
                // Non-fungible ones move no amount, and openings move nothing.
                _ => return None,
            };
            Some((kind, record.flags & movement::UNINDEXED != 0, *record))
        }));
        ordered.sort_by_key(|&(kind, unindexed, record)| (kind, unindexed, record.ordinal));
        for (kind, unindexed, record) in ordered.drain(..) {
            let kind = kind_bits(kind);
            let approximate =
                if record.flags & movement::APPROXIMATE == 0 { 0 } else { posting_bits::approximate(kind) };
            self.sides(row, &record, kind | status | approximate | if unindexed { posting_bits::UNINDEXED } else { 0 });
        }
        self.ordered = ordered;
    }

    fn sides(&mut self, row: u32, record: &MovementRecord, flags: u8) {
        self.count += 1;
        let MovementRecord { from, to, asset, ordinal, amount, .. } = *record;
        let mut push = |account: Option<u32>, other: Option<u32>, direction: u8| {
            if let Some(account) = account {
                let other = other.unwrap_or(NONE);
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

    /// One entry per address: what the transaction changed for it.
    fn net_changes(&mut self, row: u32, record: &TransactionRecord, status: u8) {
        let mut places: FxHashMap<u32, usize> = FxHashMap::default();
        let mut sums: Vec<(u32, u128, u128)> = Vec::new();
        let spent = record.inputs.iter().filter_map(|input| input.spent.as_ref()).map(|output| (output, true));
        let made = record.outputs.iter().map(|output| (output, false));
        for (output, is_spent) in spent.chain(made) {
            let Some(owner) = output.owner else { continue };
            let place = *places.entry(owner).or_insert_with(|| {
                sums.push((owner, 0, 0));
                sums.len() - 1
            });
            let (_, gone, come) = &mut sums[place];
            *(if is_spent { gone } else { come }) += u128::from(output.amount);
        }
        for (ordinal, (account, gone, come)) in sums.into_iter().enumerate() {
            let direction = match come.cmp(&gone) {
                std::cmp::Ordering::Greater => posting_bits::IN,
                std::cmp::Ordering::Less => posting_bits::OUT,
                std::cmp::Ordering::Equal => posting_bits::OWN,
            };
            self.count += 1;
            self.push(Entry {
                account,
                row,
                other: NONE,
                asset: 0,
                flags: kind_bits(MovementKind::Utxo) | status | direction,
                ordinal: ordinal as u64,
                amount: Amount::from_u128(come.abs_diff(gone)),
            });
        }
    }
}

const fn kind_bits(kind: MovementKind) -> u8 {
    match kind {
        MovementKind::Native => 0,
        MovementKind::Internal => 1,
        MovementKind::Token => 2,
        MovementKind::Utxo => 3,
    }
}
