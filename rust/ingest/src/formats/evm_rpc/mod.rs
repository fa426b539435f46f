//! Answers of an EVM node's JSON-RPC, kept as files.
//!
//! Blocks with their transactions (`eth_getBlockByNumber(n, true)`), receipts (`eth_getBlockReceipts`,
//! `eth_getTransactionReceipt`), logs (`eth_getLogs`) and traces (`debug_traceBlockByNumber` with the call tracer,
//! `trace_block`). Each answer with or without its envelope, one per file, one per line, or many in one list; answers of
//! several kinds may be mixed. A block may be in several answers: blocks come first, since the others have no times.

mod blocks;
mod extent;
mod receipts;
mod traces;

use headwater_types::Chain;

use super::documents::{each_value, one};
use super::evm_frames::Frames;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::error::{Fault, FieldError, Place};
use crate::source::json::Value;
use crate::source::{Content, Object, Probe};
use crate::{IngestError, Sink};
use extent::Extent;

pub(super) struct EvmRpc;

/// The subject of an answer, or of one item of an answer that is a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Block,
    Receipt,
    Log,
    /// The traces of all transactions of a block as ethereum-etl keeps them: `block_number`, `transaction_traces`.
    BlockTraces,
    /// One transaction's tree of the call tracer: `txHash`, `result`.
    CallTrace,
    /// One frame of `trace_block`.
    FlatTrace,
}

impl Kind {
    fn of(value: &Value<'_>) -> Option<Self> {
        let has = |names: &[&str]| names.iter().all(|name| value.members().iter().any(|(member, _)| member == name));
        [
            (Self::Block, &["parentHash", "number", "timestamp"][..]),
            (Self::Receipt, &["transactionHash", "gasUsed", "logs"]),
            (Self::Log, &["topics", "data", "address", "logIndex", "transactionHash"]),
            (Self::BlockTraces, &["block_number", "transaction_traces"]),
            (Self::FlatTrace, &["action", "traceAddress", "type"]),
        ]
        .into_iter()
        .find(|(_, names)| has(names))
        .map(|(kind, _)| kind)
        .or_else(|| {
            let frame = value.get("result").unwrap_or(value);
            let is_frame = frame.get("type").is_some() && frame.get("from").is_some() && frame.get("gas").is_some();
            let failed = has(&["txHash", "error"]) && value.get("result").is_none();
            (is_frame || failed).then_some(Self::CallTrace)
        })
    }
}

impl Format for EvmRpc {
    fn name(&self) -> &'static str {
        "evm-rpc"
    }

    fn describe(&self) -> &'static str {
        "answers of an EVM node's JSON-RPC: blocks with transactions, receipts, logs, and traces (callTracer, trace_block)"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if *probe.content() != Content::Json {
            return None;
        }
        let document = probe.document()?;
        let first = document.items().first().unwrap_or(&document);
        let answer = answer_in(first);
        let item = answer.items().first().unwrap_or(answer);
        // Of an answer without items, only the envelope states what it is.
        let empty =
            is_envelope(first) && answer.text().is_none() && matches!(answer, Value::List(items) if items.is_empty());
        let kind = match Kind::of(item) {
            None if !empty => return None,
            kind => kind,
        };
        let object = Object::whole(item);
        let number =
            ["number", "blockNumber", "block_number"].iter().find_map(|name| object.count(name).ok().flatten());
        Some(Sniffed {
            chain: chain_in(probe),
            table: 0,
            rank: match kind {
                Some(Kind::Block) | None => 0,
                Some(Kind::Receipt) => 2,
                Some(Kind::Log) => 3,
                Some(Kind::BlockTraces | Kind::CallTrace | Kind::FlatTrace) => 5,
            },
            first_block: number,
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let mut reader = Reader {
            job,
            chain: sink.chain(),
            frames: Frames::new(job.input.path()),
            extent: Extent::default(),
            named_block: block_in(&job.input.name()),
        };
        each_value(job, sink, &mut |value, place, sink| reader.document(value, place, sink))?;
        reader.frames.resolve_all(sink)?;
        if sink.skipped() == 0 {
            reader.extent.claim(sink)?;
        }
        Ok(())
    }
}

/// Returns true if an object is what the node wraps around an answer. Some tools keep nothing of it but the result; a frame under
/// that name is an item of an answer.
fn is_envelope(value: &Value<'_>) -> bool {
    let has = |name: &str| value.members().iter().any(|(member, _)| member == name);
    let is_named = has("jsonrpc") || has("id");
    is_named && (has("result") || has("error"))
        || value.members().len() == 1 && has("result") && Kind::of(value) != Some(Kind::CallTrace)
}

