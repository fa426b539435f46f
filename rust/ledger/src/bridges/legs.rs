//! The legs of bridge transfers in a transaction.

use headwater_bridge::{
    BridgeChain, Half, Log, MemoPayment, Step, Tables, TokenTransfer, Transaction, account_bytes, decode, memo_leg,
};
use headwater_types::{Address, Amount, Chain, Timestamp};

use crate::facts::{LogFacts, Movement, MovementFact, OutputFacts, TransactionFacts, UtxoFacts};
use crate::primitives::Status;

/// The legs of bridge transfers in a transaction, in order of its logs; none of one that failed.
///
/// Memos of Bitcoin are in data outputs. Time and memory are linear in logs and movements.
#[must_use]
pub fn legs(chain: Chain, time: Timestamp, facts: &TransactionFacts) -> Vec<Half> {
    match &facts.utxo {
        Some(utxo) => legs_of_memos(chain, time, facts, utxo),
        None => legs_of_logs(chain, time, facts),
    }
}

fn legs_of_logs(chain: Chain, time: Timestamp, facts: &TransactionFacts) -> Vec<Half> {
    let account = |address: Option<Address>| address.and_then(|address| account_bytes(&address));
    let logs: Vec<Log<'_>> = facts.logs.iter().filter_map(log).collect();
    let transfers: Vec<TokenTransfer> = facts.movements.iter().filter_map(transfer).collect();
    let body = facts.body.as_ref();
    let transaction = Transaction {
        chain: BridgeChain::from(chain),
        block: facts.block,
        time,
        hash: facts.hash,
        succeeded: facts.status != Some(Status::Failed),
        from: account(body.and_then(|body| body.from)),
        to: account(body.and_then(|body| body.to)),
        value: body.map_or(Amount::ZERO, |body| body.value),
        input: facts.input.as_deref().unwrap_or_default(),
        logs: &logs,
        transfers: &transfers,
    };
    decode(Tables::builtin(), &transaction)
}

fn log(facts: &LogFacts) -> Option<Log<'_>> {
    let contract = account_bytes(&facts.address)?;
    Some(Log { contract, topics: &facts.topics, data: &facts.data, index: facts.index })
}

fn transfer(movement: &Movement) -> Option<TokenTransfer> {
    let bytes = |address: Option<Address>| address.and_then(|address| account_bytes(&address)).unwrap_or_default();
    if movement.kind != MovementFact::Token {
        return None;
    }
    Some(TokenTransfer {
        index: movement.ordinal.shown()?,
        token: account_bytes(movement.asset.contract()?)?,
        from: bytes(movement.from),
        to: bytes(movement.to),
        amount: movement.amount,
    })
}

/// A memo is about the first output that is neither data nor change to an address that pays.
fn legs_of_memos(chain: Chain, time: Timestamp, facts: &TransactionFacts, utxo: &UtxoFacts) -> Vec<Half> {
    let payers = || utxo.inputs.iter().filter_map(|input| input.spent.as_ref()?.owner);
    let is_paid = |output: &&OutputFacts| output.data.is_none() && !payers().any(|payer| output.owner == Some(payer));
    let (payer, paid) = (payers().next(), utxo.outputs.iter().find(is_paid));
    let memos = utxo.outputs.iter().filter_map(|output| std::str::from_utf8(output.data.as_ref()?).ok());
    let leg = |memo| {
        let payment = MemoPayment {
            chain: BridgeChain::from(chain),
            block: facts.block,
            time,
            transaction: facts.hash,
            memo,
            sender: payer,
            receiver: paid.and_then(|output| output.owner),
            amount: paid.map(|output| Amount::from(output.amount)),
        };
        // Anybody writes memos: a deposit must name a chain.
        memo_leg(Tables::builtin(), &payment).filter(|leg| leg.step != Step::Sent || leg.other_chain.is_some())
    };
    memos.filter_map(leg).collect()
}

#[cfg(test)]
#[path = "legs_tests.rs"]
mod tests;
