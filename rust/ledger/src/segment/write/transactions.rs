//! The sections filed by row.

use std::sync::Arc;

use super::super::container::{SegmentFile, StreamedSection};
use super::super::knots::{KnotMaker, Knots};
use super::super::layout;
use super::super::opening::OpenedRows;
use super::super::pack::{AmountTableWriter, IntWriter, TableWriter};
use super::super::record::{LogRecord, MovementRecord, OutputRecord, TransactionRecord};
use super::super::spool::{Part, Spool};
use super::columns::{
    BlobWriter, DistinctWriter, OffsetWriter, OptionalAmountWriter, OptionalInts, OptionalTable, check_ids,
};
use super::summary::Frame;
use crate::error::Result;

/// Takes transactions in order of rows.
pub(crate) struct TransactionsWriter {
    frame: Frame,
    rows: u64,
    knots: KnotMaker,
    hashes: StreamedSection<[u8; 32]>,
    heads: TableWriter<7>,
    values: OptionalAmountWriter,
    nonces: OptionalInts,
    gas_limits: OptionalInts,
    gas_used: OptionalInts,
    gas_prices: OptionalAmountWriter,
    paid_prices: OptionalAmountWriter,
    fees: OptionalAmountWriter,
    call_data: OptionalInts,
    method_ids: OptionalInts,
    methods: OptionalInts,
    failures: OptionalInts,
    movements: Movements,
    logs: Logs,
    utxo: Utxo,
    blobs: BlobWriter,
    opened: OpenedRows,
}

impl TransactionsWriter {
    /// Hashes, which nothing compresses, go into the file as they come.
    pub(crate) fn new(spool: &Arc<Spool>, frame: Frame) -> Self {
        Self {
            frame,
            rows: 0,
            knots: KnotMaker::default(),
            hashes: StreamedSection::new(layout::TX_HASHES),
            heads: TableWriter::new(spool),
            values: OptionalAmountWriter::new(spool),
            nonces: OptionalInts::new(spool),
            gas_limits: OptionalInts::new(spool),
            gas_used: OptionalInts::new(spool),
            gas_prices: OptionalAmountWriter::new(spool),
            paid_prices: OptionalAmountWriter::new(spool),
            fees: OptionalAmountWriter::new(spool),
            call_data: OptionalInts::new(spool),
            method_ids: OptionalInts::new(spool),
            methods: OptionalInts::new(spool),
            failures: OptionalInts::new(spool),
            movements: Movements::new(spool),
            logs: Logs::new(spool),
            utxo: Utxo::new(spool),
            blobs: BlobWriter::new(spool),
            opened: OpenedRows::default(),
        }
    }

    /// Transactions so far; the row of the next one.
    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    /// Inputs so far; the number of the next one.
    pub(crate) fn inputs(&self) -> u64 {
        self.utxo.input_count
    }

    pub(crate) fn push(&mut self, record: &TransactionRecord, out: &mut SegmentFile<'_>) -> Result<()> {
        check_ids(self.rows + 1, "transactions")?;
        self.opened.push(u32::try_from(self.rows).unwrap_or(u32::MAX), record);
        self.rows += 1;
        self.knots.push(record.block, record.time);
        self.hashes.write(&record.hash, out)?;
        self.heads.push([
            u64::from(record.block),
            self.frame.off_pace(record.block, record.time),
            plus_one(record.index),
            plus_one(record.from),
            plus_one(record.to),
            plus_one(record.created),
            u64::from(record.flags),
        ])?;
        self.values.push(record.value)?;
        self.nonces.push(record.nonce)?;
        self.gas_limits.push(record.gas_limit)?;
        self.gas_used.push(record.gas_used)?;
        self.gas_prices.push(record.gas_price)?;
        self.paid_prices.push(record.paid_price)?;
        self.fees.push(record.fee)?;
        let blobs = &mut self.blobs;
        let mut blob = |bytes: &Option<Vec<u8>>| -> Result<_> { Ok(blobs.optional(bytes.as_deref())?.map(u64::from)) };
        self.call_data.push(blob(&record.call_data)?)?;
        self.method_ids.push(record.method_id.map(|id| u64::from(u32::from_le_bytes(id))))?;
        self.methods.push(blob(&record.method)?)?;
        self.failures.push(blob(&record.failure)?)?;
        self.movements.push(&record.movements)?;
        self.logs.push(&record.logs, &mut self.blobs)?;
        self.utxo.push(record, &mut self.blobs)
    }

