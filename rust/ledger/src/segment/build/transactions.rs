//! The columns of transactions, their movements and their logs.

use super::columns::{AmountBuilder, BlobBuilder, OffsetBuilder, OptionalAmountBuilder, OptionalBuilder, id};
use super::utxo::UtxoColumns;
use crate::facts::{LogFacts, TransactionFacts};
use crate::read::Result;
use crate::segment::column::NONE;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{self, Head};
use crate::segment::record::{LogRecord, MovementRecord, TransactionRecord};

/// Everything that is filed by row.
pub(super) struct TransactionColumns<'a> {
    pub(super) heads: Vec<Head>,
    values: OptionalAmountBuilder,
    nonces: OptionalBuilder<u64>,
    gas_limits: OptionalBuilder<u64>,
    gas_used: OptionalBuilder<u64>,
    gas_prices: OptionalAmountBuilder,
    paid_prices: OptionalAmountBuilder,
    fees: OptionalAmountBuilder,
    call_data: OptionalBuilder<u32>,
    method_ids: OptionalBuilder<u32>,
    methods: OptionalBuilder<u32>,
    failures: OptionalBuilder<u32>,
    movements: MovementColumns,
    logs: LogColumns,
    utxo: UtxoColumns,
    pub(super) blobs: BlobBuilder<'a>,
}

impl<'a> TransactionColumns<'a> {
    pub(super) fn new() -> Self {
        Self {
            heads: Vec::new(),
            values: OptionalAmountBuilder::default(),
            nonces: OptionalBuilder::new(),
            gas_limits: OptionalBuilder::new(),
            gas_used: OptionalBuilder::new(),
            gas_prices: OptionalAmountBuilder::default(),
            paid_prices: OptionalAmountBuilder::default(),
            fees: OptionalAmountBuilder::default(),
            call_data: OptionalBuilder::new(),
            method_ids: OptionalBuilder::new(),
            methods: OptionalBuilder::new(),
            failures: OptionalBuilder::new(),
            movements: MovementColumns::new(),
            logs: LogColumns::new(),
            utxo: UtxoColumns::new(),
            blobs: BlobBuilder::new(),
        }
    }

    pub(super) fn add(&mut self, facts: &'a TransactionFacts, record: &TransactionRecord) -> Result<()> {
        self.heads.push(record.head());
        self.values.push(facts.body.map(|body| body.value));
        self.nonces.push(facts.nonce);
        self.gas_limits.push(facts.gas_limit);
        self.gas_used.push(facts.gas_used);
        self.gas_prices.push(facts.gas_price);
        self.paid_prices.push(facts.effective_gas_price);
        self.fees.push(facts.fee);
        self.call_data.push(self.blobs.optional(facts.input.as_deref())?);
        self.method_ids.push(facts.method_id.map(u32::from_le_bytes));
        self.methods.push(self.blobs.optional(facts.method.as_deref().map(str::as_bytes))?);
        self.failures.push(self.blobs.optional(facts.failure_reason.as_deref().map(str::as_bytes))?);
        self.movements.add(&record.movements)?;
        self.logs.add(&facts.logs, &record.logs, &mut self.blobs)?;
        self.utxo.add(facts.utxo.as_ref(), record, &mut self.blobs)
    }

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        out.put(layout::HEADS, &self.heads);
        self.values.put(out, layout::TX_HAS_VALUE, layout::TX_VALUES);
        self.nonces.put_numbers(out, layout::TX_NONCES);
        self.gas_limits.put_numbers(out, layout::TX_GAS_LIMITS);
        self.gas_used.put_numbers(out, layout::TX_GAS_USED);
        self.gas_prices.put(out, layout::TX_HAS_GAS_PRICE, layout::TX_GAS_PRICES);
        self.paid_prices.put(out, layout::TX_HAS_PAID_PRICE, layout::TX_PAID_PRICES);
        self.fees.put(out, layout::TX_HAS_FEE, layout::TX_FEES);
        self.call_data.put_numbers(out, layout::TX_INPUTS);
        self.method_ids.put_numbers(out, layout::TX_METHOD_IDS);
        self.methods.put_numbers(out, layout::TX_METHODS);
        self.failures.put_numbers(out, layout::TX_FAILURES);
        self.movements.put(out);
        self.logs.put(out);
        self.utxo.put(out);
    }
}

/// Internal, token and non-fungible movements, in the order of their facts.
struct MovementColumns {
    offsets: OffsetBuilder,
    flags: Vec<u8>,
    ordinals: Vec<u64>,
    from: Vec<u32>,
    to: Vec<u32>,
    assets: Vec<u32>,
    amounts: AmountBuilder,
}

impl MovementColumns {
    fn new() -> Self {
        Self {
            offsets: OffsetBuilder::new("movements"),
            flags: Vec::new(),
            ordinals: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            assets: Vec::new(),
            amounts: AmountBuilder::default(),
        }
    }

    fn add(&mut self, movements: &[MovementRecord]) -> Result<()> {
        for movement in movements {
            self.flags.push(movement.flags);
            self.ordinals.push(movement.ordinal);
            self.from.push(movement.from.unwrap_or(NONE));
            self.to.push(movement.to.unwrap_or(NONE));
            self.assets.push(movement.asset);
            self.amounts.push(movement.amount);
        }
        self.offsets.end_row(self.flags.len())
    }

    fn put(&self, out: &mut ContainerWriter) {
        self.offsets.put(out, layout::TX_MOVEMENTS.raw);
        out.put(layout::MOVEMENT_FLAGS, &self.flags);
        out.put(layout::MOVEMENT_ORDINALS, &self.ordinals);
        out.put(layout::MOVEMENT_FROM, &self.from);
        out.put(layout::MOVEMENT_TO, &self.to);
        out.put(layout::MOVEMENT_ASSETS, &self.assets);
        self.amounts.put(out, layout::MOVEMENT_AMOUNTS);
    }
}

/// Event logs, in the order of their facts.
struct LogColumns {
    offsets: OffsetBuilder,
    indexes: Vec<u64>,
    addresses: Vec<u32>,
    topic_offsets: OffsetBuilder,
    topics: Vec<[u8; 32]>,
    data: Vec<u32>,
}

impl LogColumns {
    fn new() -> Self {
        Self {
            offsets: OffsetBuilder::new("logs"),
            indexes: Vec::new(),
            addresses: Vec::new(),
            topic_offsets: OffsetBuilder::new("topics"),
            topics: Vec::new(),
            data: Vec::new(),
        }
    }

    fn add<'a>(&mut self, logs: &'a [LogFacts], records: &[LogRecord], blobs: &mut BlobBuilder<'a>) -> Result<()> {
        for (log, record) in logs.iter().zip(records) {
            self.indexes.push(log.index);
            self.addresses.push(record.address);
            self.topics.extend_from_slice(&log.topics);
            self.topic_offsets.end_row(self.topics.len())?;
            self.data.push(blobs.id(&log.data)?);
        }
        id(self.indexes.len(), "logs")?;
        self.offsets.end_row(self.indexes.len())
    }

    fn put(&self, out: &mut ContainerWriter) {
        self.offsets.put(out, layout::TX_LOGS.raw);
        out.put(layout::LOG_INDEXES.raw, &self.indexes);
        out.put(layout::LOG_ADDRESSES.raw, &self.addresses);
        self.topic_offsets.put(out, layout::LOG_TOPICS.raw);
        out.put(layout::TOPICS, &self.topics);
        out.put(layout::LOG_DATA.raw, &self.data);
    }
}
