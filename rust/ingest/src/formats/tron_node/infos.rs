//! The outcome of transactions: fees, logs, movements by contracts.

use headwater_ledger::facts::{Claim, LogFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Amount, Asset};

use super::super::documents::one;
use super::super::{Job, evm_logs};
use super::notes::{Effect, note};
use super::{CHAIN, Tally};
use crate::error::{Fault, FieldError, Place};
use crate::source::Object;
use crate::source::json::Value;
use crate::{IngestError, Sink};

/// The infos of a block. The node counts no logs: their index in the block follows from the order of its transactions.
pub(super) fn of_blocks(
    job: &Job,
    items: &[Value<'_>],
    place: Place,
    tally: &mut Tally,
    sink: &mut Sink<'_>,
) -> Result<(), IngestError> {
    let mut all = Vec::with_capacity(items.len());
    for (number, item) in items.iter().enumerate() {
        let object = Object::at(item, format!("[{number}]."));
        let id = object.transaction_on("id", CHAIN).ok().flatten();
        let stands = match id {
            Some(id) => sink.place_of(&id)?.and_then(|(_, index)| index),
            None => None,
        };
        all.push((object.number("blockNumber").ok().flatten(), stands, object));
    }
    // Of a block not read before, in the order given, which is that of the block.
    all.sort_by_key(|(block, stands, _)| (*block, *stands));
    let before = sink.skipped();
    let (mut current, mut next, mut count) = (None, 0, 0);
    for (block, _, object) in &all {
        if *block != current {
            claim(current, count, sink, before)?;
            (current, next, count) = (*block, 0, 0);
        }
        one(job, place, sink, |sink| {
            let (mut facts, logs) = info(object, tally)?;
            reward(object, &mut facts, tally, sink)?;
            for log in logs {
                let log = LogFacts { index: next, ..log };
                next += 1;
                facts.movements.extend(evm_logs::movement(CHAIN, &log));
                facts.logs.push(log);
            }
            sink.count_non_fungible(non_fungible(&facts));
            sink.transaction(facts);
            Ok(())
        })?;
        count += 1;
    }
    claim(current, count, sink, before)
}

/// Says that the infos of a block are complete, where as many are there as it is known to have transactions.
fn claim(block: Option<u64>, count: u32, sink: &mut Sink<'_>, skipped: u64) -> Result<(), IngestError> {
    let Some(block) = block else { return Ok(()) };
    let is_last = |sink: &mut Sink<'_>| {
        Ok::<bool, IngestError>(
            sink.transaction_at(block, count.saturating_sub(1))?.is_some()
                && sink.transaction_at(block, count)?.is_none(),
        )
    };
    if sink.skipped() == skipped && is_last(sink)? {
        for table in [CoverageTable::Receipts, CoverageTable::Logs, CoverageTable::TokenTransfers] {
            sink.claim(Claim::Blocks { first: block, last: block, table });
        }
    }
    Ok(())
}

/// One info by itself: the index of its logs in the block is not known, so what they moved has none.
pub(super) fn alone(object: &Object<'_>, tally: &mut Tally, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let (mut facts, logs) = info(object, tally)?;
    reward(object, &mut facts, tally, sink)?;
    for log in logs {
        let movement = evm_logs::movement(CHAIN, &log);
        facts.movements.extend(movement.map(|movement| Movement { ordinal: Ordinal::Unindexed(0), ..movement }));
    }
    sink.count_non_fungible(non_fungible(&facts));
    sink.warn("infos of single transactions: their logs have no place in the block and are not kept");
    sink.transaction(facts);
    Ok(())
}

/// Returns the rewards that a voter or producer withdrew. An info does not name the recipient: the sender of the
/// transaction.
fn reward(
    object: &Object<'_>,
    facts: &mut TransactionFacts,
    tally: &mut Tally,
    sink: &mut Sink<'_>,
) -> Result<(), Fault> {
    let amount = object.quantity("withdraw_amount")?.filter(|amount| !amount.is_zero());
    let Some(amount) = amount.filter(|_| facts.status == Some(Status::Success)) else { return Ok(()) };
    let Some(owner) = sink.sender_of(&facts.hash)? else {
        tally.rewards += 1;
        return Ok(());
    };
    facts.movements.push(Movement {
        kind: MovementFact::Internal,
        ordinal: Ordinal::Indexed(u64::try_from(facts.movements.len()).unwrap_or(u64::MAX)),
        from: None,
        to: Some(owner),
        asset: Asset::Native,
        amount,
    });
    Ok(())
}

