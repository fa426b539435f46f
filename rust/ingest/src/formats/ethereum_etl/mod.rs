//! The tables of ethereum-etl, as CSV and as JSON lines: one file per table.
//!
//! Columns are found by name, since old files lack the last ones. The JSON lines of its streaming mode carry the
//! table's name in `type`, and may mix tables.

mod contracts;
mod extent;
mod logs;
mod traces;
mod transactions;

use headwater_ledger::facts::{BlockFacts, MovementFact};
use headwater_ledger::read::CoverageTable;
use headwater_types::{Asset, Chain};

use super::evm_frames::{FrameRow, Frames};
use super::evm_system::System;
use super::stated_amount::{ReadAmount, digits};
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError, Place};
use crate::source::{Bounds, Content, Object, Probe, Row, each_row, json, whole_number};
use crate::{IngestError, Sink};
pub(super) use extent::{Complete, Extent};
pub(super) use traces::path;
pub(super) use transactions::status;

/// A table, with the name it has in `type` and the columns by which it is known.
struct Table {
    kind: Kind,
    name: &'static str,
    block: &'static str,
    columns: &'static [&'static str],
}

/// The tables, which other formats have too under other names and types.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Block,
    Transaction,
    Receipt,
    Log,
    TokenTransfer,
    Trace,
    Contract,
    Token,
}

/// In order of rank: what others refer to comes first.
#[rustfmt::skip]
const TABLES: &[Table] = &[
    Table { kind: Kind::Block, name: "block", block: "number", columns: &["number", "hash", "parent_hash", "timestamp", "gas_limit"] },
    Table { kind: Kind::Transaction, name: "transaction", block: "block_number", columns: &["hash", "block_number", "from_address", "to_address", "value", "gas"] },
    Table { kind: Kind::Receipt, name: "receipt", block: "block_number", columns: &["transaction_hash", "block_number", "cumulative_gas_used", "gas_used"] },
    Table { kind: Kind::Log, name: "log", block: "block_number", columns: &["log_index", "transaction_hash", "address", "data", "topics", "block_number"] },
    Table { kind: Kind::TokenTransfer, name: "token_transfer", block: "block_number", columns: &["token_address", "from_address", "to_address", "value", "transaction_hash", "log_index"] },
    Table { kind: Kind::Trace, name: "trace", block: "block_number", columns: &["block_number", "from_address", "to_address", "value", "trace_type", "call_type"] },
    Table { kind: Kind::Contract, name: "contract", block: "block_number", columns: &["address", "bytecode"] },
    Table { kind: Kind::Token, name: "token", block: "block_number", columns: &["address", "symbol", "decimals", "total_supply"] },
];

pub(super) struct EthereumEtl;

impl Format for EthereumEtl {
    fn name(&self) -> &'static str {
        "ethereum-etl"
    }

    fn describe(&self) -> &'static str {
        "the tables of ethereum-etl (blocks, transactions, receipts, logs, token_transfers, traces, contracts, tokens), CSV or JSON lines"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        named_tables()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if !matches!(probe.content(), Content::Csv | Content::Json) {
            return None;
        }
        let typed = probe.first("type").filter(|_| *probe.content() == Content::Json);
        sniffed(probe, typed)
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let kind = kind_of(job.sniffed.table);
        let mut reader = Reader::new(job, digits);
        each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            reader.row(typed(row, kind)?, row, sink)
        })?;
        let named = extent::range_in_name(&job.input.name());
        reader.finish(named.map_or(Complete::Span, |range| Complete::Named(range, covered(kind))), sink)
    }
}

/// Returns the tables that a file is complete of, but for receipts that transactions may have.
const fn covered(kind: Kind) -> &'static [CoverageTable] {
    match kind {
        Kind::Transaction => &[CoverageTable::Transactions],
        Kind::Receipt => &[CoverageTable::Receipts],
        Kind::Log => &[CoverageTable::Logs, CoverageTable::TokenTransfers],
        Kind::TokenTransfer => &[CoverageTable::TokenTransfers],
        Kind::Trace => &[CoverageTable::Traces],
        // Blocks are counted one by one.
        Kind::Block | Kind::Contract | Kind::Token => &[],
    }
}

