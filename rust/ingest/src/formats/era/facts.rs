//! The facts of a verified block.

use headwater_ledger::facts::{BlockFacts, Body, LogFacts, MovementFact, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::{Address, Amount, Chain, Timestamp};
use headwater_verify::evm::encoded::{EncodedBlock, EncodedHeader, EncodedReceipt, EncodedTransaction, Outcome};
use ruint::aliases::U256;

use super::super::evm_logs;
use super::super::evm_receipt::{Blobs, Receipt};
use super::super::evm_system::System;
use crate::Sink;
use crate::error::FieldError;

/// The type of transactions that carry blobs.
const BLOB_TYPE: u8 = 3;

/// The facts of one block.
pub(super) struct BlockContent {
    block: BlockFacts,
    transactions: Vec<TransactionFacts>,
    withdrawals: System,
    lacks_blob_price: bool,
}

impl BlockContent {
    /// Hands the facts to the sink.
    pub(super) fn hand_over(self, sink: &mut Sink<'_>) {
        let Self { block, transactions, withdrawals, lacks_blob_price } = self;
        let (number, time, hash) = (block.number, block.time, block.hash);
        sink.block(block);
        for facts in transactions {
            let is_other = |kind: MovementFact| u64::from(kind == MovementFact::NonFungible);
            sink.count_non_fungible(facts.movements.iter().map(|movement| is_other(movement.kind)).sum());
            sink.transaction(facts);
        }
        withdrawals.hand_over(number, (Some(time), hash), sink);
        if lacks_blob_price {
            sink.warn(
                "fees of transactions with blobs are unknown in part: update Headwater for the newest blob parameters",
            );
        }
    }
}

/// Converts a block.
pub(super) fn convert(
    chain: Chain,
    header: &EncodedHeader,
    block: &EncodedBlock<'_>,
) -> Result<BlockContent, FieldError> {
    let number = header.number();
    let hash = Some(header.hash());
    let wrong_time = || FieldError::new("timestamp", Some(&header.timestamp_secs().to_string()), "epoch seconds");
    let time = Timestamp::new(i64::try_from(header.timestamp_secs()).map_err(|_| wrong_time())?);
    let mut content = BlockContent {
        block: BlockFacts { number, hash, parent: Some(header.parent_hash()), time },
        transactions: Vec::with_capacity(block.transactions.len()),
        withdrawals: System::default(),
        lacks_blob_price: false,
    };
    for (index, transaction) in block.transactions.iter().enumerate() {
        check_chain(chain, index, transaction)?;
        let mut facts = TransactionFacts::new(transaction.verified().hash(), number);
        (facts.time, facts.block_hash) = (Some(time), hash);
        facts.index = u32::try_from(index).ok();
        add_transaction(&mut facts, transaction);
        if let Some(receipt) = block.receipts.as_ref().map(|receipts| &receipts[index]) {
            let blob_price = header.blob_gas_price().map(amount);
            content.lacks_blob_price |= facts.carries_blobs && blob_price.is_none();
            add_receipt(&mut facts, (transaction, receipt, blob_price), chain).ok_or_else(|| {
                FieldError::new("gasUsed", None, "gas and prices that make a fee of at most 256 bits")
            })?;
        }
        content.transactions.push(facts);
    }
    for withdrawal in &block.withdrawals {
        let gwei = Amount::from(withdrawal.amount_gwei);
        content.withdrawals.add_withdrawal(number, Address::Evm(withdrawal.address), gwei)?;
    }
    Ok(content)
}

/// Refuses a transaction that was signed for another chain. Zero means none.
fn check_chain(chain: Chain, index: usize, transaction: &EncodedTransaction<'_>) -> Result<(), FieldError> {
    let Some(id) = transaction.chain_id().filter(|id| !id.is_zero()) else { return Ok(()) };
    if Chain::from_caip2(&format!("eip155:{id}")) == Some(chain) {
        return Ok(());
    }
    let column = format!("transactions[{index}].chainId");
    Err(FieldError::new(&column, Some(&id.to_string()), format!("the id of {chain} ({})", chain.caip2())))
}

fn amount(number: U256) -> Amount {
    Amount::from_be_bytes(number.to_be_bytes())
}

fn add_transaction(facts: &mut TransactionFacts, transaction: &EncodedTransaction<'_>) {
    let verified = transaction.verified();
    facts.body = Some(Body {
        from: Some(Address::Evm(verified.from())),
        to: verified.to().map(Address::Evm),
        value: amount(transaction.value()),
    });
    facts.nonce = Some(verified.nonce());
    facts.gas_limit = Some(transaction.gas_limit());
    facts.gas_price = Some(amount(transaction.gas_price()));
    facts.input = Some(transaction.input().to_vec());
    facts.carries_blobs = verified.kind() == BLOB_TYPE;
}

/// Adds a receipt. `None` when the fee passes 256 bits.
fn add_receipt(
    facts: &mut TransactionFacts,
    (transaction, receipt, blob_price): (&EncodedTransaction<'_>, &EncodedReceipt<'_>, Option<Amount>),
    chain: Chain,
) -> Option<()> {
    let carried = facts.carries_blobs;
    let stated = Receipt {
        status: match receipt.outcome {
            Outcome::Success => Some(Status::Success),
            Outcome::Failed => Some(Status::Failed),
            Outcome::StateRoot(_) => None,
        },
        gas_used: Some(receipt.gas_used),
        effective_gas_price: Some(amount(transaction.gas_price())),
        contract: receipt.contract.map(Address::Evm),
        blobs: Blobs { carried, gas_used: carried.then_some(receipt.blob_gas_used), gas_price: blob_price },
    };
    stated.add_to(facts, chain)?;
    for log in &receipt.logs {
        let address = Address::Evm(log.address);
        let log = LogFacts { index: log.index, address, topics: log.topics.clone(), data: log.data.to_vec() };
        facts.movements.extend(evm_logs::movement(chain, &log));
        facts.logs.push(log);
    }
    Some(())
}
