//! The movements of one row after the other.

use super::super::lines::{MovementLine, MovementLines};
use super::super::posting::ordinal_of;
use super::super::record::TransactionRecord;
use super::transactions::is_coinbase;
use super::{Segment, Walk};
use crate::error::Result;
use crate::primitives::Ordinal;

/// Reads the movements of rows of one segment, best in their order: it keeps the blocks it decoded last.
#[derive(Default)]
pub(crate) struct LineReader {
    walk: Walk,
    record: TransactionRecord,
    lines: MovementLines,
}

impl LineReader {
    /// Reads a row and shows its movements in order; returns whether it mints a block reward.
    pub(crate) fn visit(&mut self, segment: &Segment, row: u32, visit: &mut impl FnMut(&MovementLine)) -> Result<bool> {
        segment.transactions.movement_record(row, &segment.utxo, &mut self.walk, &mut self.record)?;
        let is_made = headwater_types::TxHash::new(self.record.hash).is_made();
        self.lines.visit(&self.record, is_made, visit);
        Ok(is_coinbase(self.record.flags))
    }
}

impl MovementLine {
    /// The number of the movement within its kind and transaction.
    pub(crate) fn ordinal(&self) -> Ordinal {
        ordinal_of(self.flags, self.ordinal)
    }
}
