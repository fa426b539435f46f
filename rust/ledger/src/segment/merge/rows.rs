//! Transactions of several segments in one order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use headwater_types::Amount;
use rustc_hash::FxHashMap;

use super::accounts::{Ids, SourceIds};
use super::leave::OmittedEntries;
use super::places::Places;
use super::{CANCEL_STEP, Source, release};
use crate::Cancel;
use crate::error::Result;
use crate::segment::container::SegmentFile;
use crate::segment::fee::saturating_add;
use crate::segment::read::Walk;
use crate::segment::record::{OutputRecord, TransactionRecord};
use crate::segment::write::{Frame, TransactionsWriter};

/// The result of putting rows in order.
pub(super) struct RowOrder {
    /// New rows, by source.
    pub(super) rows: Vec<Places>,
    inputs: Vec<Places>,
    /// Inputs of rows that are left out, by source.
    gone: Vec<Vec<Range<u32>>>,
    pub(super) movements: u64,
    pub(super) times_ordered: bool,
    /// Fees that were counted anew, by new account.
    pub(super) fees: FxHashMap<u32, Amount>,
}

impl RowOrder {
    /// The new number of an input; `None` when its row is left out.
    pub(super) fn input(&self, source: usize, old: u32) -> Option<u32> {
        let behind = self.gone[source].partition_point(|gone| gone.start <= old);
        let is_gone = behind.checked_sub(1).is_some_and(|at| self.gone[source][at].contains(&old));
        (!is_gone).then(|| self.inputs[source].get(old))
    }
}

/// The reading position of one source.
struct Reading<'a> {
    source: &'a Source<'a>,
    /// The row that `record` is of.
    row: u32,
    record: TransactionRecord,
    walk: Walk,
    inputs: u32,
}

impl Reading<'_> {
    /// Goes to the first row from `row` on that is not left out, and returns where it is.
    fn load(&mut self, row: u32, gone: &mut Vec<Range<u32>>) -> Result<Option<Standing>> {
        let segment = self.source.segment;
        for row in row..segment.transactions() {
            segment.next_record(row, &mut self.walk, &mut self.record)?;
            if self.source.is_out(row) {
                let count = count_of(&self.record);
                gone.push(self.inputs..self.inputs.saturating_add(count));
                self.inputs = self.inputs.saturating_add(count);
                continue;
            }
            self.row = row;
            let block = segment.base().0.saturating_add(u64::from(self.record.block));
            return Ok(Some((block, self.record.index.map_or(u64::MAX, u64::from), self.record.hash)));
        }
        Ok(None)
    }
}

/// The order of rows: block, index with unknown last, hash.
type Standing = (u64, u64, [u8; 32]);

fn count_of(record: &TransactionRecord) -> u32 {
    u32::try_from(record.inputs.len()).unwrap_or(u32::MAX)
}

/// Hands all rows on, in order and under new ids.
pub(super) fn merge(
    sources: &[Source<'_>],
    leaving: &[OmittedEntries],
    ids: &Ids,
    frame: Frame,
    (writer, out): (&mut TransactionsWriter, &mut SegmentFile<'_>),
    (progress, cancel): (&dyn Fn(u64, u64), &Cancel),
) -> Result<RowOrder> {
    let total = sources.iter().map(|source| u64::from(source.segment.transactions())).sum();
    let mut merged = RowOrder {
        rows: sources.iter().map(|source| Places::new(source.segment.transactions() as usize)).collect(),
        inputs: sources.iter().map(|source| Places::new(source.segment.input_count())).collect(),
        gone: vec![Vec::new(); sources.len()],
        movements: sources.iter().map(|source| source.segment.movements()).sum::<u64>()
            - leaving.iter().map(|leaving| leaving.movements).sum::<u64>(),
        times_ordered: true,
        fees: FxHashMap::default(),
    };
    let mut readings: Vec<Reading<'_>> = sources
        .iter()
        .map(|source| Reading {
            source,
            row: 0,
            record: TransactionRecord::default(),
            walk: Walk::default(),
            inputs: 0,
        })
        .collect();
    let mut heads = BinaryHeap::with_capacity(sources.len());
    for (place, reading) in readings.iter_mut().enumerate() {
        heads.extend(reading.load(0, &mut merged.gone[place])?.map(|standing| Reverse((standing, place))));
    }
    let mut last_time = 0;
    while let Some(mut top) = heads.peek_mut() {
        if writer.rows().is_multiple_of(CANCEL_STEP) {
            cancel.check()?;
            progress(writer.rows(), total);
            release(sources, writer.rows());
        }
        let Reverse((_, place)) = *top;
        let reading = &mut readings[place];
        let segment = reading.source.segment;
        let (base_block, base_time) = segment.base();
        let record = &mut reading.record;
        if let (Some(payer), Some(fee)) = (record.from, fee_of(record))
            && leaving[place].recounts(payer)
        {
            let paid = merged.fees.entry(ids.sources[place].account(payer)).or_default();
            *paid = saturating_add(*paid, fee);
        }
        // The frame holds every row: it was united of what the sources span.
        record.block = narrow(base_block.saturating_add(u64::from(record.block)).saturating_sub(frame.first_block));
        let time = base_time.secs().saturating_add(i64::from(record.time));
        record.time = narrow(time.saturating_sub(frame.first_time).unsigned_abs());
        rename(record, &ids.sources[place]);
        merged.times_ordered &= last_time <= record.time;
        last_time = record.time;
        merged.rows[place].push(reading.row, narrow(writer.rows()), 1);
        let count = count_of(record);
        merged.inputs[place].push(reading.inputs, narrow(writer.inputs()), count);
        reading.inputs = reading.inputs.saturating_add(count);
        writer.push(record, out)?;
        match reading.load(reading.row + 1, &mut merged.gone[place])? {
            Some(standing) => *top = Reverse((standing, place)),
            None => {
                std::collections::binary_heap::PeekMut::pop(top);
            }
        }
    }
    progress(total, total);
    Ok(merged)
}

/// Numbers past 32 bits are refused by the frame and by the writer; those of damaged sources become the largest.
fn narrow(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

fn rename(record: &mut TransactionRecord, ids: &SourceIds) {
    record.from = ids.optional(record.from);
    record.to = ids.optional(record.to);
    record.created = ids.optional(record.created);
    for movement in &mut record.movements {
        movement.from = ids.optional(movement.from);
        movement.to = ids.optional(movement.to);
        movement.asset = ids.asset(movement.asset);
    }
    record.logs.iter_mut().for_each(|log| log.address = ids.account(log.address));
    let rename = |output: &mut OutputRecord| output.owner = ids.optional(output.owner);
    record.inputs.iter_mut().filter_map(|input| input.spent.as_mut()).for_each(rename);
    record.outputs.iter_mut().for_each(rename);
}

/// The fee of an account-chain transaction, as [`fee_of`](super::super::fee_of) computes it from facts.
fn fee_of(record: &TransactionRecord) -> Option<Amount> {
    let by_gas = || record.paid_price.or(record.gas_price)?.checked_mul(Amount::from(record.gas_used?));
    record.fee.or_else(by_gas)
}
