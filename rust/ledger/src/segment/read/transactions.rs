//! Transactions by row, by hash and by place, with all facts given back.

use std::ops::Range;
use std::sync::Arc;

use headwater_types::{Address, Amount, Asset, Timestamp, TxHash};

use super::super::column::{AmountColumn, Blobs, Column, NONE, Offsets, OptionalAmounts, OptionalColumn, search};
use super::super::container::Container;
use super::super::layout::{self, Head, Summary, head, movement, prefix};
use super::accounts::Accounts;
use super::utxo::Utxo;
use crate::facts::{Body, LogFacts, Movement, MovementFact, TransactionFacts};
use crate::read::{Ordinal, Result, Status};

/// How ordinals that no source gave are given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unindexed {
    /// As sources state them: all zero.
    AsStated,
    /// As the numbers made from their content.
    Numbered,
}

/// Everything that is filed by row.
pub(crate) struct Transactions {
    summary: Summary,
    pub(super) heads: Column<Head>,
    prefixes: Column<u64>,
    by_hash: Column<u32>,
    values: OptionalAmounts,
    nonces: OptionalColumn<u64>,
    gas_limits: OptionalColumn<u64>,
    gas_used: OptionalColumn<u64>,
    gas_prices: OptionalAmounts,
    paid_prices: OptionalAmounts,
    fees: OptionalAmounts,
    call_data: OptionalColumn<u32>,
    method_ids: OptionalColumn<[u8; 4]>,
    methods: OptionalColumn<u32>,
    failures: OptionalColumn<u32>,
    movements: Movements,
    logs: Logs,
}

/// What facts are made of beside their own columns.
pub(super) struct Dictionaries<'a> {
    pub(super) accounts: &'a Accounts,
    pub(super) assets: &'a Column<u32>,
    pub(super) blobs: &'a Blobs,
    pub(super) utxo: &'a Utxo,
}

impl Dictionaries<'_> {
    pub(super) fn account(&self, id: u32) -> Result<Option<Address>> {
        (id != NONE).then(|| self.accounts.address(id)).transpose()
    }

    pub(super) fn asset(&self, id: u32) -> Result<Asset> {
        if id == 0 {
            return Ok(Asset::Native);
        }
        self.accounts.address(self.assets.get(id as usize)?).map(Asset::Token)
    }
}

impl Transactions {
    pub(super) fn open(file: &Arc<Container>, summary: Summary) -> Result<Self> {
        Ok(Self {
            summary,
            heads: file.column(layout::HEADS)?,
            prefixes: file.column(layout::HASH_PREFIXES)?,
            by_hash: file.column(layout::HASH_ROWS)?,
            values: OptionalAmounts::open(file, layout::TX_HAS_VALUE, layout::TX_VALUES)?,
            nonces: OptionalColumn::open(file, layout::TX_NONCES)?,
            gas_limits: OptionalColumn::open(file, layout::TX_GAS_LIMITS)?,
            gas_used: OptionalColumn::open(file, layout::TX_GAS_USED)?,
            gas_prices: OptionalAmounts::open(file, layout::TX_HAS_GAS_PRICE, layout::TX_GAS_PRICES)?,
            paid_prices: OptionalAmounts::open(file, layout::TX_HAS_PAID_PRICE, layout::TX_PAID_PRICES)?,
            fees: OptionalAmounts::open(file, layout::TX_HAS_FEE, layout::TX_FEES)?,
            call_data: OptionalColumn::open(file, layout::TX_INPUTS)?,
            method_ids: OptionalColumn::open(file, layout::TX_METHOD_IDS)?,
            methods: OptionalColumn::open(file, layout::TX_METHODS)?,
            failures: OptionalColumn::open(file, layout::TX_FAILURES)?,
            movements: Movements::open(file)?,
            logs: Logs::open(file)?,
        })
    }

    pub(crate) fn head(&self, row: u32) -> Result<Head> {
        self.heads.get(row as usize)
    }

    pub(crate) fn block(&self, head: &Head) -> u64 {
        self.summary.base_block.saturating_add(u64::from(head.block))
    }

