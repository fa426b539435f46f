//! What the JSON formats of Bitcoin share: documents one per line or one per file, and the facts of a transaction.

use headwater_ledger::facts::{BlockFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::Status;
use headwater_types::{BlockHash, Network, Timestamp, TxHash};

use super::Job;
use crate::bitcoin::facts::is_superseded;
use crate::error::{Fault, FieldError, Place, RowError};
use crate::source::json::{self, Value};
use crate::source::{Content, each_parquet_document};
use crate::{IngestError, Sink};

/// A file that is one document is read whole, up to this length.
const MAX_DOCUMENT: u64 = 512 << 20;

/// Reads every document of a file: one per line, or the file as one, or the items of the one list that the file is. Rows
/// of a Parquet file are documents of the columns named.
pub(super) fn each_document(
    job: &Job,
    columns: &[&str],
    sink: &mut Sink<'_>,
    handle: &mut dyn FnMut(&Value<'_>, &mut Sink<'_>) -> Result<(), Fault>,
) -> Result<(), IngestError> {
    let input = &job.input;
    let mut one = |document: Result<&Value<'_>, FieldError>, place, sink: &mut Sink<'_>| {
        sink.count_row()?;
        let outcome = match document {
            Ok(value) => handle(value, sink),
            Err(field) => Err(field.into()),
        };
        match outcome {
            Ok(()) => sink.boundary(),
            Err(Fault::Field(field)) => sink.reject(RowError { file: input.path().to_owned(), place, field }),
            Err(Fault::Fatal(error)) => Err(error),
        }
    };
    if job.content == Content::Parquet {
        return each_parquet_document(input, columns, |value, place| one(Ok(value), place, sink));
    }
    let mut lines = input.lines()?;
    let mut first = true;
    while let Some((number, line)) = lines.next_line()? {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        let parsed = std::str::from_utf8(line)
            .map_err(|_| FieldError::new("document", Some(&String::from_utf8_lossy(line)), "text in UTF-8"))
            .and_then(|text| json::parse(text).map_err(|error| not_json(text, &error)));
        match parsed {
            Ok(Value::List(items)) if first => {
                for item in &items {
                    one(Ok(item), Place::Line(number), sink)?;
                }
            }
            Ok(value) => one(Ok(&value), Place::Line(number), sink)?,
            Err(_) if first && !is_whole(line) => {
                // Printed over several lines.
                drop(lines);
                let content = input.read_whole(MAX_DOCUMENT)?;
                let text = std::str::from_utf8(&content).map_err(|_| input.damaged(None, "it is no text in UTF-8"))?;
                return match json::parse(text.trim_start_matches('\u{feff}')) {
                    Ok(Value::List(items)) => {
                        items.iter().try_for_each(|item| one(Ok(item), Place::Line(number), sink))
                    }
                    Ok(value) => one(Ok(&value), Place::Line(number), sink),
                    Err(error) => one(Err(not_json(text, &error)), Place::Line(number), sink),
                };
            }
            Err(field) => one(Err(field), Place::Line(number), sink)?,
        }
        first = false;
    }
    Ok(())
}

/// Whether a line looks like a document of its own, so that a broken one is a broken row.
fn is_whole(line: &[u8]) -> bool {
    let line = line.trim_ascii();
    line.starts_with(b"{") && line.ends_with(b"}")
}

fn not_json(text: &str, error: &json::JsonError) -> FieldError {
    FieldError::new("document", Some(text), error.to_string())
}

/// The network of files that do not tell theirs.
pub(super) fn network(sink: &mut Sink<'_>) -> Network {
    let network = sink.options().network.unwrap_or_default();
    sink.network(network);
    network
}

/// The block that a row of a transaction tells of.
pub(super) fn block_of(number: u64, hash: Option<BlockHash>, parent: Option<BlockHash>, time: Timestamp) -> BlockFacts {
    // The first block has no parent; zeros stand for none.
    let parent = parent.filter(|parent| parent.as_bytes() != &[0; 32]);
    BlockFacts { number, hash, parent, time }
}

/// The facts of a transaction in a block; `None` for one that a later transaction of the same id undid.
pub(super) fn transaction_facts(
    network: Network,
    hash: TxHash,
    block: u64,
    time: Option<Timestamp>,
    utxo: UtxoFacts,
) -> Option<TransactionFacts> {
    if is_superseded(network, block, &hash) {
        return None;
    }
    let mut facts = TransactionFacts::new(hash, block);
    facts.time = time;
    // A transaction that fails is in no block.
    facts.status = Some(Status::Success);
    facts.utxo = Some(utxo);
    Some(facts)
}

/// The weight that bytes and virtual bytes leave possible; `None` where that are two.
///
/// A transaction of `n` bytes, `s` of them without witnesses, weighs `3 s + n` and has a quarter of it, rounded up, as
/// virtual bytes `v`. So the weight is one of the four numbers up to `4 v` and congruent to `n` modulo 3, which only
/// `4 v` and `4 v - 3` can both be. Without witnesses `v = n`, and nothing else has that: witnesses take two bytes more.
pub(super) fn weight_of(bytes: Option<u32>, virtual_bytes: Option<u32>) -> Option<u32> {
    let (bytes, virtual_bytes) = (bytes?, virtual_bytes?);
    let most = virtual_bytes.checked_mul(4)?;
    if bytes == virtual_bytes {
        return Some(most);
    }
    let mut possible = (most.checked_sub(3)?..=most).filter(|weight| weight % 3 == bytes % 3);
    possible.next().filter(|_| possible.next().is_none())
}
