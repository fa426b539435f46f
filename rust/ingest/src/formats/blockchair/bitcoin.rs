//! The tables of Bitcoin: transactions, and a row for every output and input.
//!
//! No table contains a whole transaction: its outputs are rows of one dump and its inputs of another. They are put together
//! from the dumps of one day, which have to be read in one call; the table of transactions says how many there are, and
//! without it a transaction counts as whole when it has outputs, and inputs unless it mints. Of dumps that leave a
//! transaction in parts nothing of it is stated, since what is known of half a transaction looks like another one.

use std::collections::{BTreeMap, HashMap};

use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
use headwater_types::{Address, Amount, Chain, Network, Timestamp, TxHash};

use super::super::bitcoin_json::{block_of, network, transaction_facts};
use super::super::{Format, Job, Sniffed, SniffedChain};
use super::{day_in, is_table};
use crate::bitcoin::object::{address, check_address};
use crate::bitcoin::read_script;
use crate::error::{Fault, FieldError};
use crate::source::{Probe, Row, each_row};
use crate::{IngestError, Sink};

pub(in super::super) struct BlockchairBitcoin;

const TRANSACTIONS: u8 = 0;
const INPUTS: u8 = 1;

/// Inputs have all columns of outputs.
const TABLES: [&[&str]; 3] = [
    &["block_id", "hash", "time", "is_coinbase", "input_count", "output_count", "lock_time"],
    &[
        "transaction_hash",
        "index",
        "value",
        "script_hex",
        "spending_block_id",
        "spending_transaction_hash",
        "spending_index",
    ],
    &["block_id", "transaction_hash", "index", "time", "value", "script_hex", "is_from_coinbase"],
];