    /// Called behind the last row, before anything else goes into the file.
    pub(crate) fn end_rows(&mut self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.hashes.end(out)
    }

    /// The tokens that rows state opening balances of, and where; whole once the last one was pushed.
    pub(crate) fn opened(&self) -> OpenedRows {
        self.opened.clone()
    }

    /// Returns where rows are; whole once the last one was pushed.
    pub(crate) fn knots(&self) -> Knots {
        self.knots.finish()
    }

    /// Also texts that are not filed by row get their ids here.
    pub(crate) fn text(&mut self, text: Option<&[u8]>) -> Result<Option<u32>> {
        self.blobs.optional(text)
    }

    pub(crate) fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.heads.put(out, layout::TX_HEADS)?;
        self.values.put(out, layout::TX_HAS_VALUE, layout::TX_VALUES)?;
        self.nonces.put(out, layout::TX_NONCES)?;
        self.gas_limits.put(out, layout::TX_GAS_LIMITS)?;
        self.gas_used.put(out, layout::TX_GAS_USED)?;
        self.gas_prices.put(out, layout::TX_HAS_GAS_PRICE, layout::TX_GAS_PRICES)?;
        self.paid_prices.put(out, layout::TX_HAS_PAID_PRICE, layout::TX_PAID_PRICES)?;
        self.fees.put(out, layout::TX_HAS_FEE, layout::TX_FEES)?;
        self.call_data.put(out, layout::TX_INPUTS)?;
        self.method_ids.put(out, layout::TX_METHOD_IDS)?;
        self.methods.put(out, layout::TX_METHODS)?;
        self.failures.put(out, layout::TX_FAILURES)?;
        self.movements.put(out)?;
        self.logs.put(out)?;
        self.utxo.put(out)?;
        self.blobs.put(out, layout::BLOBS)
    }
}

/// Zero for none.
pub(super) fn plus_one(id: Option<u32>) -> u64 {
    id.map_or(0, |id| u64::from(id) + 1)
}

struct Movements {
    offsets: OffsetWriter,
    table: TableWriter<5>,
    amounts: AmountTableWriter,
}

impl Movements {
    fn new(spool: &Arc<Spool>) -> Self {
        Self {
            offsets: OffsetWriter::new(spool, "movements"),
            table: TableWriter::new(spool),
            amounts: AmountTableWriter::new(spool),
        }
    }

    fn push(&mut self, movements: &[MovementRecord]) -> Result<()> {
        self.offsets.push(movements.len())?;
        for movement in movements {
            self.table.push([
                u64::from(movement.flags),
                movement.ordinal,
                plus_one(movement.from),
                plus_one(movement.to),
                u64::from(movement.asset),
            ])?;
            self.amounts.push(movement.amount)?;
        }
        Ok(())
    }

    fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.offsets.put(out, layout::TX_MOVEMENTS)?;
        self.table.put(out, layout::MOVEMENTS)?;
        self.amounts.put(out, layout::MOVEMENT_AMOUNTS)
    }
}

struct Logs {
    offsets: OffsetWriter,
    indexes: IntWriter,
    addresses: IntWriter,
    topic_offsets: OffsetWriter,
    topics: DistinctWriter,
    data: IntWriter,
}

impl Logs {
    fn new(spool: &Arc<Spool>) -> Self {
        Self {
            offsets: OffsetWriter::new(spool, "logs"),
            indexes: IntWriter::new(spool),
            addresses: IntWriter::new(spool),
            topic_offsets: OffsetWriter::new(spool, "topics"),
            topics: DistinctWriter::new(spool),
            data: IntWriter::new(spool),
        }
    }

