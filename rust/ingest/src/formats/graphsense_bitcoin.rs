//! Rows of the `GraphSense` transformation for UTXO chains: blocks and transactions as JSON lines with camelCase names,
//! addresses as text.

use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_types::address::UtxoPayload;
use headwater_types::{Address, Chain, Network};

use super::bitcoin_json::{block_of, network, transaction_facts};
use super::documents::each_document;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::bitcoin::object::address;
use crate::error::{Fault, FieldError};
use crate::source::{Content, Object, Probe};
use crate::{IngestError, Sink};

/// Blocks and transactions. Inputs state owner and amount, but not which output they spend; a flag `coinjoin` is not
/// read, since only the shape of a transaction makes it one.
pub(super) struct GraphsenseBitcoin;

impl Format for GraphsenseBitcoin {
    fn name(&self) -> &'static str {
        "graphsense-bitcoin"
    }

    fn describe(&self) -> &'static str {
        "JSON lines of the GraphSense transformation for bitcoin: blocks and transactions"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if *probe.content() != Content::Json {
            return None;
        }
        let rank = if probe.has(&["blockId", "blockHash", "noTransactions", "timestamp"]) {
            0
        } else if probe.has(&["txHash", "blockId", "coinbase", "inputs", "outputs"]) {
            1
        } else {
            return None;
        };
        Some(Sniffed {
            chain: SniffedChain::Is(Chain::BITCOIN),
            table: 0,
            rank,
            first_block: probe.first("blockId").and_then(|number| number.parse().ok()),
        })
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        let network = network(sink);
        each_document(job, &[], sink, &mut |value, sink| {
            let row = Object::whole(value);
            let number = row.needed_number("blockId")?;
            let time = row.time("timestamp")?;
            if !row.has("txHash") {
                let time = row.need("timestamp", time, "epoch seconds")?;
                sink.block(block_of(number, row.block_hash("blockHash")?, None, time));
                return Ok::<(), Fault>(());
            }
            let coinbase = row.need("coinbase", row.flag("coinbase"), "true or false")?;
            let outputs =
                row.list("outputs")?.iter().map(|output| read_side(output, network)).collect::<Result<_, _>>()?;
            let inputs = if coinbase { Vec::new() } else { row.list("inputs")? };
            let inputs = inputs
                .iter()
                .map(|input| Ok(InputFacts::new(OutPoint::UNKNOWN, Some(read_side(input, network)?))))
                .collect::<Result<_, FieldError>>()?;
            let hash = row.transaction("txHash")?;
            let utxo = UtxoFacts::new(coinbase, inputs, outputs);
            if let Some(facts) = transaction_facts(network, hash, number, time, utxo) {
                sink.transaction(facts);
            }
            Ok(())
        })
    }
}

/// An input or output: several addresses stand for a bare multisig, none for a script without an owner. The form
/// follows from the address; the type column of the reference files does not agree with their addresses.
fn read_side(side: &Object<'_>, network: Network) -> Result<OutputFacts, FieldError> {
    let amount = side.need("value", side.satoshis("value")?, "satoshis")?;
    let (owner, script) = match &side.texts("address")?[..] {
        [] => (None, ScriptType::Nonstandard),
        [only] => {
            let expected = || FieldError::new("address", Some(only), format!("an address of bitcoin {network}"));
            let owner = address(network, only).ok_or_else(expected)?;
            (Some(owner), form_of(&owner))
        }
        _ => (None, ScriptType::Multisig),
    };
    Ok(OutputFacts { owner, amount, script, data: None })
}

fn form_of(owner: &Address) -> ScriptType {
    let Address::Utxo(address) = owner else { return ScriptType::Nonstandard };
    match address.payload {
        UtxoPayload::PublicKeyHash(_) => ScriptType::P2pkh,
        UtxoPayload::ScriptHash(_) => ScriptType::P2sh,
        UtxoPayload::Witness(witness) => match (witness.version(), witness.program().len()) {
            (0, 20) => ScriptType::P2wpkh,
            (0, 32) => ScriptType::P2wsh,
            (1, 32) => ScriptType::P2tr,
            _ => ScriptType::Nonstandard,
        },
    }
}

#[cfg(test)]
#[path = "graphsense_bitcoin_tests.rs"]
mod tests;
