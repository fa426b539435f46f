//! Blocks as the JSON of a Bitcoin Core node: `getblock <hash> 2` or `3`, and `/rest/block/<hash>.json`.

use headwater_ledger::facts::{Claim, InputFacts, OutPoint, OutputFacts, UtxoFacts};
use headwater_ledger::read::CoverageTable;
use headwater_types::{Amount, Chain, Network, Timestamp};

use super::bitcoin_json::{block_of, network, transaction_facts, weight_of};
use super::documents::each_document;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::bitcoin::object::check_address;
use crate::bitcoin::read_script;
use crate::error::{Fault, FieldError};
use crate::source::json::Value;
use crate::source::{Content, Object, Probe};
use crate::{IngestError, Sink};

/// One block per document, with or without the envelope of a remote call around it.
pub(super) struct BitcoinCore;

impl Format for BitcoinCore {
    fn name(&self) -> &'static str {
        "bitcoin-core"
    }

    fn describe(&self) -> &'static str {
        "blocks with their transactions as a Bitcoin Core node prints them (getblock verbosity 2 or 3, REST)"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        let mentions = |word: &[u8]| probe.head().windows(word.len()).any(|window| window == word);
        let bare = probe.has(&["merkleroot", "previousblockhash"]) || probe.has(&["merkleroot", "nonce"]);
        let inside = probe.has(&["result"]) && mentions(b"\"merkleroot\"");
        (*probe.content() == Content::Json && (bare || inside)).then(|| Sniffed {
            chain: SniffedChain::Is(Chain::BITCOIN),
            table: 0,
            rank: 0,
            first_block: probe.first("height").and_then(|height| height.parse().ok()),
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let network = network(sink);
        each_document(job, &[], sink, &mut |value, sink| {
            read_block(value.get("result").unwrap_or(value), network, sink)
        })
    }
}

fn read_block(value: &Value<'_>, network: Network, sink: &mut Sink<'_>) -> Result<(), Fault> {
    let block = Object::whole(value);
    let hash = block.need("hash", block.block_hash("hash")?, "the hash of a block")?;
    if block.text("confirmations").is_some_and(|confirmations| confirmations.starts_with('-')) {
        sink.warn(format!(
            "block {} is not on the best chain of its node and was left out",
            hex::encode(hash.as_bytes())
        ));
        return Ok(());
    }
    let number = block.needed_number("height")?;
    let time = block.need("time", block.time("time")?, "epoch seconds")?;
    let transactions = block.list("tx").map_err(|_| {
        FieldError::new("tx", None, "transactions with inputs and outputs: ask the node for verbosity 2 or 3")
    })?;
    if block.number("nTx")?.is_some_and(|count| count != transactions.len() as u64) {
        return Err(block.wrong("nTx", format!("the {} transactions that are given", transactions.len())).into());
    }
    let mut facts = Vec::with_capacity(transactions.len());
    for (index, transaction) in (0..).zip(&transactions) {
        facts.extend(read_transaction(transaction, number, time, index, network)?);
    }
    sink.block(block_of(number, Some(hash), block.block_hash("previousblockhash")?, time));
    for mut facts in facts {
        facts.block_hash = Some(hash);
        sink.transaction(facts);
    }
    for table in [CoverageTable::Blocks, CoverageTable::Transactions] {
        sink.claim(Claim::Blocks { first: number, last: number, table });
    }
    Ok(())
}

fn read_transaction(
    transaction: &Object<'_>,
    block: u64,
    time: Timestamp,
    index: u32,
    network: Network,
) -> Result<Option<headwater_ledger::facts::TransactionFacts>, FieldError> {
    let inputs = transaction.list("vin")?;
    let coinbase = inputs.first().is_some_and(|input| input.has("coinbase"));
    let inputs = if coinbase { &[] } else { &inputs[..] };
    // Nodes print no weight of a transaction before release 0.17, but how many bytes it has.
    let weight_wu = match transaction.small_number("weight")? {
        None => weight_of(transaction.small_number("size")?, transaction.small_number("vsize")?),
        chain => chain,
    };
    let utxo = UtxoFacts {
        coinbase,
        version: transaction.version("version")?,
        lock_time: transaction.small_number("locktime")?,
        weight_wu,
        inputs: inputs.iter().map(|input| read_input(input, network)).collect::<Result<_, _>>()?,
        outputs: transaction
            .list("vout")?
            .iter()
            .map(|output| read_output(output, network))
            .collect::<Result<_, _>>()?,
    };
    let hash = transaction.transaction("txid")?;
    let facts = transaction_facts(network, hash, block, Some(time), utxo);
    Ok(match facts {
        Some(mut facts) => {
            facts.index = Some(index);
            facts.fee = transaction.bitcoins("fee")?.map(Amount::from);
            Some(facts)
        }
        None => None,
    })
}

fn read_input(input: &Object<'_>, network: Network) -> Result<InputFacts, FieldError> {
    let index = input.need("vout", input.small_number("vout")?, "the output that is spent")?;
    let previous = OutPoint { hash: input.transaction("txid")?, index };
    let spent = input.object("prevout").map(|spent| read_output(&spent, network)).transpose()?;
    Ok(InputFacts { previous, spent, sequence: input.small_number("sequence")? })
}

/// Owner and form come from the script itself: what nodes print beside it changed over the years. But addresses of
/// another network are an error, since nodes of other coins print the same members.
fn read_output(output: &Object<'_>, network: Network) -> Result<OutputFacts, FieldError> {
    let value = output.need("value", output.bitcoins("value")?, "an amount in BTC")?;
    let lock = output.object("scriptPubKey").ok_or_else(|| output.wrong("scriptPubKey", "a script"))?;
    let script = lock.need("hex", lock.script("hex")?, "a script in hex")?;
    for address in lock.text("address").into_iter().chain(lock.texts("addresses")?) {
        check_address(network, "scriptPubKey.address", address)?;
    }
    Ok(read_script(&script, network).with_amount(value))
}

#[cfg(test)]
#[path = "bitcoin_core_tests.rs"]
mod tests;
