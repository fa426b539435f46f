//! Transactions: where they are, how they are found, and their records.

use std::ops::Range;
use std::sync::Arc;

use headwater_types::{Amount, Timestamp, TxHash};

use super::super::column::{Blobs, Offsets, OptionalAmounts, OptionalInts};
use super::super::container::{Column, Container, search};
use super::super::knots::Knots;
use super::super::layout::{self, Counts, Summary, head};
use super::super::pack::{AmountTable, Table};
use super::super::record::{MovementRecord, TransactionRecord};
use super::hashes::HashIndex;
use super::logs::Logs;
use super::utxo::Utxo;
use super::walk::{DirectReads, Reading, Walk};
use crate::LedgerError;
use crate::error::Result;
use crate::primitives::Status;

/// The way in which ordinals that no source gave are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissingOrdinals {
    /// As sources state them: all zero.
    AsStated,
    /// As the numbers made from their content.
    Numbered,
}

/// Everything that is filed by row.
pub(crate) struct Transactions {
    summary: Summary,
    pub(super) heads: Heads,
    index: HashIndex,
    values: OptionalAmounts,
    nonces: OptionalInts,
    gas_limits: OptionalInts,
    gas_used: OptionalInts,
    gas_prices: OptionalAmounts,
    paid_prices: OptionalAmounts,
    fees: OptionalAmounts,
    call_data: OptionalInts,
    method_ids: OptionalInts,
    methods: OptionalInts,
    failures: OptionalInts,
    movements: Movements,
    pub(super) logs: Logs,
}

/// The place of a transaction and the accounts it concerns, as distances and accounts of the segment.
pub(crate) struct Head {
    pub(crate) hash: [u8; 32],
    pub(crate) block: u32,
    pub(crate) time: u32,
    pub(crate) index: Option<u32>,
    pub(crate) from: Option<u32>,
    pub(crate) to: Option<u32>,
    pub(crate) created: Option<u32>,
    /// Bits of [`head`].
    pub(crate) flags: u32,
}

/// The places of rows.
pub(super) struct Heads {
    hashes: Column<[u8; 32]>,
    table: Table<7>,
    pace: u64,
    knots: Knots,
}

impl Heads {
    fn open(file: &Arc<Container>, counts: &Counts, knots: &Knots) -> Result<Self> {
        Ok(Self {
            hashes: file.column(layout::TX_HASHES)?,
            table: Table::open(file, layout::TX_HEADS)?,
            pace: counts.pace,
            knots: knots.clone(),
        })
    }

    pub(super) fn len(&self) -> usize {
        self.hashes.len()
    }

    pub(super) fn hash(&self, row: u32) -> Result<[u8; 32]> {
        self.hashes.get(row as usize)
    }

    /// Distance of a row's block from the first.
    #[inline]
    fn block(&self, row: usize) -> Result<u32> {
        narrow(&self.table, row, self.table.value(row, 0)?)
    }

    /// Distance of a row's time from the first.
    fn time(&self, row: usize) -> Result<u32> {
        narrow(&self.table, row, on_pace(self.pace, self.table.value(row, 0)?, self.table.value(row, 1)?))
    }

    fn index(&self, row: usize) -> Result<Option<u32>> {
        self.table.value(row, 2)?.checked_sub(1).map(|index| narrow(&self.table, row, index)).transpose()
    }

    pub(super) fn get(&self, row: u32) -> Result<Head> {
        self.read(row, &mut DirectReads)
    }

    fn read(&self, row: u32, reading: &mut impl Reading) -> Result<Head> {
        let (at, table) = (row as usize, &self.table);
        let [block, off_pace, index, from, to, created, flags] = reading.head(table, at)?;
        let id = |stored: u64| stored.checked_sub(1).map(|id| narrow(table, at, id)).transpose();
        Ok(Head {
            hash: self.hashes.get(at)?,
            block: narrow(table, at, block)?,
            time: narrow(table, at, on_pace(self.pace, block, off_pace))?,
            index: id(index)?,
            from: id(from)?,
            to: id(to)?,
            created: id(created)?,
            flags: narrow(table, at, flags)?,
        })
    }

    /// Rows among which all those of a block are, without a look at them.
    fn near(&self, block: u32) -> Range<usize> {
        let (low, high) = self.knots.rows_around(block);
        low.min(self.len())..high.min(self.len())
    }

    /// The same for a time, where times are ordered.
    fn near_time(&self, time: u32) -> Range<usize> {
        let (low, high) = self.knots.rows_around_time(time);
        low.min(self.len())..high.min(self.len())
    }

    #[cold]
    pub(super) fn wrong(&self, row: usize, what: &str) -> LedgerError {
        self.table.wrong(row, what)
    }
}

/// The time that is so far from the pace of the blocks, see [`super::super::write::Frame`].
fn on_pace(pace: u64, block: u64, off_pace: u64) -> u64 {
    off_pace.wrapping_add(pace.wrapping_mul(block)).wrapping_sub(1 << 32)
}

