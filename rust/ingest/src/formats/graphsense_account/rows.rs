//! The facts of the rows of each table.

use headwater_ledger::facts::{BlockFacts, Body, LogFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Amount, Asset, Chain, Family};

use super::super::evm_frames::{FrameKind, FrameRow};
use super::super::evm_logs;
use super::super::evm_receipt::{Receipt, is_blob_type};
use super::super::stated_amount::StatedAmount;
use super::values::{address, amount, binary, block_hash, bytes, transaction as transaction_hash};
use crate::Sink;
use crate::error::{Fault, FieldError};
use crate::source::{Row, list_items, plain_number};

fn needed<T>(value: Option<T>, column: &str) -> Result<T, FieldError> {
    value.ok_or_else(|| FieldError::new(column, None, "a value"))
}

pub(super) fn block(row: &Row<'_>) -> Result<BlockFacts, FieldError> {
    Ok(BlockFacts {
        number: needed(row.u64("blockId")?, "blockId")?,
        hash: block_hash(row, "blockHash")?,
        parent: block_hash(row, "parentHash")?,
        time: needed(row.time("timestamp")?, "timestamp")?,
    })
}

fn head(row: &Row<'_>) -> Result<TransactionFacts, FieldError> {
    let hash = needed(transaction_hash(row, "txHash")?, "txHash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("blockId")?, "blockId")?);
    facts.time = row.time("blockTimestamp")?;
    facts.block_hash = block_hash(row, "blockHash")?;
    facts.index = row.u32("transactionIndex")?;
    Ok(facts)
}

/// A transaction. On TRON gas is not what is paid: the fee stands in a table of its own.
pub(super) fn transaction(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let mut facts = head(row)?;
    let is_tron = chain.family() == Family::Tron;
    let to = address(row, "toAddress", chain)?;
    let value = needed(amount(row, "value")?, "value")?;
    facts.body = Some(Body {
        from: Some(needed(address(row, "fromAddress", chain)?, "fromAddress")?),
        to,
        // Without a receiver it is what was frozen, which stays the sender's, or burnt, which is in the fee.
        value: if is_tron && to.is_none() { Amount::ZERO } else { value },
    });
    facts.input = bytes(row, "input")?;
    let mut receipt = Receipt { status: status(row, "receiptStatus")?, ..Receipt::default() };
    if !is_tron {
        facts.nonce = row.u64("nonce")?;
        facts.gas_limit = row.u64("gas")?;
        facts.gas_price = amount(row, "gasPrice")?;
        receipt.gas_used = row.u64("receiptGasUsed")?;
        receipt.effective_gas_price = amount(row, "receiptEffectiveGasPrice")?;
        receipt.contract = address(row, "receiptContractAddress", chain)?;
        receipt.blobs.carried = row.text("transactionType")?.is_some_and(|kind| is_blob_type(&kind));
    }
    let expected = "gas and a price that make a fee of at most 256 bits";
    receipt.add_to(&mut facts, chain).ok_or_else(|| FieldError::new("receiptGasUsed", None, expected))?;
    Ok(facts)
}

/// The fee of a transaction that was read before: the table does not state its block.
pub(super) fn fee(row: &Row<'_>, sink: &mut Sink<'_>) -> Result<TransactionFacts, Fault> {
    let hash = needed(transaction_hash(row, "txHash")?, "txHash")?;
    let (block, _) = sink.place_of(&hash)?.ok_or_else(|| {
        let text = row.text("txHash").ok().flatten();
        FieldError::new("txHash", text.as_deref(), "a transaction that was ingested before its fee")
    })?;
    let mut facts = TransactionFacts::new(hash, block);
    facts.fee = Some(needed(amount(row, "fee")?, "fee")?);
    Ok(facts)
}

pub(super) fn log(row: &Row<'_>, chain: Chain) -> Result<(TransactionFacts, LogFacts, Option<Movement>), FieldError> {
    let log = LogFacts {
        index: needed(row.u64("logIndex")?, "logIndex")?,
        address: needed(address(row, "address", chain)?, "address")?,
        topics: topics(row)?,
        data: bytes(row, "data")?.unwrap_or_default(),
    };
    let movement = evm_logs::movement(chain, &log);
    Ok((head(row)?, log, movement))
}

pub(super) fn is_non_fungible(movement: &Movement) -> bool {
    movement.kind == MovementFact::NonFungible
}

fn topics(row: &Row<'_>) -> Result<Vec<[u8; 32]>, FieldError> {
    let Some(text) = row.text("topics")? else { return Ok(Vec::new()) };
    let topic = |topic: &str| <[u8; 32]>::try_from(binary(topic)?).ok();
    let all: Option<Vec<_>> = list_items(&text).and_then(|items| items.into_iter().map(topic).collect());
    all.filter(|topics| topics.len() <= 4)
        .ok_or_else(|| FieldError::new("topics", Some(&text), "at most four topics of 32 bytes in base64 or hex"))
}

pub(super) fn token_transfer(row: &Row<'_>, chain: Chain) -> Result<(TransactionFacts, Movement), FieldError> {
    let movement = Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(needed(row.u64("logIndex")?, "logIndex")?),
        from: Some(needed(address(row, "from", chain)?, "from")?),
        to: Some(needed(address(row, "to", chain)?, "to")?),
        asset: Asset::Token(needed(address(row, "tokenAddress", chain)?, "tokenAddress")?),
        amount: needed(amount(row, "value")?, "value")?,
    };
    Ok((head(row)?, movement))
}

/// A frame, or a movement outside transactions. Its id is `<type>_<transaction>_<path>` or `<type>_<block>_<number>`.
pub(super) fn frame(row: &Row<'_>, chain: Chain) -> Result<FrameRow, FieldError> {
    let id = needed(row.text("traceId")?, "traceId")?;
    let wrong = || FieldError::new("traceId", Some(&id), "<type>_<transaction>_<path>, or <type>_<block>_<number>");
    let mut parts = id.split('_');
    let kind = match parts.next() {
        Some("reward") => FrameKind::Reward,
        Some("genesis") => FrameKind::Genesis,
        Some("daofork") => FrameKind::Fork,
        Some("call") => FrameKind::Call { moves: matches!(row.text("callType")?.as_deref(), None | Some("call")) },
        Some("create") => FrameKind::Create,
        Some("suicide") => FrameKind::Suicide,
        _ => return Err(wrong()),
    };
    let hash = transaction_hash(row, "txHash")?;
    let path = match hash {
        Some(_) => parts.skip(1).filter(|part| !part.is_empty()).map(plain_number).collect::<Option<Vec<u32>>>(),
        None => Some(Vec::new()),
    };
    let error = row.text("error")?.map(std::borrow::Cow::into_owned);
    Ok(FrameRow {
        block: needed(row.u64("blockId")?, "blockId")?,
        time: None,
        block_hash: block_hash(row, "blockHash")?,
        hash,
        index: row.u32("transactionIndex")?,
        path: path.ok_or_else(wrong)?,
        kind,
        from: address(row, "fromAddress", chain)?,
        to: address(row, "toAddress", chain)?,
        value: amount(row, "value")?.map(StatedAmount::exact),
        failed: status(row, "status")?.map_or(error.is_some(), |status| status == Status::Failed),
        error,
    })
}

/// `1`, `0`, or nothing.
fn status(row: &Row<'_>, column: &str) -> Result<Option<Status>, FieldError> {
    Ok(row.truth(column)?.map(|is_success| if is_success { Status::Success } else { Status::Failed }))
}