    pub(crate) fn time(&self, head: &Head) -> Timestamp {
        Timestamp::new(self.summary.base_time.saturating_add(i64::from(head.time)))
    }

    pub(crate) fn find(&self, hash: &TxHash) -> Result<Option<u32>> {
        let first = prefix(hash.as_bytes());
        let low = self.prefixes.partition(0..self.prefixes.len(), |prefix| prefix < first)?;
        self.find_from(low, hash)
    }

    /// The row of a hash, given the first place in the index whose prefix is not below that of the hash.
    pub(super) fn find_from(&self, low: usize, hash: &TxHash) -> Result<Option<u32>> {
        let first = prefix(hash.as_bytes());
        // Real hashes rarely share a prefix, the ids of allocations and rewards all do.
        let place = search(low..self.prefixes.len(), |at| {
            Ok(self.prefixes.get(at)? == first && self.head(self.by_hash.get(at)?)?.hash < *hash.as_bytes())
        })?;
        if place == self.prefixes.len() {
            return Ok(None);
        }
        let row = self.by_hash.get(place)?;
        Ok((self.head(row)?.hash == *hash.as_bytes()).then_some(row))
    }

    /// First eight bytes of every hash, in order.
    pub(super) fn prefixes(&self) -> &Column<u64> {
        &self.prefixes
    }

    pub(crate) fn rows_of_blocks(&self, first: u64, last: u64) -> Result<Range<u32>> {
        let all = 0..self.heads.len();
        let low = search(all.clone(), |row| Ok(self.block(&self.heads.get(row)?) < first))?;
        let high = search(low..all.end, |row| Ok(self.block(&self.heads.get(row)?) <= last))?;
        let row = |place: usize| u32::try_from(place).map_err(|_| self.heads.outside(place));
        Ok(row(low)?..row(high)?)
    }

    pub(crate) fn row_at(&self, block: u64, index: u32) -> Result<Option<u32>> {
        let rows = self.rows_of_blocks(block, block)?;
        let (low, high) = (rows.start as usize, rows.end as usize);
        let place = search(low..high, |row| Ok(index_of(&self.heads.get(row)?).is_some_and(|at| at < index)))?;
        let found = place < high && index_of(&self.heads.get(place)?) == Some(index);
        Ok(found.then_some(u32::try_from(place).map_err(|_| self.heads.outside(place))?))
    }

    pub(super) fn facts(&self, row: u32, unindexed: Unindexed, with: &Dictionaries<'_>) -> Result<TransactionFacts> {
        let head = self.head(row)?;
        let text = |id: Option<u32>| id.map(|id| with.blobs.text(id)).transpose();
        Ok(TransactionFacts {
            hash: TxHash::new(head.hash),
            block: self.block(&head),
            time: (head.flags & head::HAS_TIME != 0).then(|| self.time(&head)),
            index: index_of(&head),
            body: self.body(row, &head, with)?,
            created: with.account(head.created)?,
            status: status_of(&head),
            failure_reason: text(self.failures.get(row)?)?,
            nonce: self.nonces.get(row)?,
            gas_limit: self.gas_limits.get(row)?,
            gas_used: self.gas_used.get(row)?,
            gas_price: self.gas_prices.get(row)?,
            effective_gas_price: self.paid_prices.get(row)?,
            fee: self.fees.get(row)?,
            input: self.call_data.get(row)?.map(|id| with.blobs.get(id).map(<[u8]>::to_vec)).transpose()?,
            method_id: self.method_ids.get(row)?,
            method: text(self.methods.get(row)?)?,
            movements: self.movements.of(row, unindexed, with)?,
            logs: self.logs.of(row, with)?,
            utxo: if head.flags & head::HAS_UTXO == 0 {
                None
            } else {
                Some(with.utxo.facts(row, head.flags & head::COINBASE != 0, with)?)
            },
        })
    }

