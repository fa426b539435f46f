//! Receipts from their canonical bytes, or from the slim form without bloom filters.

use headwater_types::address::contract_address;

use super::super::receipt::{Bloom, GAS_PER_BLOB, Totals};
use super::header::EncodedHeader;
use super::transaction::EncodedTransaction;
use crate::json::prefixed;
use crate::mismatch::{Digest, Fault, Rule};
use crate::rlp::{Items, List, is_list, malformed, shown};
use crate::trie::ordered_root;

/// The receipts of a block, as a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncodedReceipts<'a> {
    /// In the form whose root the header has: `[outcome, gas, bloom, logs]`, typed ones as bytes behind their type.
    Consensus(&'a [u8]),
    /// In the form of eth/69 and of ere files: `[type, outcome, gas, logs]`. Bloom filters are computed.
    Slim(&'a [u8]),
}

/// The outcome of a transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It was executed.
    Success,
    /// It was reverted.
    Failed,
    /// Not stated: receipts before Byzantium have the root of the state instead.
    StateRoot([u8; 32]),
}

/// A receipt of a block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedReceipt<'a> {
    /// The outcome.
    pub outcome: Outcome,
    /// The gas that the transaction used, without that of blobs.
    pub gas_used: u64,
    /// The gas of its blobs.
    pub blob_gas_used: u64,
    /// The contract that the transaction creates, if it is executed.
    pub contract: Option<[u8; 20]>,
    /// The logs.
    pub logs: Vec<EncodedLog<'a>>,
}

/// A log of a receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedLog<'a> {
    /// The position in the block.
    pub index: u64,
    /// The contract that emitted it.
    pub address: [u8; 20],
    /// At most four topics.
    pub topics: Vec<[u8; 32]>,
    /// Its data.
    pub data: &'a [u8],
}

/// Reads the receipts of a block, and compares them with its header.
pub(super) fn read_all<'a>(
    header: &EncodedHeader,
    transactions: &[EncodedTransaction<'_>],
    receipts: EncodedReceipts<'a>,
) -> Result<Vec<EncodedReceipt<'a>>, Fault> {
    let (EncodedReceipts::Consensus(bytes) | EncodedReceipts::Slim(bytes)) = receipts;
    let is_slim = matches!(receipts, EncodedReceipts::Slim(_));
    let mut list = Items::whole(bytes, "receipts")?;
    let mut read = Vec::with_capacity(transactions.len());
    let mut encoded = Vec::with_capacity(transactions.len());
    let mut totals = Totals::new();
    let count = |count: usize| {
        let expected = format!("{}, the number of transactions", transactions.len());
        Fault::value("the number of receipts", Rule::Count, count.to_string(), expected)
    };
    while !list.is_empty() {
        let transaction = transactions.get(read.len()).ok_or_else(|| count(read.len() + 1))?;
        let one =
            if is_slim { slim(&mut list, transaction, &mut totals) } else { full(&mut list, transaction, &mut totals) };
        let (receipt, bytes) = one.map_err(|fault| fault.inside("receipts", read.len()))?;
        read.push(receipt);
        encoded.push(bytes);
    }
    if read.len() != transactions.len() {
        return Err(count(read.len()));
    }
    let verified = &header.verified;
    Fault::compare(Digest::ReceiptsRoot, ordered_root(&encoded), verified.receipts_root, prefixed)?;
    if totals.gas != verified.gas_used {
        let expected = format!("{}, the sum of the receipts", totals.gas);
        return Err(Fault::value("gasUsed", Rule::Derived, verified.gas_used.to_string(), expected));
    }
    if totals.bloom.0 != verified.logs_bloom {
        let expected = "the bloom filter of the logs of the receipts";
        return Err(Fault::value("logsBloom", Rule::Bloom, "another filter", expected));
    }
    Ok(read)
}

/// Reads a receipt in the form that is hashed. Returns its canonical bytes too.
fn full<'a>(
    list: &mut Items<'a>,
    transaction: &EncodedTransaction<'_>,
    totals: &mut Totals,
) -> Result<(EncodedReceipt<'a>, Vec<u8>), Fault> {
    let item = list.clone().encoded("")?;
    let (kind, bytes, payload) = if is_list(item) {
        list.list("")?;
        (0, item, item)
    } else {
        let bytes = list.bytes("")?;
        let Some((kind, payload)) = bytes.split_first() else {
            return Err(malformed("type", "missing".to_owned(), "the type of a receipt, and its fields"));
        };
        (u64::from(*kind), bytes, payload)
    };
    check_kind(kind, transaction)?;
    let mut fields = Items::whole(payload, "")?;
    let (outcome, _) = self::outcome(&mut fields)?;
    let cumulative = fields.number("cumulativeGasUsed")?;
    let stated: [u8; 256] = fields.fixed("logsBloom")?;
    let logs = fields.list("logs")?;
    fields.end("", "four fields")?;
    let (receipt, bloom) = of(outcome, cumulative, logs, transaction, totals)?;
    if stated != *bloom.0 {
        return Err(Fault::value(
            "logsBloom",
            Rule::Bloom,
            shown(&stated),
            "the bloom filter of the logs of the receipt",
        ));
    }
    Ok((receipt, bytes.to_vec()))
}

