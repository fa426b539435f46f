//! The infos of a block, which no hash covers: their join to the transactions, and what follows from the block.

use std::collections::BTreeMap;

use serde_json::Value;

use super::fields::hash;
use super::header::VerifiedHeader;
use super::transactions::VerifiedTransactions;
use crate::json::{integer, list};
use crate::mismatch::{Fault, Rule, VerificationError};

/// Checks the infos of a block (`/wallet/gettransactioninfobyblocknum`): one for each transaction, of this block and time,
/// with the result that the block has for contract calls.
///
/// No hash covers fees, logs and internal transactions: they remain as the node states them.
///
/// # Errors
/// When an info is missing, twice, or of another block, or contradicts the result in the block.
pub fn verify_infos(
    header: &VerifiedHeader,
    transactions: &VerifiedTransactions,
    infos: &Value,
) -> Result<(), VerificationError> {
    check_infos(header, transactions, infos).map_err(|fault| fault.at(header.number))
}

fn check_infos(header: &VerifiedHeader, transactions: &VerifiedTransactions, infos: &Value) -> Result<(), Fault> {
    // Nodes answer an empty object for block 0, whose transactions have no infos.
    if header.number == 0 && infos.as_object().is_some_and(serde_json::Map::is_empty) {
        return Ok(());
    }
    let wrapped = serde_json::json!({ "infos": infos });
    let mut results: BTreeMap<[u8; 32], &Option<String>> =
        transactions.list.iter().map(|(id, result)| (*id, result)).collect();
    for (index, info) in list(&wrapped, "infos")?.iter().enumerate() {
        let check = || {
            let id = hash(info, "id")?;
            let Some(result) = results.remove(&id) else {
                let expected = "the id of a transaction of the block, once";
                return Err(Fault::value("id", Rule::Position, hex::encode(id), expected));
            };
            check_info(header, info, result.as_deref())
        };
        let mut check = check;
        check().map_err(|fault: Fault| fault.inside("infos", index))?;
    }
    let Some(missing) = results.keys().next() else { return Ok(()) };
    let given = format!("without {}", hex::encode(missing));
    Err(Fault::value("infos", Rule::Count, given, "one info for each transaction"))
}

fn check_info(header: &VerifiedHeader, info: &Value, result: Option<&str>) -> Result<(), Fault> {
    let expected = [
        ("blockNumber", i64::try_from(header.number).unwrap_or(i64::MAX), "the number of the block"),
        ("blockTimeStamp", header.timestamp_ms, "the time of the block"),
    ];
    for (name, expected, meaning) in expected {
        let given = integer(info, name)?;
        if given != expected {
            return Err(Fault::value(name, Rule::Position, given.to_string(), format!("{expected}, {meaning}")));
        }
    }
    let stated = info.pointer("/receipt/result").and_then(Value::as_str);
    match (stated, result) {
        (Some(stated), Some(result)) if stated != result => {
            let expected = format!("{result}, as in the block");
            Err(Fault::value("receipt.result", Rule::Derived, stated, expected))
        }
        _ => Ok(()),
    }
}
