//! The tables of Ethereum: transactions, calls, and transfers of ERC-20 tokens.
//!
//! Calls say themselves whether they moved value; they lie in each other as `0`, `0.1`, `0.1.2` states, and the first is
//! the transaction. Transfers have no log index: as in account exports equal rows of one file are separate movements.
//! Rewards of miners are not read: here they include the fees, which other sources and the ledger count apart. Nor is
//! the price of gas, since the fee itself is stated.

use std::collections::BTreeSet;

use headwater_ledger::facts::{Body, Movement, MovementFact, TokenFacts, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Amount, Asset, Chain};

use super::super::ethereum_etl::{Complete, Reader, status};
use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::stated_amount::{StatedAmount, digits};
use super::super::{Format, Job, Sniffed, SniffedChain};
use super::{chain_in, is_table};
use crate::error::{Fault, FieldError};
use crate::source::{Probe, Row, each_row, hex_bytes, plain_number};
use crate::{IngestError, Sink};

pub(in super::super) struct BlockchairEthereum;

const TRANSACTIONS: u8 = 0;
const CALLS: u8 = 1;

/// In order of rank.
const TABLES: [&[&str]; 3] = [
    &["block_id", "hash", "time", "failed", "type", "sender", "recipient", "value", "gas_limit"],
    &["block_id", "transaction_hash", "index", "depth", "type", "sender", "recipient", "value", "transferred"],
    &["block_id", "transaction_hash", "time", "token_address", "sender", "recipient", "value"],
];

/// The mark of a movement to a miner.
const REWARD: &str = "synthetic_coinbase";

impl Format for BlockchairEthereum {
    fn name(&self) -> &'static str {
        "blockchair/ethereum"
    }

    fn describe(&self) -> &'static str {
        "dumps of Blockchair for ethereum (transactions, calls, erc-20 transactions), tab separated"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        const NAMES: [&str; 3] = ["transactions", "calls", "erc-20 transactions"];
        NAMES.into_iter().zip(TABLES).collect()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let place = TABLES.iter().position(|columns| is_table(probe) && probe.has(columns))?;
        let table = u8::try_from(place).expect("there are three tables");
        let named = matches!(chain_in(&probe.input().name()), Some("ethereum" | "erc-20"));
        let chain = if named { SniffedChain::Is(Chain::ETHEREUM) } else { SniffedChain::Usually(Chain::ETHEREUM) };
        let first_block = probe.first("block_id").and_then(|text| text.parse().ok());
        Some(Sniffed { chain, table, rank: table, first_block })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut reading = Reading { reader: Reader::new(job, digits), block: None, tokens: BTreeSet::new() };
        each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| match job.sniffed.table {
            TRANSACTIONS => reading.transaction(row, sink),
            CALLS => reading.call(row, sink),
            _ => reading.transfer(row, sink),
        })?;
        reading.reader.finish(Complete::Span, sink)
    }
}

struct Reading {
    reader: Reader,
    /// The block of the last transfer.
    block: Option<u64>,
    tokens: BTreeSet<TokenFacts>,
}

impl Reading {
    fn transaction(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if is_reward(row, sink)? {
            return Ok(());
        }
        let chain = sink.chain();
        let mut facts = head(row, "hash", chain)?;
        facts.index = row.u32("index")?;
        let receiver = address(row, "recipient", chain)?;
        let creates = row.text("type")?.is_some_and(|kind| kind.starts_with("create"));
        facts.status = status(row, "failed")?.map(opposite);
        facts.body = Some(Body {
            from: Some(needed(address(row, "sender", chain)?, "sender")?),
            to: receiver.filter(|_| !creates),
            value: needed(row.amount("value")?, "value")?,
        });
        facts.created = receiver.filter(|_| creates && facts.status != Some(Status::Failed));
        facts.fee = row.amount("fee")?;
        facts.gas_used = row.u64("gas_used")?;
        facts.gas_limit = row.u64("gas_limit")?;
        facts.nonce = row.u64("nonce")?;
        // Call data of no bytes is an empty field.
        facts.input = bytes(row, "input_hex")?.or(row.has("input_hex").then(Vec::new));
        self.reader.see(CoverageTable::Transactions, facts.block);
        if facts.fee.is_some() {
            self.reader.see(CoverageTable::Receipts, facts.block);
        }
        sink.transaction(facts);
        sink.boundary()?;
        Ok(())
    }

