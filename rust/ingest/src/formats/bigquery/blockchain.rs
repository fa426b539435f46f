//! The data sets `goog_blockchain_<chain>_mainnet_us`: one view of several chains, close to that of their nodes.
//!
//! Amounts that pass 38 digits stand twice, rounded and as exact text (`value_lossless`, or the `string_value` of a
//! record): the text is read. TRON is seen as its nodes show it to tools made for Ethereum: addresses lack their first
//! byte, transactions and logs name no block number (it stands in the first eight bytes of the block hash), gas is energy
//! of which the price says nothing of the fee, and neither transfers of TRC-10 tokens nor internal ones are there.

use headwater_ledger::facts::{Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::Ordinal;
use headwater_types::{Amount, Asset, Chain, Family};

use super::super::ethereum_etl::{Complete, Kind, Reader, path};
use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::evm_logs::TRANSFER_BATCH;
use super::super::stated_amount::{StatedAmount, digits};
use super::super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError};
use crate::source::{Content, Names, Probe, Row, each_row, hex_bytes};
use crate::{IngestError, Sink};

pub(in super::super) struct BigQueryBlockchain;

struct Table {
    kind: Kind,
    columns: &'static [&'static str],
    names: &'static [(&'static str, &'static str)],
}

const BLOCK: &[(&str, &str)] = &[("number", "block_number"), ("hash", "block_hash"), ("timestamp", "block_timestamp")];

/// In order of rank: what others refer to comes first.
#[rustfmt::skip]
const TABLES: &[Table] = &[
    Table { kind: Kind::Block, columns: &["block_hash", "block_number", "block_timestamp", "parent_hash", "gas_limit"], names: BLOCK },
    Table { kind: Kind::Transaction, columns: &["block_hash", "block_timestamp", "transaction_hash", "from_address", "to_address", "value", "gas", "nonce"], names: &[("hash", "transaction_hash")] },
    Table { kind: Kind::Receipt, columns: &["block_hash", "block_timestamp", "transaction_hash", "cumulative_gas_used", "gas_used", "status"], names: &[] },
    Table { kind: Kind::Log, columns: &["block_hash", "block_timestamp", "transaction_hash", "address", "topics", "data"], names: &[] },
    Table { kind: Kind::TokenTransfer, columns: &["block_timestamp", "transaction_hash", "event_index", "address", "from_address", "to_address", "quantity"], names: &[] },
    Table { kind: Kind::Trace, columns: &["block_timestamp", "transaction_hash", "trace_type", "trace_address", "action"], names: &[] },
];

#[rustfmt::skip]
const COLUMNS: &[&str] = &[
    "block_hash", "block_number", "block_timestamp", "parent_hash", "transaction_hash", "transaction_index", "nonce",
    "from_address", "to_address", "value", "value_lossless", "gas", "gas_price", "input", "status", "gas_used",
    "effective_gas_price", "contract_address", "log_index", "address", "topics", "data", "event_index", "event_type",
    "event_hash", "token_id", "quantity", "trace_type", "trace_address", "action", "result", "error", "removed",
    "withdrawals", "transaction_type", "max_fee_per_blob_gas", "blob_gas_used", "blob_gas_price",
];

impl Format for BigQueryBlockchain {
    fn name(&self) -> &'static str {
        "bigquery/blockchain"
    }

    fn describe(&self) -> &'static str {
        "the tables of bigquery-public-data.goog_blockchain_* (ethereum: blocks, transactions, receipts, logs, token_transfers, traces; tron: blocks, transactions, receipts, logs)"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        const NAMES: [&str; 6] = ["blocks", "transactions", "receipts", "logs", "token_transfers", "traces"];
        NAMES.into_iter().zip(TABLES.iter().map(|table| table.columns)).collect()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        // The table of logs is that of `crypto_ethereum` too, which is asked first where a number of the block is there.
        let place = TABLES.iter().position(|table| probe.has(table.columns))?;
        if !matches!(probe.content(), Content::Csv | Content::Json | Content::Parquet) {
            return None;
        }
        let number = probe.first("block_number").and_then(|text| text.parse().ok());
        let tron = probe.first("block_hash").and_then(height_in);
        let chain = if tron.is_some_and(|height| number.is_none_or(|number| number == height)) {
            SniffedChain::Is(Chain::TRON)
        } else {
            SniffedChain::Usually(Chain::ETHEREUM)
        };
        let table = u8::try_from(place).expect("the table of tables is short");
        Some(Sniffed { chain, table, rank: table, first_block: number.or(tron) })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let table = &TABLES[usize::from(job.sniffed.table)];
        let mut reader = Reader::new(job, amount);
        if sink.chain().family() == Family::Tron && table.kind == Kind::Transaction {
            sink.warn(
                "in this view of TRON the value of a transaction may be that of a TRC-10 token or of a stake, and internal transfers are missing: read the blocks of a node where balances of TRX matter",
            );
        }
        each_row(&job.input, &job.content, COLUMNS, sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
            let names = names_of(table, sink.chain());
            one(table, &mut reader, &row.renamed(names), sink).map_err(|fault| fault.renamed(names))
        })?;
        reader.finish(Complete::Unknown, sink)
    }
}

