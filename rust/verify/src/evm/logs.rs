//! The checks that are possible of `eth_getLogs` without receipts.

use serde_json::Value;

use super::header::VerifiedHeader;
use super::place::check_block;
use super::receipt::{Bloom, Log, check_removed};
use crate::json::{number, shown};
use crate::mismatch::{Fault, Mismatch, Rule, VerificationError};

/// Logs of a block that do not contradict its header.
///
/// The bloom filter of the header shows that a log may be in the block, never that it is: data, positions and
/// transactions are as the node states them, and missing logs are not seen. Receipts verify all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartlyVerifiedLogs {
    /// The number of logs.
    pub count: usize,
}

/// Checks logs of one block against its header: block, order, and the bloom filter, which contains each address and topic.
///
/// # Errors
/// When a log names another block, is out of order, was removed, or is certainly not in the block.
pub fn verify_logs(header: &VerifiedHeader, logs: &Value) -> Result<PartlyVerifiedLogs, VerificationError> {
    check(header, logs).map_err(|fault| fault.at(header.number))
}

fn check(header: &VerifiedHeader, logs: &Value) -> Result<PartlyVerifiedLogs, Fault> {
    let Some(entries) = logs.as_array() else {
        return Err(Fault::new("logs", Mismatch::Malformed { given: shown(Some(logs)), expected: "a list of logs" }));
    };
    let mut before = None;
    for (index, log) in entries.iter().enumerate() {
        let position = check_log(header, log, before).map_err(|fault| fault.inside("logs", index))?;
        before = Some(position);
    }
    Ok(PartlyVerifiedLogs { count: entries.len() })
}

/// The position of a transaction and of its log, both counted over the block.
type Position = (u64, u64);

fn check_log(header: &VerifiedHeader, log: &Value, before: Option<Position>) -> Result<Position, Fault> {
    check_block(header, log)?;
    check_removed(log)?;
    let position = (number(log, "transactionIndex")?, number(log, "logIndex")?);
    if let Some((transaction, log_index)) = before
        && (position.0 < transaction || position.1 <= log_index)
    {
        let given = position.1.to_string();
        return Err(Fault::value("logIndex", Rule::Position, given, "a position after the log before it"));
    }
    let content = Log::read(log)?;
    let mut entries = std::iter::once(&content.address[..]).chain(content.topics.iter().map(|topic| &topic[..]));
    if entries.all(|entry| Bloom::may_contain(&header.logs_bloom, entry)) {
        return Ok(position);
    }
    let expected = "a log whose address and topics the bloom filter of the block contains";
    Err(Fault::value("", Rule::Bloom, "not in the block", expected))
}