    fn call(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        if is_reward(row, sink)? {
            return Ok(());
        }
        let chain = sink.chain();
        let facts = head(row, "transaction_hash", chain)?;
        let transferred = status(row, "transferred")? == Some(Status::Success);
        let kind = match &*needed(row.text("type")?, "type")? {
            "create" | "create2" => FrameKind::Create,
            "selfdestruct" | "suicide" => FrameKind::Suicide,
            _ => FrameKind::Call { moves: transferred },
        };
        let path = path(row)?;
        let value = needed(row.amount("value")?, "value")?;
        let frame = FrameRow {
            block_hash: None,
            block: facts.block,
            time: facts.time,
            hash: Some(facts.hash),
            index: None,
            value: Some(StatedAmount::exact(if transferred || path.is_empty() { value } else { Amount::ZERO })),
            path,
            kind,
            from: address(row, "sender", chain)?,
            to: address(row, "recipient", chain)?,
            failed: status(row, "failed")? == Some(Status::Success),
            error: row.text("fail_reason")?.map(std::borrow::Cow::into_owned),
        };
        self.reader.frame(frame, row.place(), sink)
    }

    fn transfer(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let chain = sink.chain();
        let head = head(row, "transaction_hash", chain)?;
        if self.block != Some(head.block) {
            // Equal rows of a transaction are counted, so a commit must not part them.
            if self.block.is_some_and(|last| last > head.block) {
                let expected = "the rows in order of blocks: sort the file by block_id";
                return Err(FieldError::new("block_id", Some(&head.block.to_string()), expected).into());
            }
            self.block = Some(head.block);
            sink.boundary()?;
        }
        let contract = needed(address(row, "token_address", chain)?, "token_address")?;
        let movement = Movement {
            kind: MovementFact::Token,
            ordinal: Ordinal::Unindexed(0),
            from: Some(needed(address(row, "sender", chain)?, "sender")?),
            to: Some(needed(address(row, "recipient", chain)?, "recipient")?),
            asset: Asset::Token(contract),
            amount: needed(row.amount("value")?, "value")?,
        };
        let text = |column| Ok::<_, FieldError>(row.text(column)?.map(std::borrow::Cow::into_owned));
        let token = TokenFacts {
            contract,
            symbol: text("token_symbol")?,
            name: text("token_name")?,
            decimals: row.text("token_decimals")?.and_then(|text| text.parse().ok()),
            is_non_fungible: false,
        };
        if self.tokens.insert(token.clone()) {
            sink.token(token);
        }
        self.reader.see(CoverageTable::TokenTransfers, head.block);
        sink.movement(head, movement);
        Ok(())
    }
}

fn is_reward(row: &Row<'_>, sink: &mut Sink<'_>) -> Result<bool, FieldError> {
    let is = row.text("type")?.as_deref() == Some(REWARD);
    if is {
        sink.warn("rewards of miners include fees here and are not read: they are missing from balances");
    }
    Ok(is)
}

fn opposite(status: Status) -> Status {
    match status {
        Status::Success => Status::Failed,
        Status::Failed => Status::Success,
    }
}

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

fn head(row: &Row<'_>, hash: &str, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction(hash, chain)?, hash)?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_id")?, "block_id")?);
    facts.time = row.time("time")?;
    Ok(facts)
}

/// An address with `0x` or without.
fn address(row: &Row<'_>, column: &str, chain: Chain) -> Result<Option<Address>, FieldError> {
    match row.text(column)? {
        Some(digits) if !digits.starts_with("0x") => {
            let parsed = Address::parse(chain, &format!("0x{digits}"));
            let expected = format!("an address of {chain}, with 0x or without");
            parsed.map(Some).map_err(|_| FieldError::new(column, Some(&digits), expected))
        }
        _ => row.address(column, chain),
    }
}

/// Bytes with `0x` or without.
fn bytes(row: &Row<'_>, column: &str) -> Result<Option<Vec<u8>>, FieldError> {
    let Some(text) = row.text(column)? else { return Ok(None) };
    let digits = if text.starts_with("0x") { text.to_string() } else { format!("0x{text}") };
    hex_bytes(&digits).map(Some).ok_or_else(|| FieldError::new(column, Some(&text), "bytes in hex"))
}

/// The place of a call in its transaction, which is the call `0`.
fn path(row: &Row<'_>) -> Result<Vec<u32>, FieldError> {
    let text = needed(row.text("index")?, "index")?;
    let parts: Option<Vec<u32>> = text.split('.').map(plain_number).collect();
    let below = parts.filter(|parts| parts.first() == Some(&0)).map(|parts| parts[1..].to_vec());
    below.ok_or_else(|| FieldError::new("index", Some(&text), "numbers joined by dots, 0 the first"))
}