/// The tables, with the columns by which each is known.
pub(super) fn named_tables() -> Vec<(&'static str, &'static [&'static str])> {
    TABLES.iter().map(|table| (table.name, table.columns)).collect()
}

/// The table that a file of these columns holds.
pub(super) fn sniffed(probe: &Probe, typed: Option<&str>) -> Option<Sniffed> {
    let place = TABLES.iter().position(|table| match typed {
        // A long row may be cut at the end of what is looked at: its type and what it lies in state enough.
        Some(name) => table.name == name && (probe.has(table.columns) || probe.has(&["item_id"])),
        None => probe.has(table.columns),
    })?;
    let place = u8::try_from(place).expect("the table of tables is short");
    let table = &TABLES[usize::from(place)];
    // Which contracts are not fungible has to be known before their transfers are read.
    let (rank, first_block) = match table.kind {
        Kind::Contract => (0, Some(0)),
        _ => (place, probe.first(table.block).and_then(whole_number)),
    };
    Some(Sniffed { chain: SniffedChain::Usually(Chain::ETHEREUM), table: place, rank, first_block })
}

/// Returns the content of a table of [`sniffed`].
pub(super) fn kind_of(table: u8) -> Kind {
    TABLES[usize::from(table)].kind
}

/// All columns that are read of any table.
#[rustfmt::skip]
pub(super) const COLUMNS: &[&str] = &[
    "number", "hash", "parent_hash", "timestamp", "withdrawals", "block_number", "block_timestamp", "block_hash",
    "transaction_hash", "transaction_index", "from_address", "to_address", "value", "nonce", "gas", "gas_price", "input",
    "receipt_status", "receipt_gas_used", "receipt_effective_gas_price", "receipt_contract_address", "status", "gas_used",
    "effective_gas_price", "contract_address", "log_index", "address", "data", "topics", "token_address", "trace_type",
    "call_type", "trace_address", "error", "symbol", "name", "decimals", "is_erc20", "is_erc721", "transaction_type",
    "max_fee_per_blob_gas", "receipt_blob_gas_used", "receipt_blob_gas_price", "blob_gas_used", "blob_gas_price",
];

/// The table that a row of a stream belongs to; of a file of one table, that one.
fn typed(row: &Row<'_>, kind: Kind) -> Result<Kind, FieldError> {
    let Some(name) = row.text("type")? else { return Ok(kind) };
    let names = || TABLES.iter().map(|table| table.name).collect::<Vec<_>>().join(", ");
    let table = TABLES.iter().find(|table| table.name == name);
    Ok(table.ok_or_else(|| FieldError::new("type", Some(&name), format!("one of {}", names())))?.kind)
}

/// Reads the rows of one file, named and typed as here (see [`Row::renamed`]).
pub(super) struct Reader {
    extent: Extent,
    frames: Frames,
    amount: ReadAmount,
}

impl Reader {
    pub(super) fn new(job: &Job, amount: ReadAmount) -> Self {
        Self { extent: Extent::default(), frames: Frames::new(job.input.path()), amount }
    }

    /// Judges the frames that were gathered.
    pub(super) fn judge(&mut self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.frames.resolve_all(sink)
    }

    /// Adds claims that depend on all rows.
    pub(super) fn finish(mut self, complete: Complete, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.judge(sink)?;
        if sink.skipped() == 0 {
            self.extent.claim(complete, sink);
        }
        Ok(())
    }

    /// A row of a table that is read elsewhere stands in this block.
    pub(super) fn see(&mut self, table: CoverageTable, block: u64) {
        self.extent.see(table, block);
    }

    /// A frame that was read elsewhere.
    pub(super) fn frame(&mut self, frame: FrameRow, place: Place, sink: &mut Sink<'_>) -> Result<(), Fault> {
        self.see(CoverageTable::Traces, frame.block);
        self.frames.take(frame, place, sink)
    }

    pub(super) fn row(&mut self, kind: Kind, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        match kind {
            Kind::Block => {
                let block = block(row, sink.chain())?;
                self.extent.see(CoverageTable::Blocks, block.number);
                withdrawals(row, &block, sink)?;
                sink.block(block);
            }
            Kind::Transaction => self.transaction(row, sink)?,
            Kind::Receipt => {
                let facts = transactions::receipt(row, sink.chain())?;
                self.extent.see(CoverageTable::Receipts, facts.block);
                sink.transaction(facts);
            }
            Kind::Log => {
                let (head, log, movement) = logs::log(row, sink.chain())?;
                self.extent.see(CoverageTable::Logs, head.block);
                self.extent.see(CoverageTable::TokenTransfers, head.block);
                if movement.as_ref().is_some_and(logs::is_non_fungible) {
                    sink.count_non_fungible(1);
                }
                sink.log(head, log, movement);
            }
            Kind::TokenTransfer => {
                let (head, mut movement) = logs::token_transfer(row, sink.chain(), self.amount)?;
                if let Asset::Token(contract) = movement.asset
                    && !sink.is_fungible(&contract)?
                {
                    movement.kind = MovementFact::NonFungible;
                    sink.count_non_fungible(1);
                }
                self.extent.see(CoverageTable::TokenTransfers, head.block);
                sink.movement(head, movement);
            }
            Kind::Trace => {
                let frame = traces::frame(row, sink.chain(), self.amount)?;
                self.frame(frame, row.place(), sink)?;
            }
            Kind::Contract => {
                let contract = contracts::contract(row, sink.chain())?;
                sink.contract(contract);
                if contracts::is_non_fungible(row)? {
                    sink.non_fungible_contract(contract)?;
                }
            }
            Kind::Token => sink.token(contracts::token(row, sink.chain())?),
        }
        sink.boundary()?;
        Ok(())
    }

    fn transaction(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let facts = transactions::transaction(row, sink.chain(), self.amount)?;
        self.extent.see(CoverageTable::Transactions, facts.block);
        if facts.gas_used.is_some() {
            self.extent.see(CoverageTable::Receipts, facts.block);
        }
        sink.transaction(facts);
        Ok(())
    }
}

fn block(row: &Row<'_>, chain: Chain) -> Result<BlockFacts, FieldError> {
    Ok(BlockFacts {
        number: needed(row.u64("number")?, "number")?,
        hash: row.block_hash("hash", chain)?,
        parent: row.block_hash("parent_hash", chain)?,
        time: needed(row.time("timestamp")?, "timestamp")?,
    })
}

/// Withdrawals of validators, in gwei: a list of objects in JSON, which tables keep as the text of its items.
fn withdrawals(row: &Row<'_>, block: &BlockFacts, sink: &mut Sink<'_>) -> Result<(), FieldError> {
    const COLUMN: &str = "withdrawals";
    if let Some(list) = row.objects(COLUMN)? {
        return withdraw(&list, block, sink);
    }
    let Some(text) = row.text(COLUMN)? else { return Ok(()) };
    let wrong = || FieldError::new(COLUMN, Some(&text), "a list of objects with address and amount in gwei");
    let list = match text.strip_prefix('[') {
        Some(_) => text.clone().into_owned(),
        None => format!("[{text}]"),
    };
    // As Python prints a list.
    let list = if list.contains('"') { list } else { list.replace('\'', "\"") };
    let value = json::parse(&list, &Bounds::default()).map_err(|_| wrong())?;
    let items = (0..).zip(value.items());
    let list: Vec<Object<'_>> =
        items.map(|(number, item): (usize, _)| Object::at(item, format!("{COLUMN}[{number}]."))).collect();
    withdraw(&list, block, sink)
}

fn withdraw(list: &[Object<'_>], block: &BlockFacts, sink: &mut Sink<'_>) -> Result<(), FieldError> {
    let mut system = System::default();
    for withdrawal in list {
        let to = withdrawal.address_on("address", sink.chain())?;
        let gwei = withdrawal.quantity("amount")?;
        let expected = "a value";
        system.add_withdrawal(
            block.number,
            withdrawal.need("address", to, expected)?,
            withdrawal.need("amount", gwei, expected)?,
        )?;
    }
    system.hand_over(block.number, (Some(block.time), block.hash), sink);
    Ok(())
}

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

#[cfg(test)]
mod tests;