    fn push(&mut self, logs: &[LogRecord], blobs: &mut BlobWriter) -> Result<()> {
        self.offsets.push(logs.len())?;
        for log in logs {
            self.indexes.push([log.index])?;
            self.addresses.push([u64::from(log.address)])?;
            self.topic_offsets.push(log.topics.len())?;
            log.topics.iter().try_for_each(|&topic| self.topics.push(topic))?;
            self.data.push([u64::from(blobs.id(&log.data)?)])?;
        }
        Ok(())
    }

    fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.offsets.put(out, layout::TX_LOGS)?;
        self.indexes.put(out, layout::LOG_INDEXES)?;
        self.addresses.put(out, layout::LOG_ADDRESSES)?;
        self.topic_offsets.put(out, layout::LOG_TOPICS)?;
        self.topics.put(out, layout::TOPICS, layout::TOPIC_IDS)?;
        self.data.put(out, layout::LOG_DATA)
    }
}

struct Utxo {
    versions: OptionalInts,
    lock_times: OptionalInts,
    weights: OptionalInts,
    sequences: OptionalInts,
    input_offsets: OffsetWriter,
    input_count: u64,
    hashes: Part,
    indexes: IntWriter,
    spent: OptionalTable<4>,
    output_offsets: OffsetWriter,
    outputs: TableWriter<4>,
}

impl Utxo {
    fn new(spool: &Arc<Spool>) -> Self {
        Self {
            versions: OptionalInts::new(spool),
            lock_times: OptionalInts::new(spool),
            weights: OptionalInts::new(spool),
            sequences: OptionalInts::new(spool),
            input_offsets: OffsetWriter::new(spool, "inputs"),
            input_count: 0,
            hashes: Part::new(spool),
            indexes: IntWriter::new(spool),
            spent: OptionalTable::new(spool),
            output_offsets: OffsetWriter::new(spool, "outputs"),
            outputs: TableWriter::new(spool),
        }
    }

    fn push(&mut self, record: &TransactionRecord, blobs: &mut BlobWriter) -> Result<()> {
        self.versions.push(record.version.map(u64::from))?;
        self.lock_times.push(record.lock_time.map(u64::from))?;
        self.weights.push(record.weight_wu.map(u64::from))?;
        self.input_offsets.push(record.inputs.len())?;
        for input in &record.inputs {
            self.input_count += 1;
            self.hashes.write(&input.hash)?;
            self.indexes.push([u64::from(input.index)])?;
            self.sequences.push(input.sequence.map(u64::from))?;
            self.spent.push(input.spent.as_ref().map(|spent| output(spent, blobs)).transpose()?)?;
        }
        self.output_offsets.push(record.outputs.len())?;
        record.outputs.iter().try_for_each(|made| self.outputs.push(output(made, blobs)?))
    }

    fn put(self, out: &mut SegmentFile<'_>) -> Result<()> {
        self.versions.put(out, layout::TX_VERSIONS)?;
        self.lock_times.put(out, layout::TX_LOCK_TIMES)?;
        self.weights.put(out, layout::TX_WEIGHTS)?;
        self.sequences.put(out, layout::INPUT_SEQUENCES)?;
        self.input_offsets.put(out, layout::TX_SPENDS)?;
        out.part(layout::INPUT_HASHES, self.hashes)?;
        self.indexes.put(out, layout::INPUT_INDEXES)?;
        self.spent.put(out, layout::HAS_SPENT, layout::SPENT_TABLE)?;
        self.output_offsets.put(out, layout::TX_OUTPUTS)?;
        self.outputs.put(out, layout::OUTPUT_TABLE)
    }
}

fn output(output: &OutputRecord, blobs: &mut BlobWriter) -> Result<[u64; 4]> {
    let data = plus_one(blobs.optional(output.data.as_deref())?);
    Ok([output.amount, plus_one(output.owner), data, u64::from(output.script)])
}