fn narrow<const K: usize>(table: &Table<K>, at: usize, value: u64) -> Result<u32> {
    u32::try_from(value).map_err(|_| table.wrong(at, "is too large"))
}

impl Transactions {
    pub(super) fn open(file: &Arc<Container>, summary: Summary, counts: &Counts, knots: &Knots) -> Result<Self> {
        Ok(Self {
            summary,
            heads: Heads::open(file, counts, knots)?,
            index: HashIndex::open(file, layout::HASHES, summary.transactions)?,
            values: OptionalAmounts::open(file, layout::TX_HAS_VALUE, layout::TX_VALUES)?,
            nonces: OptionalInts::open(file, layout::TX_NONCES)?,
            gas_limits: OptionalInts::open(file, layout::TX_GAS_LIMITS)?,
            gas_used: OptionalInts::open(file, layout::TX_GAS_USED)?,
            gas_prices: OptionalAmounts::open(file, layout::TX_HAS_GAS_PRICE, layout::TX_GAS_PRICES)?,
            paid_prices: OptionalAmounts::open(file, layout::TX_HAS_PAID_PRICE, layout::TX_PAID_PRICES)?,
            fees: OptionalAmounts::open(file, layout::TX_HAS_FEE, layout::TX_FEES)?,
            call_data: OptionalInts::open(file, layout::TX_INPUTS)?,
            method_ids: OptionalInts::open(file, layout::TX_METHOD_IDS)?,
            methods: OptionalInts::open(file, layout::TX_METHODS)?,
            failures: OptionalInts::open(file, layout::TX_FAILURES)?,
            movements: Movements::open(file)?,
            logs: Logs::open(file)?,
        })
    }

    pub(crate) fn block(&self, head: &Head) -> u64 {
        self.summary.base_block.saturating_add(u64::from(head.block))
    }

    pub(crate) fn time(&self, head: &Head) -> Timestamp {
        Timestamp::new(self.summary.base_time.saturating_add(i64::from(head.time)))
    }

    pub(crate) fn find(&self, hash: &TxHash) -> Result<Option<u32>> {
        self.index.find(hash.as_bytes(), &|row| self.heads.hash(row))
    }

    /// Those of sorted hashes that are held: place among them, and row.
    pub(crate) fn find_many(&self, hashes: &[TxHash]) -> Result<Vec<(usize, u32)>> {
        self.index.find_many(hashes.iter().map(TxHash::as_bytes), &|row| self.heads.hash(row))
    }

    /// First bytes and row at a place in order of hashes.
    pub(super) fn by_hash(&self, place: usize, walk: &mut Walk) -> Result<(u64, u32)> {
        self.index.prefixed(place, &mut walk.hashes)
    }

    pub(crate) fn rows_of_blocks(&self, first: u64, last: u64) -> Result<Range<u32>> {
        let all = self.heads.len();
        let base = self.summary.base_block;
        // First row whose block is not before one.
        let bound = |block: u64| -> Result<usize> {
            let Some(distance) = block.checked_sub(base) else { return Ok(0) };
            let Ok(distance) = u32::try_from(distance) else { return Ok(all) };
            search(self.heads.near(distance), |row| Ok(self.heads.block(row)? < distance))
        };
        let low = bound(first)?;
        let high = last.checked_add(1).map_or(Ok(all), bound)?.max(low);
        let row = |place: usize| u32::try_from(place).map_err(|_| self.heads.wrong(place, "lies outside"));
        Ok(row(low)?..row(high)?)
    }

    pub(crate) fn row_at(&self, block: u64, index: u32) -> Result<Option<u32>> {
        let rows = self.rows_of_blocks(block, block)?;
        let (low, high) = (rows.start as usize, rows.end as usize);
        let place = search(low..high, |row| Ok(self.heads.index(row)?.is_some_and(|at| at < index)))?;
        let found = place < high && self.heads.index(place)? == Some(index);
        let row = || u32::try_from(place).map_err(|_| self.heads.wrong(place, "lies outside"));
        found.then(row).transpose()
    }

    /// The first row that is not before a place, by (block, index with unknown last, hash).
    pub(crate) fn row_from(&self, block: u64, index: Option<u32>, hash: &TxHash) -> Result<u32> {
        let rows = self.rows_of_blocks(block, block)?;
        let order = |index: Option<u32>| index.map_or(u64::MAX, u64::from);
        let place = search(rows.start as usize..rows.end as usize, |row| {
            let held = order(self.heads.index(row)?);
            let row = u32::try_from(row).unwrap_or(u32::MAX);
            Ok(held < order(index) || held == order(index) && self.heads.hash(row)? < *hash.as_bytes())
        })?;
        u32::try_from(place).map_err(|_| self.heads.wrong(place, "lies outside"))
    }

