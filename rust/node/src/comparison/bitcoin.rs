//! Unspent outputs by Bitcoin Core, and the coins of all of them.

use headwater_ingest::bitcoin::read_script;
use headwater_ledger::facts::OutPoint;
use headwater_ledger::read::{Posting, Scan, Transaction};
use headwater_types::{Address, Family};
use headwater_verify::bitcoin::satoshis;
use serde_json::{Value, json};

use super::{ComparisonReport, Difference, Run};
use crate::error::NodeError;

/// The newest movements of an account whose outputs are compared.
const MOVEMENTS: usize = 50;
/// Outputs that are asked about at once.
const OUTPUTS: usize = 20;

/// An output that the store holds as unspent.
struct Unspent {
    owner: Address,
    point: OutPoint,
    amount: u64,
}

impl Unspent {
    fn hash(&self) -> String {
        self.point.hash.display(Family::Utxo)
    }
}

/// Compares the unspent outputs of accounts.
pub(super) fn compare(run: &Run<'_>, sample: &[Address], report: &mut ComparisonReport) -> Result<(), NodeError> {
    let mut missing = 0;
    for (place, address) in sample.iter().enumerate() {
        for some in unspent(run, address)?.chunks(OUTPUTS) {
            let calls: Vec<Value> =
                some.iter().map(|output| json!([output.hash(), output.point.index, false])).collect();
            let answers = run.providers.ask((run.span.block, run.span.block), |provider| {
                let answers = provider.batch("gettxout", calls.clone(), run.cancel)?;
                Ok(answers.into_iter().collect::<Result<Vec<Value>, _>>()?)
            })?;
            for (output, answer) in some.iter().zip(&answers) {
                if answer.is_null() {
                    missing += 1;
                } else {
                    report.count(compare_output(output, answer));
                }
            }
        }
        (run.progress)(place as u64 + 1, sample.len() as u64);
    }
    if missing > 0 {
        report.leave_out(format!(
            "{missing} outputs that the node no longer has: they were spent after block {}, or the store lacks the spending",
            run.span.block
        ));
    }
    report.leave_out("balances of addresses: Bitcoin Core keeps none");
    Ok(())
}

/// Returns the outputs that an account received in its newest movements, and that the store holds as unspent.
fn unspent(run: &Run<'_>, address: &Address) -> Result<Vec<Unspent>, NodeError> {
    let Some(account) = run.ledger.account(run.chain, address)? else { return Ok(Vec::new()) };
    let postings: Vec<Posting> = run.ledger.page(&account, &Scan::default(), MOVEMENTS)?;
    let mut transactions: Vec<_> = postings.iter().map(|posting| posting.transaction).collect();
    transactions.dedup();
    let mut found = Vec::new();
    for reference in transactions {
        let transaction: Transaction = run.ledger.transaction(reference)?;
        let hash = transaction.facts.hash;
        let outputs = transaction.facts.utxo.iter().flat_map(|utxo| &utxo.outputs);
        for (index, output) in (0..).zip(outputs) {
            let point = OutPoint { hash, index };
            if output.owner.as_ref() == Some(address) && run.ledger.spender(run.chain, &point)?.is_none() {
                found.push(Unspent { owner: *address, point, amount: output.amount });
            }
        }
    }
    Ok(found)
}

/// Compares amount and script of an output.
fn compare_output(output: &Unspent, answer: &Value) -> Option<Difference> {
    let satoshis = answer["value"].as_f64().and_then(|value| satoshis(value).ok());
    let script = answer.pointer("/scriptPubKey/hex").and_then(Value::as_str);
    // An address has outputs of more than one form: those to its key are its own as well.
    let bytes = script.and_then(|text| hex::decode(text).ok());
    let is_owner = match output.owner {
        Address::Utxo(owner) => {
            bytes.is_some_and(|bytes| read_script(&bytes, owner.network).owner == Some(output.owner))
        }
        _ => false,
    };
    if satoshis == Some(output.amount) && is_owner {
        return None;
    }
    let shown = satoshis.map_or_else(|| answer["value"].to_string(), |satoshis| satoshis.to_string());
    Some(Difference {
        address: output.owner.to_string(),
        what: "output",
        contract: None,
        output: Some(format!("{}:{}", output.hash(), output.point.index)),
        store: output.amount.to_string(),
        node: if is_owner { shown } else { format!("{shown} of the script {}", script.unwrap_or("?")) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use headwater_types::{Network, TxHash};

    /// The output of the first block, to a key whose address is that of its hash.
    #[test]
    fn compare_output_takes_outputs_to_the_key_of_an_owner() {
        let key = "4104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba\
                   0b8d578a4c702b6bf11d5fac";
        let owner: Address = read_script(&hex::decode(key).unwrap(), Network::Mainnet).owner.unwrap();
        assert_eq!(owner.to_string(), "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa");
        let output = Unspent { owner, point: OutPoint { hash: TxHash::new([7; 32]), index: 0 }, amount: 5_000_000_000 };
        let answer = |value: f64, script: &str| json!({"value": value, "scriptPubKey": {"hex": script}});
        assert_eq!(compare_output(&output, &answer(50.0, key)), None);
        let of_hash = "76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac";
        assert_eq!(compare_output(&output, &answer(50.0, of_hash)), None);
        assert!(compare_output(&output, &answer(49.0, key)).is_some());
        assert!(compare_output(&output, &answer(50.0, "51")).is_some());
    }
}
