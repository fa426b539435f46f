//! Answers of a TRON node's HTTP interface, kept as files: blocks (`getblockbynum`, `getblockbylimitnext`) and what became
//! of their transactions (`gettransactioninfobyblocknum`, `gettransactioninfobyid`).
//!
//! One answer per file or per line, addresses in hex or in Base58 (`visible`). The two are joined by the id of the
//! transaction. Tokens of TRC-10 have a number instead of a contract, which an asset cannot say: what moved of them is
//! left out and counted. Withdrawals of voters and producers are stated by an info without its account, so the blocks have to
//! be read first.

mod blocks;
mod exchange;
mod infos;
mod notes;

use std::collections::BTreeMap;

use headwater_types::Chain;

use super::documents::{each_value, one};
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError, Place};
use crate::source::json::Value;
use crate::source::{Content, Object, Probe};
use crate::{IngestError, Sink};

const CHAIN: Chain = Chain::TRON;

pub(super) struct TronNode;

impl Format for TronNode {
    fn name(&self) -> &'static str {
        "tron-node"
    }

    fn describe(&self) -> &'static str {
        "answers of a TRON node's HTTP interface: blocks with transactions, and transaction infos"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if *probe.content() != Content::Json {
            return None;
        }
        let document = probe.document()?;
        let list = document.get("block").unwrap_or(&document);
        let first = list.items().first().unwrap_or(list);
        let object = Object::whole(first);
        let (rank, block) = if is_block(first) {
            let header = object.object("block_header").and_then(|header| header.object("raw_data"));
            (0, header.and_then(|header| header.number("number").ok().flatten()))
        } else if is_info(first) {
            (2, object.number("blockNumber").ok().flatten())
        } else {
            return None;
        };
        Some(Sniffed { chain: SniffedChain::Is(CHAIN), table: 0, rank, first_block: block })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut tally = Tally::default();
        each_value(job, sink, &mut |value, place, sink| answer(job, value, place, &mut tally, sink))?;
        tally.warn(sink);
        Ok(())
    }
}

/// Movements of a file that are in no balance.
#[derive(Default)]
struct Tally {
    /// Movements of TRC-10 tokens.
    tokens: u64,
    /// Rewards that were withdrawn by an account that is not known.
    rewards: u64,
    /// Transactions that may have moved an unstated amount of TRX, by kind of contract.
    uncounted: BTreeMap<String, u64>,
    /// Internal transactions of which it is not known whether they move TRX, by note.
    unknown_notes: BTreeMap<String, u64>,
}

impl Tally {
    fn uncount(&mut self, kind: &str) {
        *self.uncounted.entry(kind.to_owned()).or_default() += 1;
    }

    fn warn(&self, sink: &mut Sink<'_>) {
        if self.tokens > 0 {
            sink.warn(format!("{} movements of TRC-10 tokens were left out: they have no contract", self.tokens));
        }
        if self.rewards > 0 {
            sink.warn(format!(
                "{} withdrawals of rewards are missing from balances: an info does not name the account; ingest the blocks \
                 of these transactions before it",
                self.rewards
            ));
        }
        if !self.uncounted.is_empty() {
            sink.warn(format!(
                "TRX that these transactions of the built-in exchange and market may have moved is not told, and missing \
                 from balances: {}",
                listed(&self.uncounted)
            ));
        }
        if !self.unknown_notes.is_empty() {
            sink.warn(format!(
                "internal transactions with unknown notes were left out, as they may move no TRX: {}",
                listed(&self.unknown_notes)
            ));
        }
    }
}

/// Names with their counts.
fn listed(counts: &BTreeMap<String, u64>) -> String {
    let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{count} {name}")).collect();
    counts.join(", ")
}

fn is_block(value: &Value<'_>) -> bool {
    value.get("blockID").is_some() && value.get("block_header").is_some()
}

fn is_info(value: &Value<'_>) -> bool {
    value.get("id").is_some() && value.get("blockNumber").is_some() && value.get("blockTimeStamp").is_some()
}

fn answer(
    job: &Job,
    value: &Value<'_>,
    place: Place,
    tally: &mut Tally,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let list = value.get("block").unwrap_or(value);
    match list {
        // How a node says that there is no such block, and one without transactions.
        Value::Object(members) if members.is_empty() => Ok(()),
        Value::List(items) if items.first().is_none_or(is_info) => infos::of_blocks(job, items, place, tally, sink),
        Value::List(items) => (0..).zip(items).try_for_each(|(number, item): (usize, _)| {
            let block = Object::at(item, format!("block[{number}]."));
            one(job, place, sink, |sink| one_answer(item, &block, tally, sink))
        }),
        item => one(job, place, sink, |sink| one_answer(item, &Object::whole(item), tally, sink)),
    }
}

fn one_answer(item: &Value<'_>, object: &Object<'_>, tally: &mut Tally, sink: &mut Sink<'_>) -> Result<(), Fault> {
    if is_block(item) {
        return Ok(blocks::block(object, tally, sink)?);
    }
    if is_info(item) {
        return infos::alone(object, tally, sink);
    }
    let shown: Vec<_> = item.members().iter().take(8).map(|(name, _)| name.as_ref()).collect();
    Err(FieldError::new("document", Some(&shown.join(", ")), "a block, or what became of its transactions").into())
}

#[cfg(test)]
pub(super) mod tests;
