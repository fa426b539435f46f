//! Rows that are not those of ethereum-etl under another name.

use headwater_ledger::facts::{AmountOf, Body, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::Ordinal;
use headwater_types::{Amount, Asset, Chain};

use super::super::ethereum_etl::{path, status};
use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::evm_receipt::{Receipt, blobs};
use super::super::stated_amount::{StatedAmount, digits, double};
use crate::error::FieldError;
use crate::source::{Row, written_amount};

/// An amount, which cryo writes as several columns: bytes, digits, a double. The exact ones are the same; the double is
/// read where there is nothing else.
pub(super) fn amount(row: &Row<'_>, column: &str) -> Result<Option<StatedAmount>, FieldError> {
    match exact(row, column)? {
        Some(amount) => Ok(Some(StatedAmount::exact(amount))),
        None => double(row, &format!("{column}_f64")),
    }
}

/// The same where only an exact amount states anything.
pub(super) fn exact(row: &Row<'_>, column: &str) -> Result<Option<Amount>, FieldError> {
    let expected = "an unsigned whole number of at most 256 bits, as digits or as bytes";
    for form in ["_binary", "_string", ""] {
        let name = format!("{column}{form}");
        let Some(text) = row.text(&name)? else { continue };
        let amount = if text.starts_with("0x") {
            Amount::parse_hex(&text).ok()
        } else {
            written_amount(&text).filter(|written| !written.is_rounded).map(|written| written.amount)
        };
        return amount.map(Some).ok_or_else(|| FieldError::new(&name, Some(&text), expected));
    }
    Ok(None)
}

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

/// Returns the position of the row.
pub(super) fn head(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("transaction_hash", chain)?, "transaction_hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.block_hash = row.block_hash("block_hash", chain)?;
    facts.index = row.u32("transaction_index")?;
    Ok(facts)
}

pub(super) fn transaction(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let mut facts = head(row, chain)?;
    facts.time = row.time("timestamp")?;
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
    facts.gas_limit = row.u64("gas_limit")?;
    facts.gas_price = row.amount("gas_price")?;
    facts.input = row.bytes("input")?;
    let receipt = Receipt {
        status: status(row, "success")?,
        gas_used: row.u64("gas_used")?,
        blobs: blobs(row, "blob_gas_used", "blob_gas_price")?,
        ..Receipt::default()
    };
    let expected = "gas and prices that make a fee of at most 256 bits";
    receipt.add_to(&mut facts, chain).ok_or_else(|| FieldError::new("gas_used", None, expected))?;
    Ok(facts)
}

/// A frame in the words of nodes with a tracing interface like Parity's.
pub(super) fn trace(row: &Row<'_>, chain: Chain) -> Result<FrameRow, FieldError> {
    let from = row.address("action_from", chain)?;
    let to = row.address("action_to", chain)?;
    let (kind, from, to) = match &*needed(row.text("action_type")?, "action_type")? {
        "call" => {
            let moves = matches!(row.text("action_call_type")?.as_deref(), None | Some("call" | "none"));
            (FrameKind::Call { moves }, from, to)
        }
        "create" => (FrameKind::Create, from, row.address("result_address", chain)?),
        "suicide" => (FrameKind::Suicide, from, to),
        // Who is rewarded stands where others have the sender.
        "reward" => (FrameKind::Reward, None, from),
        other => return Err(FieldError::new("action_type", Some(other), "one of call, create, suicide, reward")),
    };
    let index = row.u32("transaction_index")?.or(row.u32("transaction_position")?);
    frame(row, chain, kind, index).map(|frame| FrameRow { from, to, ..frame })
}

/// A frame in the words of geth.
pub(super) fn geth_call(row: &Row<'_>, chain: Chain) -> Result<FrameRow, FieldError> {
    let kind = match &*needed(row.text("typ")?, "typ")? {
        "CALL" => FrameKind::Call { moves: true },
        "CALLCODE" | "DELEGATECALL" | "STATICCALL" => FrameKind::Call { moves: false },
        "CREATE" | "CREATE2" => FrameKind::Create,
        "SELFDESTRUCT" | "SUICIDE" => FrameKind::Suicide,
        other => {
            let expected = "one of CALL, CALLCODE, DELEGATECALL, STATICCALL, CREATE, CREATE2, SELFDESTRUCT";
            return Err(FieldError::new("typ", Some(other), expected));
        }
    };
    let (from, to) = (row.address("from_address", chain)?, row.address("to_address", chain)?);
    frame(row, chain, kind, row.u32("transaction_index")?).map(|frame| FrameRow { from, to, ..frame })
}

fn frame(row: &Row<'_>, chain: Chain, kind: FrameKind, index: Option<u32>) -> Result<FrameRow, FieldError> {
    let error = row.text("error")?.map(std::borrow::Cow::into_owned);
    let value = if row.text("action_type")?.is_some() { digits(row, "action_value")? } else { amount(row, "value")? };
    Ok(FrameRow {
        block: needed(row.u64("block_number")?, "block_number")?,
        time: None,
        block_hash: row.block_hash("block_hash", chain)?,
        hash: row.transaction("transaction_hash", chain)?,
        index,
        path: path(row)?,
        kind,
        from: None,
        to: None,
        value,
        failed: error.is_some(),
        error,
    })
}

/// A transfer of a token that is not fungible.
pub(super) fn erc721_transfer(row: &Row<'_>, chain: Chain) -> Result<(TransactionFacts, Movement), FieldError> {
    let movement = Movement {
        kind: MovementFact::NonFungible,
        ordinal: Ordinal::Indexed(needed(row.u64("log_index")?, "log_index")?),
        from: Some(needed(row.address("from_address", chain)?, "from_address")?),
        to: Some(needed(row.address("to_address", chain)?, "to_address")?),
        asset: Asset::Token(needed(row.address("token_address", chain)?, "erc20")?),
        amount: needed(exact(row, "token_id")?, "token_id")?,
    };
    Ok((head(row, chain)?, movement))
}