/// The height that a block hash of TRON begins with. No hash of a chain with proof of work or stake begins with three
/// bytes of zeros, but for one in sixteen million.
pub(super) fn height_in(hash: &str) -> Option<u64> {
    let digits = hash.strip_prefix("0x").unwrap_or(hash);
    let height = digits.get(..16).filter(|_| digits.len() == 64 && digits.starts_with("000000"))?;
    u64::from_str_radix(height, 16).ok()
}

/// The names of a table; on TRON without those that mean something else there.
fn names_of(table: &Table, chain: Chain) -> Names<'static> {
    const NOT_THERE: &str = "";
    match (table.kind, chain.family()) {
        (Kind::Transaction, Family::Tron) => {
            &[("hash", "transaction_hash"), ("gas", NOT_THERE), ("gas_price", NOT_THERE), ("nonce", NOT_THERE)]
        }
        (Kind::Receipt, Family::Tron) => &[("gas_used", NOT_THERE), ("effective_gas_price", NOT_THERE)],
        _ => table.names,
    }
}

fn amount(row: &Row<'_>, column: &str) -> Result<Option<StatedAmount>, FieldError> {
    match digits(row, &format!("{column}_lossless"))? {
        Some(exact) => Ok(Some(exact)),
        None => digits(row, column),
    }
}

fn one(table: &Table, reader: &mut Reader, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let chain = sink.chain();
    if row.truth("removed")? == Some(true) {
        sink.omit("logs that a reorganisation removed");
        return Ok(());
    }
    match table.kind {
        Kind::TokenTransfer => {
            let Some((head, movement)) = token_transfer(row, chain)? else {
                sink.count_non_fungible(1);
                return Ok(());
            };
            if movement.kind == MovementFact::NonFungible {
                sink.count_non_fungible(1);
            }
            sink.movement(head, movement);
            sink.boundary()?;
        }
        Kind::Trace => reader.frame(frame(row, chain)?, row.place(), sink)?,
        kind => {
            let height = row.text("block_hash")?.as_deref().and_then(height_in);
            let row = height.map_or(*row, |height| row.completed("block_number", height));
            reader.row(kind, &row, sink)?;
        }
    }
    Ok(())
}

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

/// A transfer of a token. Of one that is not fungible the id stands for the amount, as in its log; without an id the
/// movement is only counted.
fn token_transfer(row: &Row<'_>, chain: Chain) -> Result<Option<(TransactionFacts, Movement)>, FieldError> {
    let hash = needed(row.transaction("transaction_hash", chain)?, "transaction_hash")?;
    let mut head = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    head.time = row.time("block_timestamp")?;
    head.block_hash = row.block_hash("block_hash", chain)?;
    head.index = row.u32("transaction_index")?;
    let quantity = needed(row.amount("quantity")?, "quantity")?;
    let (kind, amount) = match row.text("event_type")?.as_deref() {
        None | Some("ERC-20" | "ERC20") => (MovementFact::Token, quantity),
        Some("ERC-721" | "ERC721") => match row.amount("token_id")? {
            Some(id) => (MovementFact::NonFungible, id),
            None => return Ok(None),
        },
        Some("ERC-1155" | "ERC1155") => {
            let event = row.text("event_hash")?;
            let batch = event.as_deref().and_then(hex_bytes).is_some_and(|hash| hash == TRANSFER_BATCH);
            (MovementFact::NonFungible, if batch { Amount::ZERO } else { quantity })
        }
        Some(other) => {
            return Err(FieldError::new("event_type", Some(other), "one of ERC-20, ERC-721, ERC-1155"));
        }
    };
    let movement = Movement {
        kind,
        ordinal: Ordinal::Indexed(needed(row.u64("event_index")?, "event_index")?),
        from: Some(needed(row.address("from_address", chain)?, "from_address")?),
        to: Some(needed(row.address("to_address", chain)?, "to_address")?),
        asset: Asset::Token(needed(row.address("address", chain)?, "address")?),
        amount,
    };
    Ok(Some((head, movement)))
}

/// A frame, of which action and result are records.
fn frame(row: &Row<'_>, chain: Chain) -> Result<FrameRow, FieldError> {
    let address = |column| row.address(column, chain);
    let sender = address("action.from_address")?;
    let value = amount(row, "action.value")?;
    let (kind, from, to, value) = match &*needed(row.text("trace_type")?, "trace_type")? {
        "call" => {
            let moves = matches!(row.text("action.call_type")?.as_deref(), None | Some("call"));
            (FrameKind::Call { moves }, sender, address("action.to_address")?, value)
        }
        "create" => (FrameKind::Create, sender, address("result.address")?, value),
        "suicide" => {
            let owner = address("action.self_destructed_address")?;
            let value = amount(row, "action.refund_balance")?;
            (FrameKind::Suicide, owner, address("action.refund_address")?, value)
        }
        "reward" => (FrameKind::Reward, None, address("action.author")?, value),
        other => return Err(FieldError::new("trace_type", Some(other), "one of call, create, suicide, reward")),
    };
    let error = row.text("error")?.map(std::borrow::Cow::into_owned);
    Ok(FrameRow {
        block: needed(row.u64("block_number")?, "block_number")?,
        time: row.time("block_timestamp")?,
        block_hash: row.block_hash("block_hash", chain)?,
        hash: row.transaction("transaction_hash", chain)?,
        index: row.u32("transaction_index")?,
        path: path(row)?,
        kind,
        from,
        to,
        value,
        failed: error.is_some(),
        error,
    })
}