impl Format for BlockchairBitcoin {
    fn name(&self) -> &'static str {
        "blockchair/bitcoin"
    }

    fn describe(&self) -> &'static str {
        "dumps of Blockchair for bitcoin (transactions, inputs, outputs of the same days), tab separated"
    }

    fn tables(&self) -> Vec<(&'static str, &'static [&'static str])> {
        const NAMES: [&str; 3] = ["transactions", "inputs", "outputs"];
        NAMES.into_iter().zip(TABLES).collect()
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let place = TABLES.iter().position(|columns| is_table(probe) && probe.has(columns))?;
        // Dumps of its sisters (litecoin, dogecoin, ...) have the same columns: their names and addresses refuse them.
        let table = u8::try_from(place).expect("there are three tables");
        let block = if table == INPUTS { "spending_block_id" } else { "block_id" };
        let first_block = probe.first(block).and_then(|text| text.parse().ok());
        Some(Sniffed { chain: SniffedChain::Is(Chain::BITCOIN), table, rank: table, first_block })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        self.read_all(&[job], &mut |_, _| Ok(()), sink)
    }

    fn reads_together(&self) -> bool {
        true
    }

    fn read_all(
        &self,
        jobs: &[&Job],
        next: &mut dyn FnMut(usize, &mut Sink<'_>) -> Result<(), IngestError>,
        sink: &mut Sink<'_>,
    ) -> Result<(), IngestError> {
        let mut parts = Parts { network: network(sink), transactions: HashMap::new(), last_block: None, left_out: 0 };
        let mut day = None;
        for (number, job) in jobs.iter().enumerate() {
            let of_file = day_in(&job.input.name()).map(str::to_owned);
            if day.is_some() && of_file.is_some() && day != of_file {
                parts.end_day(sink)?;
            }
            day = of_file.or(day);
            next(number, sink)?;
            each_row(&job.input, &job.content, &[], sink, |row: &Row<'_>, sink: &mut Sink<'_>| {
                match job.sniffed.table {
                    TRANSACTIONS => parts.transaction(row, sink),
                    INPUTS => parts.input(row, sink),
                    _ => parts.output(row, sink),
                }
            })?;
        }
        parts.end_day(sink)?;
        if parts.left_out > 0 {
            sink.warn(format!(
                "{} transactions were left out, since their inputs or outputs are in none of the files: give the dumps transactions, inputs and outputs of the same days in one call",
                parts.left_out
            ));
        }
        Ok(())
    }
}

/// Transactions of which parts are known.
struct Parts {
    network: Network,
    transactions: HashMap<TxHash, Part>,
    /// The block that was handed over last.
    last_block: Option<u64>,
    left_out: u64,
}

#[derive(Default)]
struct Part {
    block: u64,
    time: Option<Timestamp>,
    mints: bool,
    head: Option<Head>,
    inputs: BTreeMap<u32, InputFacts>,
    outputs: BTreeMap<u32, OutputFacts>,
}

/// The facts of the table of transactions.
struct Head {
    inputs: usize,
    outputs: usize,
    version: Option<u32>,
    lock_time: Option<u32>,
    weight_wu: Option<u32>,
    fee: Option<Amount>,
}

const COUNT: &str = "an unsigned whole number of at most 32 bits";

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

fn flag(row: &Row<'_>, column: &str) -> Result<bool, FieldError> {
    match row.text(column)?.as_deref() {
        Some("1" | "true") => Ok(true),
        Some("0" | "false") => Ok(false),
        other => Err(FieldError::new(column, other, "1 or 0")),
    }
}

impl Parts {
    fn part(&mut self, hash: TxHash, block: u64, time: Option<Timestamp>, sink: &mut Sink<'_>) -> &mut Part {
        if let Some(time) = time.filter(|_| self.last_block != Some(block)) {
            sink.block(block_of(block, None, None, time));
            self.last_block = Some(block);
        }
        let part = self.transactions.entry(hash).or_default();
        (part.block, part.time) = (block, time.or(part.time));
        part
    }

    fn transaction(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let hash = needed(row.transaction("hash", Chain::BITCOIN)?, "hash")?;
        let block = needed(row.u64("block_id")?, "block_id")?;
        let count = |column| {
            let number = needed(row.u32(column)?, column)?;
            usize::try_from(number).map_err(|_| FieldError::new(column, Some(&number.to_string()), COUNT))
        };
        let head = Head {
            inputs: count("input_count")?,
            outputs: count("output_count")?,
            version: row.u32("version")?,
            lock_time: row.u32("lock_time")?,
            weight_wu: row.u32("weight")?,
            fee: row.amount("fee")?,
        };
        let mints = flag(row, "is_coinbase")?;
        let part = self.part(hash, block, row.time("time")?, sink);
        part.mints = mints;
        part.head = Some(head);
        self.state_if_whole(hash, sink)
    }

    fn output(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let hash = needed(row.transaction("transaction_hash", Chain::BITCOIN)?, "transaction_hash")?;
        let block = needed(row.u64("block_id")?, "block_id")?;
        let index = needed(row.u32("index")?, "index")?;
        let output = read_output(row, self.network)?;
        let mints = flag(row, "is_from_coinbase")?;
        let part = self.part(hash, block, row.time("time")?, sink);
        part.mints = mints;
        part.outputs.insert(index, output);
        self.state_if_whole(hash, sink)
    }

    fn input(&mut self, row: &Row<'_>, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let hash = needed(row.transaction("spending_transaction_hash", Chain::BITCOIN)?, "spending_transaction_hash")?;
        let block = needed(row.u64("spending_block_id")?, "spending_block_id")?;
        let place = needed(row.u32("spending_index")?, "spending_index")?;
        let previous = OutPoint {
            hash: needed(row.transaction("transaction_hash", Chain::BITCOIN)?, "transaction_hash")?,
            index: needed(row.u32("index")?, "index")?,
        };
        let spent = Some(read_output(row, self.network)?);
        let input = InputFacts { previous, spent, sequence: row.u32("spending_sequence")? };
        let part = self.part(hash, block, row.time("spending_time")?, sink);
        part.inputs.insert(place, input);
        self.state_if_whole(hash, sink)
    }

    /// A transaction that is known to be whole is stated at once, so that little is held.
    fn state_if_whole(&mut self, hash: TxHash, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let part = &self.transactions[&hash];
        let whole = part
            .head
            .as_ref()
            .is_some_and(|head| part.outputs.len() == head.outputs && (part.mints || part.inputs.len() == head.inputs));
        if whole && let Some(part) = self.transactions.remove(&hash) {
            self.state(hash, part, sink);
            sink.boundary()?;
        }
        Ok(())
    }

    fn state(&mut self, hash: TxHash, part: Part, sink: &mut Sink<'_>) {
        let inputs: Vec<InputFacts> = if part.mints { Vec::new() } else { part.inputs.into_values().collect() };
        let head = part.head.as_ref();
        let utxo = UtxoFacts {
            coinbase: part.mints,
            version: head.and_then(|head| head.version),
            lock_time: head.and_then(|head| head.lock_time),
            weight_wu: head.and_then(|head| head.weight_wu),
            inputs,
            outputs: part.outputs.into_values().collect(),
        };
        let facts = transaction_facts(self.network, hash, part.block, part.time, utxo);
        if let Some(mut facts) = facts {
            facts.fee = head.filter(|_| !part.mints).and_then(|head| head.fee);
            sink.transaction(facts);
        }
    }

    /// Leaves out transactions that are still incomplete at the end of their day.
    fn end_day(&mut self, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        for (hash, part) in std::mem::take(&mut self.transactions) {
            let together = |last: Option<u32>, count: usize| last.is_some_and(|last| last as usize + 1 == count);
            let outputs = together(part.outputs.last_key_value().map(|(index, _)| *index), part.outputs.len());
            let inputs = together(part.inputs.last_key_value().map(|(index, _)| *index), part.inputs.len());
            if part.head.is_none() && outputs && (part.mints || inputs) {
                self.state(hash, part, sink);
            } else {
                self.left_out += 1;
            }
        }
        sink.boundary()
    }
}

/// Owner, form and data come from the script; the address beside it must be the same one, or the file is of another chain
/// or network.
fn read_output(row: &Row<'_>, network: Network) -> Result<OutputFacts, FieldError> {
    let script = row.text("script_hex")?.unwrap_or_default();
    let bytes = hex::decode(&*script).map_err(|_| FieldError::new("script_hex", Some(&script), "a script in hex"))?;
    let value = needed(row.u64("value")?, "value")?;
    if value > crate::bitcoin::block::MAX_MONEY {
        return Err(FieldError::new("value", Some(&value.to_string()), "satoshis, at most all that can exist"));
    }
    let facts = read_script(&bytes, network).with_amount(value);
    let recipient = row.text("recipient")?;
    if let Some(text) = &recipient {
        check_address(network, "recipient", text)?;
    }
    if let (Some(text), Some(owner)) = (recipient, facts.owner) {
        let parsed: Option<Address> = address(network, &text);
        if parsed.is_some_and(|parsed| parsed != owner) {
            let expected =
                format!("{owner}, which owns the script on {network}: is the file of another chain or network?");
            return Err(FieldError::new("recipient", Some(&text), expected));
        }
    }
    Ok(facts)
}
