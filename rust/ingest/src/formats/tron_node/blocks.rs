//! Blocks with their transactions.

use headwater_ledger::facts::{BlockFacts, Body, Claim, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Status};
use headwater_types::{Address, Amount, Timestamp};

use super::{CHAIN, Tally, exchange};
use crate::Sink;
use crate::error::FieldError;
use crate::source::Object;

pub(super) fn block(block: &Object<'_>, tally: &mut Tally, sink: &mut Sink<'_>) -> Result<(), FieldError> {
    let header = block.object("block_header").and_then(|header| header.object("raw_data"));
    let header = header.ok_or_else(|| block.wrong("block_header", "an object with raw_data"))?;
    // A value of nothing is left out by the node: the first block has neither number nor time.
    let number = header.number("number")?.unwrap_or(0);
    let time = header.epoch_millis("timestamp")?.unwrap_or(Timestamp::new(0));
    let hash = block.block_hash_on("blockID", CHAIN)?;
    let facts = BlockFacts { number, hash, parent: header.block_hash_on("parentHash", CHAIN)?, time };
    let mut transactions = Vec::new();
    let mut debts = 0;
    for (index, item) in (0..).zip(&block.list_if_any("transactions")?) {
        let contract = Contract::of(item)?;
        if contract.is_debt(number) {
            debts += 1;
            continue;
        }
        let mut facts = transaction(item, &contract, number, tally)?;
        (facts.time, facts.block_hash, facts.index) = (Some(time), hash, Some(index));
        transactions.push(facts);
    }
    sink.block(facts);
    for facts in transactions {
        sink.transaction(facts);
    }
    for _ in 0..debts {
        sink.omit("negative allocations of the first block: no account can hold less than nothing");
    }
    for table in [CoverageTable::Blocks, CoverageTable::Transactions] {
        sink.claim(Claim::Blocks { first: number, last: number, table });
    }
    Ok(())
}

/// The one contract of a transaction.
struct Contract<'v> {
    kind: &'v str,
    value: Object<'v>,
}

impl<'v> Contract<'v> {
    fn of(item: &Object<'v>) -> Result<Self, FieldError> {
        let contracts = item.object("raw_data").map(|raw| raw.list("contract")).transpose()?.unwrap_or_default();
        let contract = contracts.first().ok_or_else(|| item.wrong("raw_data", "an object with one contract"))?;
        let kind = contract.text("type").ok_or_else(|| contract.wrong("type", "the type of a contract"))?;
        let value = contract.object("parameter").and_then(|parameter| parameter.object("value"));
        let value = value.ok_or_else(|| contract.wrong("parameter", "an object with a value"))?;
        Ok(Self { kind, value })
    }

    /// Returns true if it is an allocation: the first block writes no account, or no valid one, as the owner.
    fn is_allocation(&self, block: u64) -> bool {
        block == 0 && self.kind == "TransferContract"
    }

    /// Returns true if it is the allocation below zero of the account that what is burnt goes to.
    fn is_debt(&self, block: u64) -> bool {
        self.is_allocation(block) && self.value.text("amount").is_some_and(|amount| amount.starts_with('-'))
    }
}

fn transaction(
    item: &Object<'_>,
    contract: &Contract<'_>,
    block: u64,
    tally: &mut Tally,
) -> Result<TransactionFacts, FieldError> {
    let hash = item.need("txID", item.transaction_on("txID", CHAIN)?, "the id of a transaction")?;
    let Contract { kind, value } = contract;
    let runs_code = matches!(*kind, "TriggerSmartContract" | "CreateSmartContract");

    let mut facts = TransactionFacts::new(hash, block);
    facts.body = body(contract, block)?;
    // Nodes of the first months did not state; what is no call was only included when it worked.
    let result = item.list_if_any("ret")?.first().and_then(|ret| ret.text("contractRet"));
    match result {
        Some("SUCCESS") => facts.status = Some(Status::Success),
        Some(reason) => {
            facts.status = Some(Status::Failed);
            facts.failure_reason = Some(reason.to_owned());
        }
        None if !runs_code => facts.status = Some(Status::Success),
        None => {}
    }
    if let Some(data) = value.text("data").filter(|_| runs_code) {
        facts.input = Some(hex::decode(data).map_err(|_| value.wrong("data", "call data in hex"))?);
    }
    if *kind == "CreateSmartContract" && facts.status != Some(Status::Failed) {
        facts.created = item.address_on("contract_address", CHAIN)?;
    }
    if facts.status == Some(Status::Failed) {
        return Ok(facts);
    }
    let moves_token = match *kind {
        "TransferAssetContract" | "ParticipateAssetIssueContract" | "ShieldedTransferContract" => true,
        "TriggerSmartContract" => value.count("call_token_value")?.is_some_and(|amount| amount > 0),
        kind => kind.starts_with("Exchange") || kind.starts_with("Market"),
    };
    tally.tokens += u64::from(moves_token);
    if let Some(owner) = facts.body.and_then(|body| body.from) {
        exchange::movement(kind, value, owner, tally)?.into_iter().for_each(|moved| facts.movements.push(moved));
    }
    Ok(facts)
}

/// Returns the movements of the native coin. Frozen coins stay their owner's; burnt ones are in the fee.
fn body(contract: &Contract<'_>, block: u64) -> Result<Option<Body>, FieldError> {
    let Contract { kind, value } = contract;
    let address = |name: &str| value.address_on(name, CHAIN);
    let sun =
        |object: &Object<'_>, name: &str| Ok::<Amount, FieldError>(object.quantity(name)?.unwrap_or(Amount::ZERO));
    let (to, moved): (Option<Address>, Amount) = match *kind {
        // The last one pays for a new token.
        "TransferContract" | "ParticipateAssetIssueContract" => (address("to_address")?, sun(value, "amount")?),
        "TransferAssetContract" => (address("to_address")?, Amount::ZERO),
        "TriggerSmartContract" => (address("contract_address")?, sun(value, "call_value")?),
        "CreateSmartContract" => {
            let created = value.object("new_contract");
            (None, created.map(|created| sun(&created, "call_value")).transpose()?.unwrap_or(Amount::ZERO))
        }
        // What it moves is a token of TRC-10, and either end may be hidden.
        "ShieldedTransferContract" => {
            let (from, to) = (address("transparent_from_address")?, address("transparent_to_address")?);
            return Ok(from.map(|from| Body { from: Some(from), to, value: Amount::ZERO }));
        }
        _ => (None, Amount::ZERO),
    };
    if contract.is_allocation(block) {
        let to = value.need("to_address", to, "an address of tron")?;
        return Ok(Some(Body { from: None, to: Some(to), value: moved }));
    }
    let from = value.need("owner_address", address("owner_address")?, "an address of tron")?;
    Ok(Some(Body { from: Some(from), to, value: moved }))
}