fn answer_in<'v>(value: &'v Value<'v>) -> &'v Value<'v> {
    if is_envelope(value) { value.get("result").unwrap_or(&Value::Null) } else { value }
}

/// Returns the chain that a transaction in the head of a file names. An unknown chain is an error when its rows are read.
fn chain_in(probe: &Probe) -> SniffedChain {
    let head = String::from_utf8_lossy(probe.head());
    let id = |rest: &str| {
        let rest = rest.trim_start_matches([' ', ':', '"']);
        match rest.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits.split('"').next()?, 16).ok(),
            None => rest.split(|character: char| !character.is_ascii_digit()).next()?.parse().ok(),
        }
    };
    // Zero stands for none, as of transactions before EIP-155.
    let named = head.split("\"chainId\"").skip(1).filter_map(id).find(|id| *id != 0);
    let chain = named.and_then(|id| Chain::from_caip2(&format!("eip155:{id}")));
    chain.map_or(SniffedChain::Usually(Chain::ETHEREUM), SniffedChain::Is)
}

/// The block that a file is named for: the only number in hex in its name, or the only one of digits.
fn block_in(name: &str) -> Option<u64> {
    let words = || name.split(|character: char| !character.is_ascii_alphanumeric());
    let only = |numbers: Vec<u64>| <[u64; 1]>::try_from(numbers).ok().map(|[number]| number);
    let hex = words().filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    only(hex.collect()).or_else(|| only(words().filter_map(crate::source::plain_number).collect()))
}

struct Reader<'a> {
    job: &'a Job,
    chain: Chain,
    frames: Frames,
    extent: Extent,
    named_block: Option<u64>,
}

/// The position of an item: the line of its document, the way to it there, and its place in the list that the answer is.
struct Spot {
    place: Place,
    way: String,
    number: Option<u32>,
}

impl Reader<'_> {
    /// A line of the file, or all of it: an answer, or a list of answers.
    fn document(&mut self, value: &Value<'_>, place: Place, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        match value {
            Value::List(batch) if batch.first().is_some_and(is_envelope) => (0..)
                .zip(batch)
                .try_for_each(|(number, answer): (usize, _)| self.answer(answer, place, &format!("[{number}]."), sink)),
            answer => self.answer(answer, place, "", sink),
        }
    }

    fn answer(&mut self, value: &Value<'_>, place: Place, way: &str, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        if let Some(error) = value.get("error").filter(|_| is_envelope(value)) {
            let said = error.get("message").and_then(Value::text).unwrap_or("an error");
            let field = FieldError::new(&format!("{way}error"), Some(said), "an answer of the node, not an error");
            return one(self.job, place, sink, |_| Err(field.into()));
        }
        let way = if is_envelope(value) { format!("{way}result") } else { way.trim_end_matches('.').to_owned() };
        let dotted = |way: &str| if way.is_empty() { String::new() } else { format!("{way}.") };
        match answer_in(value) {
            Value::List(items) => (0..).zip(items).try_for_each(|(number, item)| {
                let spot = Spot { place, way: format!("{way}[{number}]."), number: Some(number) };
                one(self.job, place, sink, |sink| self.item(item, &spot, sink))
            }),
            item => {
                let spot = Spot { place, way: dotted(&way), number: None };
                one(self.job, place, sink, |sink| self.item(item, &spot, sink))
            }
        }
    }

    fn item(&mut self, item: &Value<'_>, spot: &Spot, sink: &mut Sink<'_>) -> Result<(), Fault> {
        let object = Object::at(item, spot.way.clone());
        match Kind::of(item) {
            Some(Kind::Block) => Ok(blocks::block(&object, self.chain, sink)?),
            Some(Kind::Receipt) => {
                let facts = receipts::receipt(&object, self.chain, sink)?;
                if let (Some(_), Some(index)) = (spot.number, facts.index) {
                    self.extent.receipt(facts.block, index);
                }
                sink.transaction(facts);
                Ok(())
            }
            Some(Kind::Log) => {
                if let Some((head, log, movement)) = receipts::log(&object, self.chain, sink)? {
                    sink.log(head, log, movement);
                }
                Ok(())
            }
            Some(Kind::BlockTraces) => self.block_traces(&object, spot, sink),
            Some(Kind::CallTrace) => self.call_trace(&object, spot, sink),
            Some(Kind::FlatTrace) => self.flat_trace(&object, spot, sink),
            None => {
                let shown: Vec<_> = item.members().iter().take(8).map(|(name, _)| name.as_ref()).collect();
                let expected = "a block with its transactions, a receipt, a log or a trace";
                let column = if spot.way.is_empty() { "document" } else { spot.way.trim_end_matches('.') };
                Err(FieldError::new(column, Some(&shown.join(", ")), expected).into())
            }
        }
    }
}

#[cfg(test)]
mod tests;