/// Reads a receipt in the slim form, and writes its canonical bytes.
fn slim<'a>(
    list: &mut Items<'a>,
    transaction: &EncodedTransaction<'_>,
    totals: &mut Totals,
) -> Result<(EncodedReceipt<'a>, Vec<u8>), Fault> {
    let mut fields = list.list("")?;
    check_kind(fields.number("type")?, transaction)?;
    let (outcome, stated) = self::outcome(&mut fields)?;
    let cumulative = fields.number("cumulativeGasUsed")?;
    let encoded_logs = fields.clone().encoded("logs")?;
    let logs = fields.list("logs")?;
    fields.end("", "four fields")?;
    let (receipt, bloom) = of(outcome, cumulative, logs, transaction, totals)?;
    let mut canonical = List::default();
    canonical.bytes(stated).number(cumulative).bytes(&bloom.0[..]).encoded(encoded_logs);
    let kind = transaction.verified.kind;
    let prefix: &[u8] = if kind == 0 { &[] } else { &[kind] };
    Ok((receipt, canonical.prefixed(prefix)))
}

fn check_kind(kind: u64, transaction: &EncodedTransaction<'_>) -> Result<(), Fault> {
    if kind == u64::from(transaction.verified.kind) {
        return Ok(());
    }
    let expected = format!("{}, the type of the transaction", transaction.verified.kind);
    Err(Fault::value("type", Rule::Derived, kind.to_string(), expected))
}

fn outcome<'a>(fields: &mut Items<'a>) -> Result<(Outcome, &'a [u8]), Fault> {
    let bytes = fields.bytes("status")?;
    let outcome = match bytes {
        [] => Outcome::Failed,
        [1] => Outcome::Success,
        _ => match bytes.try_into() {
            Ok(root) => Outcome::StateRoot(root),
            Err(_) => return Err(malformed("status", shown(bytes), "0 or 1, or a state root of 32 bytes")),
        },
    };
    Ok((outcome, bytes))
}

fn of<'a>(
    outcome: Outcome,
    cumulative: u64,
    mut logs: Items<'a>,
    transaction: &EncodedTransaction<'_>,
    totals: &mut Totals,
) -> Result<(EncodedReceipt<'a>, Bloom), Fault> {
    let gas_used = totals.add_gas(cumulative)?;
    let mut bloom = Bloom::empty();
    let mut read = Vec::new();
    while !logs.is_empty() {
        let log = log(&mut logs, totals.log_count).map_err(|fault| fault.inside("logs", read.len()))?;
        totals.log_count += 1;
        bloom.insert(&log.address);
        for topic in &log.topics {
            bloom.insert(topic);
        }
        read.push(log);
    }
    totals.bloom.merge(&bloom);
    let verified = &transaction.verified;
    let receipt = EncodedReceipt {
        outcome,
        gas_used,
        blob_gas_used: verified.blob_count as u64 * GAS_PER_BLOB,
        contract: verified.to.is_none().then(|| contract_address(&verified.from, verified.nonce)),
        logs: read,
    };
    Ok((receipt, bloom))
}

fn log<'a>(logs: &mut Items<'a>, index: u64) -> Result<EncodedLog<'a>, Fault> {
    const MAX_TOPICS: usize = 4;
    let mut fields = logs.list("")?;
    let address = fields.fixed("address")?;
    let mut list = fields.list("topics")?;
    let mut topics = Vec::with_capacity(MAX_TOPICS);
    while !list.is_empty() {
        topics.push(list.fixed("").map_err(|fault| fault.inside("topics", topics.len()))?);
    }
    if topics.len() > MAX_TOPICS {
        return Err(malformed("topics", format!("{} topics", topics.len()), "at most four"));
    }
    let data = fields.bytes("data")?;
    fields.end("", "three fields")?;
    Ok(EncodedLog { index, address, topics, data })
}
