//! Receipts and logs.

use headwater_ledger::facts::{LogFacts, Movement, MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::Chain;

use super::super::evm_logs;
use super::super::evm_receipt::{Blobs, Receipt, is_blob_type};
use super::blocks::index;
use crate::Sink;
use crate::error::FieldError;
use crate::source::{Object, hex_bytes};

/// A receipt with its logs. One from before Byzantium has a state root instead of a status and leaves it unknown.
pub(super) fn receipt(object: &Object<'_>, chain: Chain, sink: &mut Sink<'_>) -> Result<TransactionFacts, FieldError> {
    let mut facts = head(object, chain)?;
    let receipt = Receipt {
        status: match object.count("status")? {
            None => None,
            Some(1) => Some(Status::Success),
            Some(0) => Some(Status::Failed),
            Some(_) => return Err(object.wrong("status", "0x1 (success) or 0x0 (failed)")),
        },
        gas_used: object.count("gasUsed")?,
        effective_gas_price: object.quantity("effectiveGasPrice")?,
        contract: object.address_on("contractAddress", chain)?,
        blobs: Blobs {
            carried: object.text("type").is_some_and(is_blob_type),
            gas_used: object.count("blobGasUsed")?,
            gas_price: object.quantity("blobGasPrice")?,
        },
    };
    let added = receipt.add_to(&mut facts, chain);
    added.ok_or_else(|| object.wrong("gasUsed", "gas and prices that make a fee of at most 256 bits"))?;
    for log in &object.list_if_any("logs")? {
        let log = log_facts(log, chain)?;
        facts.movements.extend(evm_logs::movement(chain, &log));
        facts.logs.push(log);
    }
    sink.count_non_fungible(non_fungible(&facts.movements));
    Ok(facts)
}

/// A log on its own, and the movement it stands for; `None` when a reorganisation removed it.
pub(super) fn log(
    object: &Object<'_>,
    chain: Chain,
    sink: &mut Sink<'_>,
) -> Result<Option<(TransactionFacts, LogFacts, Option<Movement>)>, FieldError> {
    if object.flag("removed") == Some(true) {
        sink.omit("logs that a reorganisation removed");
        return Ok(None);
    }
    let head = head(object, chain)?;
    let log = log_facts(object, chain)?;
    let movement = evm_logs::movement(chain, &log);
    sink.count_non_fungible(non_fungible(movement.as_slice()));
    Ok(Some((head, log, movement)))
}

fn non_fungible(movements: &[Movement]) -> u64 {
    movements.iter().map(|movement| u64::from(movement.kind == MovementFact::NonFungible)).sum()
}

/// The transaction that a receipt or log belongs to.
fn head(object: &Object<'_>, chain: Chain) -> Result<TransactionFacts, FieldError> {
    let hash = object.transaction_on("transactionHash", chain)?;
    let hash = object.need("transactionHash", hash, "the hash of a transaction")?;
    let block = object.need("blockNumber", object.count("blockNumber")?, "the number of a block")?;
    let mut facts = TransactionFacts::new(hash, block);
    facts.block_hash = object.block_hash_on("blockHash", chain)?;
    facts.index = index(object)?;
    // Newer nodes state the time with every log.
    facts.time = object.epoch_secs("blockTimestamp")?;
    Ok(facts)
}

fn log_facts(object: &Object<'_>, chain: Chain) -> Result<LogFacts, FieldError> {
    let topic = |text: &str| hex_bytes(text).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok());
    let topics: Option<Vec<_>> = object.texts("topics")?.into_iter().map(topic).collect();
    let topics = topics.filter(|topics| topics.len() <= 4);
    Ok(LogFacts {
        index: object.need("logIndex", object.count("logIndex")?, "the index of the log in its block")?,
        address: object.need("address", object.address_on("address", chain)?, "an address")?,
        topics: topics.ok_or_else(|| object.wrong("topics", "at most four topics of 32 bytes in hex"))?,
        data: object.bytes("data")?.unwrap_or_default(),
    })
}