    fn body(&self, row: u32, head: &Head, with: &Dictionaries<'_>) -> Result<Option<Body>> {
        if head.flags & head::HAS_BODY == 0 {
            return Ok(None);
        }
        let value: Option<Amount> = self.values.get(row)?;
        let value = value.ok_or_else(|| self.heads.wrong(row as usize, "has a body without value"))?;
        Ok(Some(Body { from: with.account(head.from)?, to: with.account(head.to)?, value }))
    }
}

pub(crate) fn index_of(head: &Head) -> Option<u32> {
    (head.flags & head::HAS_INDEX != 0).then_some(head.index)
}

fn status_of(head: &Head) -> Option<Status> {
    match head.flags & (head::SUCCESS | head::FAILED) {
        head::SUCCESS => Some(Status::Success),
        head::FAILED => Some(Status::Failed),
        _ => None,
    }
}

struct Movements {
    offsets: Offsets,
    flags: Column<u8>,
    ordinals: Column<u64>,
    from: Column<u32>,
    to: Column<u32>,
    assets: Column<u32>,
    amounts: AmountColumn,
}

impl Movements {
    fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            offsets: Offsets(file.column(layout::TX_MOVEMENTS)?),
            flags: file.column(layout::MOVEMENT_FLAGS)?,
            ordinals: file.column(layout::MOVEMENT_ORDINALS)?,
            from: file.column(layout::MOVEMENT_FROM)?,
            to: file.column(layout::MOVEMENT_TO)?,
            assets: file.column(layout::MOVEMENT_ASSETS)?,
            amounts: AmountColumn::open(file, layout::MOVEMENT_AMOUNTS)?,
        })
    }

    fn of(&self, row: u32, unindexed: Unindexed, with: &Dictionaries<'_>) -> Result<Vec<Movement>> {
        self.offsets
            .get(row)?
            .map(|at| {
                let flags = self.flags.get(at)?;
                let number = self.ordinals.get(at)?;
                Ok(Movement {
                    kind: match flags & movement::KIND {
                        movement::INTERNAL => MovementFact::Internal,
                        movement::TOKEN => MovementFact::Token,
                        movement::NON_FUNGIBLE => MovementFact::NonFungible,
                        _ => return Err(self.flags.wrong(at, "is no kind of movement")),
                    },
                    ordinal: match (flags & movement::UNINDEXED != 0, unindexed) {
                        (false, _) => Ordinal::Indexed(number),
                        (true, Unindexed::AsStated) => Ordinal::Unindexed(0),
                        (true, Unindexed::Numbered) => Ordinal::Unindexed(number),
                    },
                    from: with.account(self.from.get(at)?)?,
                    to: with.account(self.to.get(at)?)?,
                    asset: with.asset(self.assets.get(at)?)?,
                    amount: self.amounts.get(at)?,
                })
            })
            .collect()
    }
}

struct Logs {
    offsets: Offsets,
    indexes: Column<u64>,
    addresses: Column<u32>,
    topic_offsets: Offsets,
    topics: Column<[u8; 32]>,
    data: Column<u32>,
}

impl Logs {
    fn open(file: &Arc<Container>) -> Result<Self> {
        Ok(Self {
            offsets: Offsets(file.column(layout::TX_LOGS)?),
            indexes: file.column(layout::LOG_INDEXES)?,
            addresses: file.column(layout::LOG_ADDRESSES)?,
            topic_offsets: Offsets(file.column(layout::LOG_TOPICS)?),
            topics: file.column(layout::TOPICS)?,
            data: file.column(layout::LOG_DATA)?,
        })
    }

    fn of(&self, row: u32, with: &Dictionaries<'_>) -> Result<Vec<LogFacts>> {
        self.offsets
            .get(row)?
            .map(|at| {
                let log = u32::try_from(at).map_err(|_| self.indexes.outside(at))?;
                Ok(LogFacts {
                    index: self.indexes.get(at)?,
                    address: with.accounts.address(self.addresses.get(at)?)?,
                    topics: self.topics.slice(self.topic_offsets.get(log)?)?.to_vec(),
                    data: with.blobs.get(self.data.get(at)?)?.to_vec(),
                })
            })
            .collect()
    }
}
