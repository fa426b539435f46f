//! The tables `logs` and `token_transfers`.

use headwater_ledger::facts::{AmountOf, LogFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::Ordinal;
use headwater_types::{Asset, Chain};

use super::super::evm_logs;
use super::super::stated_amount::ReadAmount;
use super::needed;
use crate::error::FieldError;
use crate::source::{Row, hex_bytes, list_items};

fn head(row: &Row<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = needed(row.transaction("transaction_hash", chain)?, "transaction_hash")?;
    let mut facts = TransactionFacts::new(hash, needed(row.u64("block_number")?, "block_number")?);
    facts.time = row.time("block_timestamp")?;
    facts.block_hash = row.block_hash("block_hash", chain)?;
    facts.index = row.u32("transaction_index")?;
    Ok(facts)
}

/// A log, and the movement it stands for.
pub(super) fn log(row: &Row<'_>, chain: Chain) -> Result<(TransactionFacts, LogFacts, Option<Movement>), FieldError> {
    let head = head(row, chain)?;
    let log = LogFacts {
        index: needed(row.u64("log_index")?, "log_index")?,
        address: needed(row.address("address", chain)?, "address")?,
        topics: topics(row)?,
        data: row.bytes("data")?.unwrap_or_default(),
    };
    let movement = evm_logs::movement(chain, &log);
    Ok((head, log, movement))
}

/// The topics of a log, in one column as a list or in four of which the last may be empty.
fn topics(row: &Row<'_>) -> Result<Vec<[u8; 32]>, FieldError> {
    let topic = |topic: &str| hex_bytes(topic.trim()).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let Some(text) = row.text("topics")? else {
        let mut topics = Vec::new();
        for column in ["topic0", "topic1", "topic2", "topic3"] {
            let Some(text) = row.text(column)? else { break };
            topics
                .push(topic(&text).ok_or_else(|| FieldError::new(column, Some(&text), "a topic of 32 bytes in hex"))?);
        }
        return Ok(topics);
    };
    let topics: Option<Vec<_>> = list_items(&text).and_then(|items| items.into_iter().map(topic).collect());
    topics
        .filter(|topics| topics.len() <= 4)
        .ok_or_else(|| FieldError::new("topics", Some(&text), "a list of at most four topics of 32 bytes in hex"))
}

/// A token transfer. The table does not state fungible from non-fungible: the value of an ERC-721 row is its id.
pub(super) fn token_transfer(
    row: &Row<'_>,
    chain: Chain,
    amount: ReadAmount,
) -> Result<(TransactionFacts, Movement), FieldError> {
    let index = needed(row.u64("log_index")?, "log_index")?;
    let value = needed(amount(row, "value")?, "value")?;
    let mut head = head(row, chain)?;
    if value.is_approximate {
        head.approximate.insert(AmountOf::Token(index));
    }
    let movement = Movement {
        kind: MovementFact::Token,
        ordinal: Ordinal::Indexed(index),
        from: Some(needed(row.address("from_address", chain)?, "from_address")?),
        to: Some(needed(row.address("to_address", chain)?, "to_address")?),
        asset: Asset::Token(needed(row.address("token_address", chain)?, "token_address")?),
        amount: value.amount,
    };
    Ok((head, movement))
}

pub(super) fn is_non_fungible(movement: &Movement) -> bool {
    movement.kind == MovementFact::NonFungible
}