fn non_fungible(facts: &TransactionFacts) -> u64 {
    facts.movements.iter().map(|movement| u64::from(movement.kind == MovementFact::NonFungible)).sum()
}

/// Returns the facts of an info, and its logs, which are not numbered yet.
fn info(object: &Object<'_>, tally: &mut Tally) -> Result<(TransactionFacts, Vec<LogFacts>), FieldError> {
    let hash = object.need("id", object.transaction_on("id", CHAIN)?, "the id of a transaction")?;
    let block = object.need("blockNumber", object.number("blockNumber")?, "the number of a block")?;
    let mut facts = TransactionFacts::new(hash, block);
    facts.time = object.epoch_millis("blockTimeStamp")?;
    // A value of nothing is left out by the node.
    facts.fee = Some(object.quantity("fee")?.unwrap_or(Amount::ZERO));
    let receipt = object.object("receipt").and_then(|receipt| receipt.text("result"));
    let failed = object.text("result") == Some("FAILED") || !matches!(receipt, None | Some("SUCCESS" | "DEFAULT"));
    facts.status = Some(if failed { Status::Failed } else { Status::Success });
    if failed {
        facts.failure_reason = receipt.map(str::to_owned);
        return Ok((facts, Vec::new()));
    }
    for inner in &object.list_if_any("internal_transactions")? {
        internal(inner, tally, &mut facts.movements)?;
    }
    let logs = object.list_if_any("log")?.iter().map(log).collect::<Result<_, _>>()?;
    Ok((facts, logs))
}

/// One call inside a transaction. Its ordinal is its rank among those that moved the native coin.
fn internal(inner: &Object<'_>, tally: &mut Tally, moved: &mut Vec<Movement>) -> Result<(), FieldError> {
    if inner.flag("rejected") == Some(true) {
        return Ok(());
    }
    let note = note(inner);
    for value in &inner.list_if_any("callValueInfo")? {
        let Some(amount) = value.quantity("callValue")?.filter(|amount| !amount.is_zero()) else { continue };
        if value.text("tokenId").is_some_and(|token| !token.is_empty()) {
            tally.tokens += 1;
            continue;
        }
        let party = |name: &str| inner.need(name, inner.address_on(name, CHAIN)?, "an address of tron");
        let (from, to) = match Effect::of(&note) {
            Effect::Moves => (Some(party("caller_address")?), Some(party("transferTo_address")?)),
            Effect::Reward => (None, Some(party("caller_address")?)),
            Effect::Remains => continue,
            Effect::Unknown => {
                *tally.unknown_notes.entry(note.clone()).or_default() += 1;
                continue;
            }
        };
        moved.push(Movement {
            kind: MovementFact::Internal,
            ordinal: Ordinal::Indexed(u64::try_from(moved.len()).unwrap_or(u64::MAX)),
            from,
            to,
            asset: Asset::Native,
            amount,
        });
    }
    Ok(())
}

/// A log without its place. The node writes the address of the contract without its prefix, and nothing before hex.
fn log(log: &Object<'_>) -> Result<LogFacts, FieldError> {
    let topic = |text: &str| hex::decode(text).ok().and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let topics: Option<Vec<_>> = log.texts("topics")?.into_iter().map(topic).collect();
    let address = log.read("address", "the address of a contract", |text| {
        let bytes = hex::decode(text).ok().and_then(|bytes| <[u8; 20]>::try_from(bytes).ok());
        bytes.map(Address::Tron).or_else(|| Address::parse(CHAIN, text).ok())
    })?;
    Ok(LogFacts {
        index: 0,
        address: log.need("address", address, "the address of a contract")?,
        topics: topics
            .filter(|topics| topics.len() <= 4)
            .ok_or_else(|| log.wrong("topics", "at most four topics of 32 bytes in hex"))?,
        data: log.read("data", "bytes in hex", |text| hex::decode(text).ok())?.unwrap_or_default(),
    })
}
