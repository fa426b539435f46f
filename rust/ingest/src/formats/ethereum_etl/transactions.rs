//! The tables `transactions` and `receipts`.

use headwater_ledger::facts::{AmountOf, Body, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::Chain;

use super::super::evm_receipt::{Receipt, blobs};
use super::super::stated_amount::ReadAmount;
use super::needed;
use crate::error::FieldError;
use crate::source::Row;

/// A transaction, with its receipt where the row carries one.
pub(super) fn transaction(row: &Row<'_>, chain: Chain, amount: ReadAmount) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("hash", chain)?, "hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.time = row.time("block_timestamp")?;
    facts.block_hash = row.block_hash("block_hash", chain)?;
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
    let receipt = Receipt {
        status: status(row, "receipt_status")?,
        gas_used: row.u64("receipt_gas_used")?,
        effective_gas_price: row.amount("receipt_effective_gas_price")?,
        contract: row.address("receipt_contract_address", chain)?,
        blobs: blobs(row, "receipt_blob_gas_used", "receipt_blob_gas_price")?,
    };
    receipt.add_to(&mut facts, chain).ok_or_else(|| fee_too_large("receipt_gas_used"))?;
    Ok(facts)
}

/// A receipt. One from before Byzantium has a state root instead of a status, and its status stays unknown.
pub(super) fn receipt(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("transaction_hash", chain)?, "transaction_hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.time = row.time("block_timestamp")?;
    facts.block_hash = row.block_hash("block_hash", chain)?;
    facts.index = row.u32("transaction_index")?;
    let receipt = Receipt {
        status: status(row, "status")?,
        gas_used: row.u64("gas_used")?,
        effective_gas_price: row.amount("effective_gas_price")?,
        contract: row.address("contract_address", chain)?,
        blobs: blobs(row, "blob_gas_used", "blob_gas_price")?,
    };
    receipt.add_to(&mut facts, chain).ok_or_else(|| fee_too_large("gas_used"))?;
    Ok(facts)
}

fn fee_too_large(column: &str) -> FieldError {
    FieldError::new(column, None, "gas and prices that make a fee of at most 256 bits")
}

/// `1`, `0`, a truth value, or nothing.
pub(in super::super) fn status(row: &Row<'_>, column: &str) -> Result<Option<Status>, FieldError> {
    Ok(row.truth(column)?.map(|is_success| if is_success { Status::Success } else { Status::Failed }))
}
