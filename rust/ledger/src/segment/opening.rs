//! Opening balances on their way into a segment: what a list of holders stated, by token and by account.

use std::collections::BTreeMap;
use std::sync::Arc;

use headwater_types::Amount;

use super::container::SegmentFile;
use super::layout::{self, OpeningRow, movement};
use super::pack::{AmountTableWriter, IntWriter};
use super::record::{MovementRecord, TransactionRecord};
use super::spool::Spool;
use crate::error::Result;

/// The balance that one account was stated to hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OpeningEntry {
    pub(crate) account: u32,
    pub(crate) row: u32,
    pub(crate) asset: u32,
    pub(crate) amount: Amount,
}

/// The beginning of the history of a token in a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct HistoryStart {
    pub(crate) asset: u32,
    /// First row of the block of the opening: balances that are stated before are out of date.
    pub(super) opened: u32,
    /// First row behind the block: what moved before is in the balances that were stated.
    pub(super) from: u32,
}

/// The opening balances of a row, in the order of its movements.
pub(super) fn entries(row: u32, record: &TransactionRecord) -> impl Iterator<Item = OpeningEntry> {
    let movements = record.movements.iter().filter(|movement| is_opening(movement));
    movements.filter_map(move |&MovementRecord { to, asset, amount, .. }| {
        to.map(|account| OpeningEntry { account, row, asset, amount })
    })
}

fn is_opening(record: &MovementRecord) -> bool {
    record.flags & movement::KIND == movement::OPENING
}

/// Finds the first row of the latest opening of each token, while rows come in order. The native coin has none: what
/// was paid in fees before a block is not kept apart.
#[derive(Debug, Clone, Default)]
pub(crate) struct OpenedRows {
    /// Block and row by asset.
    latest: BTreeMap<u32, (u32, u32)>,
}

impl OpenedRows {
    pub(super) fn push(&mut self, row: u32, record: &TransactionRecord) {
        for entry in entries(row, record).filter(|entry| entry.asset != 0) {
            let latest = self.latest.entry(entry.asset).or_insert((record.block, row));
            if latest.0 < record.block {
                *latest = (record.block, row);
            }
        }
    }

    /// In order of assets.
    pub(super) fn list(&self) -> Vec<OpeningRow> {
        self.latest.iter().map(|(&asset, &(_, row))| OpeningRow { asset, row }).collect()
    }
}

/// Takes opening balances by account, then by row.
pub(super) struct OpeningsWriter {
    accounts: IntWriter,
    rows: IntWriter,
    assets: IntWriter,
    amounts: AmountTableWriter,
}

impl OpeningsWriter {
    pub(super) fn new(spool: &Arc<Spool>) -> Self {
        Self {
            accounts: IntWriter::new(spool),
            rows: IntWriter::new(spool),
            assets: IntWriter::new(spool),
            amounts: AmountTableWriter::new(spool),
        }
    }

    pub(super) fn push(&mut self, entry: &OpeningEntry) -> Result<()> {
        self.accounts.push([u64::from(entry.account)])?;
        self.rows.push([u64::from(entry.row)])?;
        self.assets.push([u64::from(entry.asset)])?;
        self.amounts.push(entry.amount)
    }

    /// Writes nothing where there are none.
    pub(super) fn put(self, opened: &OpenedRows, out: &mut SegmentFile<'_>) -> Result<()> {
        if self.accounts.len() == 0 {
            return Ok(());
        }
        self.accounts.put(out, layout::OPENING_ACCOUNTS)?;
        self.rows.put(out, layout::OPENING_ROWS)?;
        self.assets.put(out, layout::OPENING_ASSETS)?;
        self.amounts.put(out, layout::OPENING_AMOUNTS)?;
        out.put(layout::OPENED, &opened.list())
    }
}