    /// The first row whose time is not before one, where times are ordered.
    pub(crate) fn row_from_time(&self, time: Timestamp) -> Result<u32> {
        let all = self.heads.len();
        let distance = time.secs().saturating_sub(self.summary.base_time);
        let place = match u32::try_from(distance) {
            Ok(distance) => search(self.heads.near_time(distance), |row| Ok(self.heads.time(row)? < distance))?,
            Err(_) if distance < 0 => 0,
            Err(_) => all,
        };
        u32::try_from(place).map_err(|_| self.heads.wrong(place, "lies outside"))
    }

    /// The fee of a row, as [`fee_of`](super::super::fee_of) computes it on account chains.
    pub(super) fn fee(&self, row: u32) -> Result<Option<Amount>> {
        if let Some(fee) = self.fees.get(row)? {
            return Ok(Some(fee));
        }
        if self.heads.get(row)?.flags & head::BLOBS != 0 {
            return Ok(None);
        }
        let price = match self.paid_prices.get(row)? {
            Some(price) => Some(price),
            None => self.gas_prices.get(row)?,
        };
        let (Some(price), Some(gas)) = (price, self.gas_used.get(row)?) else { return Ok(None) };
        Ok(price.checked_mul(Amount::from(gas)))
    }

    /// All that is held of a row, as ids.
    pub(super) fn record(
        &self,
        row: u32,
        (utxo, blobs): (&Utxo, &Blobs),
        reading: &mut impl Reading,
        into: &mut TransactionRecord,
    ) -> Result<()> {
        self.head_and_movements(row, reading, into)?;
        let bytes = |id: Option<u32>| id.map(|id| blobs.get(id).map(<[u8]>::to_vec)).transpose();
        into.nonce = self.nonces.get(row)?;
        (into.gas_limit, into.gas_used) = (self.gas_limits.get(row)?, self.gas_used.get(row)?);
        (into.gas_price, into.paid_price) = (self.gas_prices.get(row)?, self.paid_prices.get(row)?);
        into.fee = self.fees.get(row)?;
        into.call_data = bytes(self.call_data.id(row)?)?;
        into.method_id = self.method_ids.id(row)?.map(u32::to_le_bytes);
        into.method = bytes(self.methods.id(row)?)?;
        into.failure = bytes(self.failures.id(row)?)?;
        self.logs.of(row, blobs, &mut into.logs)?;
        utxo.record(row, blobs, into)
    }

    /// The part of a record that its movements are made of; the rest stays as it was.
    pub(super) fn movement_record(
        &self,
        row: u32,
        utxo: &Utxo,
        reading: &mut impl Reading,
        into: &mut TransactionRecord,
    ) -> Result<()> {
        self.head_and_movements(row, reading, into)?;
        if into.flags & head::HAS_UTXO == 0 { Ok(()) } else { utxo.owned_amounts(row, into) }
    }

    fn head_and_movements(&self, row: u32, reading: &mut impl Reading, into: &mut TransactionRecord) -> Result<()> {
        let head = self.heads.read(row, reading)?;
        into.hash = head.hash;
        (into.block, into.time, into.index) = (head.block, head.time, head.index);
        (into.from, into.to, into.created) = (head.from, head.to, head.created);
        into.flags = head.flags;
        into.value = self.values.get(row)?;
        self.movements.of(row, reading, &mut into.movements)
    }
}

pub(super) const fn is_coinbase(flags: u32) -> bool {
    flags & head::COINBASE != 0
}

pub(super) fn status_of(flags: u32) -> Option<Status> {
    match flags & (head::SUCCESS | head::FAILED) {
        head::SUCCESS => Some(Status::Success),
        head::FAILED => Some(Status::Failed),
        _ => None,
    }
}

struct Movements {
    offsets: Offsets,
    table: Table<5>,
    amounts: AmountTable,
}

impl Movements {
    fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            offsets: Offsets::open(file, layout::TX_MOVEMENTS)?,
            table: Table::open(file, layout::MOVEMENTS)?,
            amounts: AmountTable::open(file, layout::MOVEMENT_AMOUNTS)?,
        })
    }

    fn of(&self, row: u32, reading: &mut impl Reading, into: &mut Vec<MovementRecord>) -> Result<()> {
        into.clear();
        let table = &self.table;
        for at in self.offsets.get(row)? {
            let amount = reading.amount(&self.amounts, at)?;
            let [flags, ordinal, from, to, asset] = reading.movement(table, at)?;
            let id = |stored: u64| stored.checked_sub(1).map(|id| narrow(table, at, id)).transpose();
            into.push(MovementRecord {
                flags: u8::try_from(flags).map_err(|_| table.wrong(at, "is not a kind of movement"))?,
                ordinal,
                from: id(from)?,
                to: id(to)?,
                asset: narrow(table, at, asset)?,
                amount,
            });
        }
        Ok(())
    }
}
