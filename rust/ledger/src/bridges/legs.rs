//! What a transaction says of bridge transfers.

use headwater_bridge::{BridgeChain, Half, Log, Tables, Transaction, account_bytes, decode};
use headwater_types::{Amount, Chain, Timestamp};

use crate::facts::TransactionFacts;
use crate::primitives::Status;

/// The legs of bridge transfers in a transaction, in order of its logs; none of one that failed.
///
/// Memos of Bitcoin stand in data outputs. Time and memory are linear in the logs.
#[must_use]
pub fn legs(chain: Chain, time: Timestamp, facts: &TransactionFacts) -> Vec<Half> {
    let log = |log: &crate::facts::LogFacts| Some((account_bytes(&log.address)?, log.index));
    let logs: Vec<Log<'_>> = facts
        .logs
        .iter()
        .filter_map(|facts| {
            let (contract, index) = log(facts)?;
            Some(Log { contract, topics: &facts.topics, data: &facts.data, index })
        })
        .collect();
    let outputs = facts.utxo.iter().flat_map(|utxo| &utxo.outputs);
    let memo = outputs.clone().find_map(|output| output.data.as_deref());
    let paid = outputs.map(|output| Amount::from(output.amount)).next();
    let account = |address: Option<headwater_types::Address>| address.and_then(|address| account_bytes(&address));
    let body = facts.body.as_ref();
    let transaction = Transaction {
        chain: BridgeChain::from(chain),
        block: facts.block,
        time,
        hash: facts.hash,
        succeeded: facts.status != Some(Status::Failed),
        from: account(body.and_then(|body| body.from)),
        to: account(body.and_then(|body| body.to)),
        value: body.map(|body| body.value).or(paid).unwrap_or(Amount::ZERO),
        input: facts.input.as_deref().or(memo).unwrap_or_default(),
        logs: &logs,
    };
    decode(Tables::builtin(), &transaction)
}
