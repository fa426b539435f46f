//! The tables `transactions` and `receipts`.

use headwater_ledger::facts::{AmountOf, Body, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::Chain;

use super::super::told_amount::ReadAmount;
use super::needed;
use crate::error::FieldError;
use crate::source::Row;

/// A transaction, with its receipt where the row carries one.
pub(super) fn transaction(row: &Row<'_>, chain: Chain, amount: ReadAmount) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("hash", chain)?, "hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.time = row.time("block_timestamp")?;
    facts.index = row.u32("transaction_index")?;
    let value = needed(amount(row, "value")?, "value")?;
    if value.is_approximate {
        facts.approximate.insert(AmountOf::Value);
    }
    facts.body = Some(Body {
        from: Some(needed(row.address("from_address", chain)?, "from_address")?),
        to: row.address("to_address", chain)?,
        value: value.amount,
    });
    facts.nonce = row.u64("nonce")?;
    facts.gas_limit = row.u64("gas")?;
    facts.gas_price = row.amount("gas_price")?;
    facts.input = row.bytes("input")?;
    facts.status = status(row, "receipt_status")?;
    facts.gas_used = row.u64("receipt_gas_used")?;
    facts.effective_gas_price = row.amount("receipt_effective_gas_price")?;
    if facts.status != Some(Status::Failed) {
        facts.created = row.address("receipt_contract_address", chain)?;
    }
    Ok(facts)
}

/// A receipt. One from before Byzantium has a state root instead of a status and leaves it unknown.
pub(super) fn receipt(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("transaction_hash", chain)?, "transaction_hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.time = row.time("block_timestamp")?;
    facts.index = row.u32("transaction_index")?;
    facts.status = status(row, "status")?;
    facts.gas_used = row.u64("gas_used")?;
    facts.effective_gas_price = row.amount("effective_gas_price")?;
    // A node names the contract that a failed creation would have made.
    if facts.status != Some(Status::Failed) {
        facts.created = row.address("contract_address", chain)?;
    }
    Ok(facts)
}

/// `1`, `0`, a truth value, or nothing.
pub(in super::super) fn status(row: &Row<'_>, column: &str) -> Result<Option<Status>, FieldError> {
    match row.text(column)?.as_deref() {
        None => Ok(None),
        Some("1" | "true") => Ok(Some(Status::Success)),
        Some("0" | "false") => Ok(Some(Status::Failed)),
        Some(other) => Err(FieldError::new(column, Some(other), "1 (success) or 0 (failed)")),
    }
}
