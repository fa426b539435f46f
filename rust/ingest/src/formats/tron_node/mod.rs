//! Answers of a TRON node's HTTP interface, kept as files: blocks (`getblockbynum`, `getblockbylimitnext`) and what became
//! of their transactions (`gettransactioninfobyblocknum`, `gettransactioninfobyid`).
//!
//! One answer per file or per line, addresses in hex or in Base58 (`visible`). The two are joined by the id of the
//! transaction. Tokens of TRC-10 have a number instead of a contract, which an asset cannot say: what moved of them is
//! left out and counted.

mod blocks;
mod infos;

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
        let mut left_out = 0;
        each_value(job, sink, &mut |value, place, sink| answer(job, value, place, &mut left_out, sink))?;
        if left_out > 0 {
            sink.warn(format!("{left_out} movements of TRC-10 tokens were left out: they have no contract"));
        }
        Ok(())
    }
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
    left_out: &mut u64,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let list = value.get("block").unwrap_or(value);
    match list {
        // How a node says that there is no such block, and one without transactions.
        Value::Object(members) if members.is_empty() => Ok(()),
        Value::List(items) if items.first().is_none_or(is_info) => infos::of_blocks(job, items, place, left_out, sink),
        Value::List(items) => (0..).zip(items).try_for_each(|(number, item): (usize, _)| {
            let block = Object::at(item, format!("block[{number}]."));
            one(job, place, sink, |sink| one_answer(item, &block, left_out, sink))
        }),
        item => one(job, place, sink, |sink| one_answer(item, &Object::whole(item), left_out, sink)),
    }
}

fn one_answer(item: &Value<'_>, object: &Object<'_>, left_out: &mut u64, sink: &mut Sink<'_>) -> Result<(), Fault> {
    if is_block(item) {
        return Ok(blocks::block(object, left_out, sink)?);
    }
    if is_info(item) {
        return Ok(infos::alone(object, left_out, sink)?);
    }
    let shown: Vec<_> = item.members().iter().take(8).map(|(name, _)| name.as_ref()).collect();
    Err(FieldError::new("document", Some(&shown.join(", ")), "a block, or what became of its transactions").into())
}

#[cfg(test)]
pub(super) mod tests;
