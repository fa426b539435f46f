//! The columns of transactions, their movements and their logs.

use headwater_types::Amount;

use super::assets::Assets;
use super::columns::{AmountBuilder, BlobBuilder, OffsetBuilder, OptionalAmountBuilder, OptionalBuilder, id};
use super::dictionary::Dictionary;
use super::order::Row;
use super::ordinals;
use super::utxo::UtxoColumns;
use crate::facts::{LogFacts, MovementFact, TransactionFacts};
use crate::read::{Ordinal, Result, Status};
use crate::segment::column::NONE;
use crate::segment::container::ContainerWriter;
use crate::segment::layout::{self, Head, Summary, head, movement};

/// Everything that is filed by row.
pub(super) struct TransactionColumns<'a, 'b> {
    dictionary: &'b Dictionary,
    assets: &'b Assets,
    summary: Summary,
    pub(super) heads: Vec<Head>,
    values: OptionalAmountBuilder,
    nonces: OptionalBuilder<u64>,
    gas_limits: OptionalBuilder<u64>,
    gas_used: OptionalBuilder<u64>,
    gas_prices: OptionalAmountBuilder,
    paid_prices: OptionalAmountBuilder,
    fees: OptionalAmountBuilder,
    call_data: OptionalBuilder<u32>,
    method_ids: OptionalBuilder<[u8; 4]>,
    methods: OptionalBuilder<u32>,
    failures: OptionalBuilder<u32>,
    movements: MovementColumns,
    logs: LogColumns,
    utxo: UtxoColumns,
    pub(super) blobs: BlobBuilder<'a>,
}

impl<'a, 'b> TransactionColumns<'a, 'b> {
    pub(super) fn new(dictionary: &'b Dictionary, assets: &'b Assets, summary: Summary) -> Self {
        Self {
            dictionary,
            assets,
            summary,
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

    pub(super) fn add(&mut self, row: &Row<'a>) -> Result<()> {
        let facts = row.facts;
        self.heads.push(self.head(row));
        self.values.push(facts.body.map(|body| body.value));
        self.nonces.push(facts.nonce);
        self.gas_limits.push(facts.gas_limit);
        self.gas_used.push(facts.gas_used);
        self.gas_prices.push(facts.gas_price);
        self.paid_prices.push(facts.effective_gas_price);
        self.fees.push(facts.fee);
        self.call_data.push(self.blobs.optional(facts.input.as_deref())?);
        self.method_ids.push(facts.method_id);
        self.methods.push(self.blobs.optional(facts.method.as_deref().map(str::as_bytes))?);
        self.failures.push(self.blobs.optional(facts.failure_reason.as_deref().map(str::as_bytes))?);
        self.movements.add(facts, self.dictionary, self.assets)?;
        self.logs.add(&facts.logs, self.dictionary, &mut self.blobs)?;
        self.utxo.add(facts.utxo.as_ref(), self.dictionary, &mut self.blobs)
    }

    fn head(&self, row: &Row<'_>) -> Head {
        let facts = row.facts;
        let body = facts.body.as_ref();
        let account =
            |address: Option<headwater_types::Address>| address.map_or(NONE, |address| self.dictionary.id(&address));
        let mut flags = 0;
        for (bit, is_set) in [
            (head::HAS_INDEX, facts.index.is_some()),
            (head::HAS_TIME, facts.time.is_some()),
            (head::HAS_BODY, body.is_some()),
            (head::SUCCESS, facts.status == Some(Status::Success)),
            (head::FAILED, facts.status == Some(Status::Failed)),
            (head::HAS_UTXO, facts.utxo.is_some()),
            (head::COINBASE, facts.utxo.as_ref().is_some_and(|utxo| utxo.coinbase)),
        ] {
            flags |= if is_set { bit } else { 0 };
        }
        let distance = |distance: u64| u32::try_from(distance).expect("the summary refused wider segments");
        Head {
            hash: *facts.hash.as_bytes(),
            block: distance(facts.block - self.summary.base_block),
            time: distance(row.time.secs().abs_diff(self.summary.base_time)),
            block_row: row.block_place,
            index: facts.index.unwrap_or(0),
            from: account(body.and_then(|body| body.from)),
            to: account(body.and_then(|body| body.to)),
            created: account(facts.created),
            flags,
        }
    }

    pub(super) fn put(&self, out: &mut ContainerWriter) {
        out.put(layout::HEADS, &self.heads);
        self.values.put(out, layout::TX_HAS_VALUE, layout::TX_VALUES);
        self.nonces.put(out, layout::TX_NONCES);
        self.gas_limits.put(out, layout::TX_GAS_LIMITS);
        self.gas_used.put(out, layout::TX_GAS_USED);
        self.gas_prices.put(out, layout::TX_HAS_GAS_PRICE, layout::TX_GAS_PRICES);
        self.paid_prices.put(out, layout::TX_HAS_PAID_PRICE, layout::TX_PAID_PRICES);
        self.fees.put(out, layout::TX_HAS_FEE, layout::TX_FEES);
        self.call_data.put(out, layout::TX_INPUTS);
        self.method_ids.put(out, layout::TX_METHOD_IDS);
        self.methods.put(out, layout::TX_METHODS);
        self.failures.put(out, layout::TX_FAILURES);
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

    fn add(&mut self, transaction: &TransactionFacts, dictionary: &Dictionary, assets: &Assets) -> Result<()> {
        if !transaction.movements.is_empty() {
            self.ordinals.extend(ordinals::numbers(transaction));
        }
        for facts in &transaction.movements {
            let kind = match facts.kind {
                MovementFact::Internal => movement::INTERNAL,
                MovementFact::Token => movement::TOKEN,
                MovementFact::NonFungible => movement::NON_FUNGIBLE,
            };
            let unindexed = if matches!(facts.ordinal, Ordinal::Unindexed(_)) { movement::UNINDEXED } else { 0 };
            self.flags.push(kind | unindexed);
            self.from.push(facts.from.map_or(NONE, |address| dictionary.id(&address)));
            self.to.push(facts.to.map_or(NONE, |address| dictionary.id(&address)));
            self.assets.push(assets.id(&facts.asset));
            let amount: Amount = facts.amount;
            self.amounts.push(amount);
        }
        self.offsets.end_row(self.flags.len())
    }

    fn put(&self, out: &mut ContainerWriter) {
        self.offsets.put(out, layout::TX_MOVEMENTS);
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

    fn add<'a>(&mut self, logs: &'a [LogFacts], dictionary: &Dictionary, blobs: &mut BlobBuilder<'a>) -> Result<()> {
        for log in logs {
            self.indexes.push(log.index);
            self.addresses.push(dictionary.id(&log.address));
            self.topics.extend_from_slice(&log.topics);
            self.topic_offsets.end_row(self.topics.len())?;
            self.data.push(blobs.id(&log.data)?);
        }
        id(self.indexes.len(), "logs")?;
        self.offsets.end_row(self.indexes.len())
    }

    fn put(&self, out: &mut ContainerWriter) {
        self.offsets.put(out, layout::TX_LOGS);
        out.put(layout::LOG_INDEXES, &self.indexes);
        out.put(layout::LOG_ADDRESSES, &self.addresses);
        self.topic_offsets.put(out, layout::LOG_TOPICS);
        out.put(layout::TOPICS, &self.topics);
        out.put(layout::LOG_DATA, &self.data);
    }
}
