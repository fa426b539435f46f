//! The movements of a transaction, one line each: what its postings are made of, and what scans in the order of the
//! chain show.

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::layout::{head, movement};
use super::record::{MovementRecord, TransactionRecord};
use crate::primitives::{MovementKind, posting_bits};

/// One movement inside a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MovementLine {
    /// Bits of [`posting_bits`], without a direction.
    pub(crate) flags: u8,
    pub(crate) ordinal: u64,
    /// Accounts. The net change of an account on a UTXO chain has one side; both are the account where it is zero.
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) asset: u32,
    pub(crate) amount: Amount,
}

/// Lists the movements of one record after the other, keeping its memory.
#[derive(Default)]
pub(crate) struct MovementLines {
    ordered: Vec<(MovementKind, bool, MovementRecord)>,
    places: FxHashMap<u32, usize>,
    sums: Vec<(u32, u128, u128)>,
}

impl MovementLines {
    /// Shows all movements of a transaction in order of kind and ordinal. What no transaction made (`is_made`) cannot
    /// fail, and no UTXO transaction in a block can.
    pub(crate) fn visit(&mut self, record: &TransactionRecord, is_made: bool, visit: &mut impl FnMut(&MovementLine)) {
        let has = |bit: u32| record.flags & bit != 0;
        let status = match (has(head::SUCCESS), has(head::FAILED)) {
            (true, _) => posting_bits::SUCCESS,
            (_, true) => posting_bits::FAILED,
            _ if has(head::HAS_UTXO) || is_made => posting_bits::SUCCESS,
            _ => 0,
        };
        if let Some(amount) = record.value {
            let creates = if record.from.is_some() && record.to.is_none() { posting_bits::CREATES } else { 0 };
            let approximate = if has(head::APPROXIMATE) { posting_bits::approximate(0) } else { 0 };
            visit(&MovementLine {
                flags: kind_bits(MovementKind::Native) | status | creates | approximate,
                ordinal: 0,
                from: record.from,
                to: record.to.or(record.created),
                asset: 0,
                amount,
            });
        }
        self.inner(&record.movements, status, visit);
        if has(head::HAS_UTXO) {
            self.net_changes(record, status, visit);
        }
    }

    fn inner(&mut self, movements: &[MovementRecord], status: u8, visit: &mut impl FnMut(&MovementLine)) {
        self.ordered.clear();
        self.ordered.extend(movements.iter().filter_map(|record| {
            let kind = match record.flags & movement::KIND {
                movement::INTERNAL => MovementKind::Internal,
                movement::TOKEN => MovementKind::Token,
                // Non-fungible ones move no amount, and openings move nothing.
                _ => return None,
            };
            Some((kind, record.flags & movement::UNINDEXED != 0, *record))
        }));
        self.ordered.sort_by_key(|&(kind, unindexed, record)| (kind, unindexed, record.ordinal));
        for (kind, is_unindexed, record) in &self.ordered {
            let MovementRecord { flags, ordinal, from, to, asset, amount } = *record;
            let kind = kind_bits(*kind);
            let approximate = if flags & movement::APPROXIMATE == 0 { 0 } else { posting_bits::approximate(kind) };
            let unindexed = if *is_unindexed { posting_bits::UNINDEXED } else { 0 };
            let flags = kind | status | approximate | unindexed;
            visit(&MovementLine { flags, ordinal, from, to, asset, amount });
        }
    }

    /// One line per address: what the transaction changed for it.
    fn net_changes(&mut self, record: &TransactionRecord, status: u8, visit: &mut impl FnMut(&MovementLine)) {
        let Self { places, sums, .. } = self;
        places.clear();
        sums.clear();
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
        for (&(account, gone, come), ordinal) in sums.iter().zip(0..) {
            visit(&MovementLine {
                flags: kind_bits(MovementKind::Utxo) | status,
                ordinal,
                from: (gone >= come).then_some(account),
                to: (come >= gone).then_some(account),
                asset: 0,
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
