//! Blocks with their transactions.

use headwater_ledger::facts::{BlockFacts, Body, Claim, TransactionFacts};
use headwater_ledger::read::CoverageTable;
use headwater_types::{Address, Chain, Timestamp};

use super::super::evm_receipt::is_blob_type;
use super::super::evm_system::System;
use crate::Sink;
use crate::error::FieldError;
use crate::source::Object;

/// A block, its transactions, and what its validators withdrew.
pub(super) fn block(object: &Object<'_>, chain: Chain, sink: &mut Sink<'_>) -> Result<(), FieldError> {
    let number = object.need("number", object.count("number")?, "the number of a block")?;
    let time = object.need("timestamp", object.epoch_secs("timestamp")?, "epoch seconds")?;
    let hash = object.block_hash_on("hash", chain)?;
    let facts = BlockFacts { number, hash, parent: object.block_hash_on("parentHash", chain)?, time };
    let mut tables = vec![CoverageTable::Blocks];
    let mut transactions = Vec::new();
    match object.texts("transactions") {
        Ok(hashes) if !hashes.is_empty() => {
            sink.warn("blocks without their transactions: ask the node for whole transactions (true)");
        }
        _ => {
            tables.push(CoverageTable::Transactions);
            for item in &object.list_if_any("transactions")? {
                let mut facts = transaction(item, number, time, chain)?;
                facts.block_hash = hash;
                transactions.push(facts);
            }
        }
    }
    let mut system = System::default();
    for item in &object.list_if_any("withdrawals")? {
        let to = item.need("address", item.address_on("address", chain)?, "an address")?;
        system.add_withdrawal(number, to, item.need("amount", item.quantity("amount")?, "an amount in gwei")?)?;
    }
    sink.block(facts);
    for facts in transactions {
        sink.transaction(facts);
    }
    system.hand_over(number, (Some(time), hash), sink);
    for table in tables {
        sink.claim(Claim::Blocks { first: number, last: number, table });
    }
    Ok(())
}

fn transaction(item: &Object<'_>, block: u64, time: Timestamp, chain: Chain) -> Result<TransactionFacts, FieldError> {
    // Some nodes write zero for transactions that name no chain, as none did before EIP-155.
    if let Some(id) = item.count("chainId")?.filter(|id| *id != 0)
        && Chain::from_caip2(&format!("eip155:{id}")) != Some(chain)
    {
        return Err(item.wrong("chainId", format!("the id of {chain} ({})", chain.caip2())));
    }
    let hash = item.need("hash", item.transaction_on("hash", chain)?, "the hash of a transaction")?;
    let mut facts = TransactionFacts::new(hash, block);
    facts.time = Some(time);
    facts.index = index(item)?;
    facts.body = Some(Body {
        from: Some(sender(item, chain)?),
        to: item.address_on("to", chain)?,
        value: item.need("value", item.quantity("value")?, "an amount in wei")?,
    });
    facts.nonce = item.count("nonce")?;
    facts.gas_limit = item.count("gas")?;
    facts.gas_price = item.quantity("gasPrice")?;
    facts.input = item.bytes("input")?;
    facts.carries_blobs = item.text("type").is_some_and(is_blob_type) || item.has("maxFeePerBlobGas");
    Ok(facts)
}

fn sender(item: &Object<'_>, chain: Chain) -> Result<Address, FieldError> {
    item.need("from", item.address_on("from", chain)?, "an address")
}

/// The place of a transaction in its block.
pub(super) fn index(item: &Object<'_>) -> Result<Option<u32>, FieldError> {
    let expected = || item.wrong("transactionIndex", "an unsigned whole number of at most 32 bits");
    item.count("transactionIndex")?.map(|index| u32::try_from(index).map_err(|_| expected())).transpose()
}
