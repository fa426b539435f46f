//! JSON lines of bitcoin-etl: blocks, and transactions with or without what their inputs spend.

use headwater_ledger::facts::{InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts};
use headwater_ledger::read::ScriptType;
use headwater_types::{Address, Amount, Chain, Network};

use super::bitcoin_json::{block_of, network, transaction_facts, weight_of};
use super::documents::each_document;
use super::{Format, Job, Sniffed, SniffedChain};
use crate::bitcoin::object::address;
use crate::bitcoin::read_script;
use crate::error::{Fault, FieldError};
use crate::source::{Content, Object, Probe};
use crate::{IngestError, Sink};

/// Blocks and transactions, distinguished by their members: one file may hold both, as streams do.
pub(super) struct BitcoinEtl;

/// The text in place of an address, for scripts without one.
const NO_ADDRESS: &str = "nonstandard";

impl Format for BitcoinEtl {
    fn name(&self) -> &'static str {
        "bitcoin-etl"
    }

    fn describe(&self) -> &'static str {
        "JSON lines of bitcoin-etl: blocks and transactions, passed through enrich_transactions or not"
    }

    fn sniff(&self, probe: &Probe) -> Option<Sniffed> {
        if *probe.content() == Content::Json { sniffed(probe) } else { None }
    }

    fn read(&self, job: &Job, sink: &mut Sink<'_>) -> Result<(), IngestError> {
        read(job, satoshis, sink)
    }
}

/// The table that a file of these columns holds.
pub(super) fn sniffed(probe: &Probe) -> Option<Sniffed> {
    let (rank, number) = if probe.has(&["hash", "number", "merkle_root", "bits"]) {
        (0, "number")
    } else if probe.has(&["hash", "block_number", "inputs", "outputs"]) {
        (1, "block_number")
    } else {
        return None;
    };
    Some(Sniffed {
        chain: SniffedChain::Is(Chain::BITCOIN),
        table: 0,
        rank,
        first_block: probe.first(number).and_then(|number| number.parse().ok()),
    })
}

/// Reads an amount, as the format writes amounts.
pub(super) type SatoshisOf = fn(&Object<'_>, &str) -> Result<Option<u64>, FieldError>;

/// An amount in whole satoshis.
pub(super) fn satoshis(object: &Object<'_>, name: &str) -> Result<Option<u64>, FieldError> {
    object.satoshis(name)
}

/// The columns that are read of a file.
#[rustfmt::skip]
const COLUMNS: &[&str] = &[
    "hash", "number", "timestamp", "previous_block_hash", "previousblockhash", "block_number", "block_hash",
    "block_timestamp", "is_coinbase", "version", "lock_time", "size", "virtual_size", "index", "fee", "inputs", "outputs",
];

/// Reads rows of blocks and transactions.
pub(super) fn read(job: &Job, satoshis: SatoshisOf, sink: &mut Sink<'_>) -> Result<(), IngestError> {
    let network = network(sink);
    each_document(job, COLUMNS, sink, &mut |value, sink| {
        let row = Object::whole(value);
        if row.has("outputs") {
            match read_transaction(&row, network, satoshis)? {
                Some(facts) => sink.transaction(facts),
                // Of a transaction that a later one of the same id undid, the block remains.
                None => {
                    let (number, hash) = (row.needed_number("block_number")?, row.block_hash("block_hash")?);
                    if let Some(time) = row.time("block_timestamp")? {
                        sink.block(block_of(number, hash, None, time));
                    }
                }
            }
            return Ok::<(), Fault>(());
        }
        let time = row.need("timestamp", row.time("timestamp")?, "epoch seconds")?;
        let hash = row.need("hash", row.block_hash("hash")?, "the hash of a block")?;
        sink.block(block_of(
            row.needed_number("number")?,
            Some(hash),
            row.block_hash("previous_block_hash")?.or(row.block_hash("previousblockhash")?),
            time,
        ));
        Ok(())
    })
}

fn read_transaction(
    row: &Object<'_>,
    network: Network,
    satoshis: SatoshisOf,
) -> Result<Option<TransactionFacts>, FieldError> {
    let coinbase = row.need("is_coinbase", row.flag("is_coinbase"), "true or false")?;
    let inputs = if coinbase { Vec::new() } else { row.list("inputs")? };
    // Inputs without amounts make a fee that is none: less than nothing.
    let enriched = !coinbase && inputs.iter().all(|input| input.has("value"));
    let utxo = UtxoFacts {
        coinbase,
        version: row.version("version")?,
        lock_time: row.small_number("lock_time")?,
        weight_wu: weight_of(row.small_number("size")?, row.small_number("virtual_size")?),
        inputs: inputs.iter().map(|input| read_input(input, network, satoshis)).collect::<Result<_, _>>()?,
        outputs: row
            .list("outputs")?
            .iter()
            .map(|output| read_output(output, network, satoshis))
            .collect::<Result<_, _>>()?,
    };
    let (hash, block) = (row.transaction("hash")?, row.needed_number("block_number")?);
    let Some(mut facts) = transaction_facts(network, hash, block, row.time("block_timestamp")?, utxo) else {
        return Ok(None);
    };
    facts.block_hash = row.block_hash("block_hash")?;
    facts.index = row.small_number("index")?;
    if enriched {
        facts.fee = satoshis(row, "fee")?.map(Amount::from);
    }
    Ok(Some(facts))
}

/// The addresses of an input or output: a list, or one text.
fn addresses<'v>(row: &Object<'v>) -> Result<Vec<&'v str>, FieldError> {
    match row.text("address") {
        Some(address) => Ok(vec![address]),
        None => row.texts("addresses"),
    }
}

/// Owner, form and data of an output come from its script; an address beside it must be the same one, or the file is of
/// another chain or network.
fn read_output(output: &Object<'_>, network: Network, satoshis: SatoshisOf) -> Result<OutputFacts, FieldError> {
    let value = output.need("value", satoshis(output, "value")?, "an amount")?;
    let script = output.need("script_hex", output.script("script_hex")?, "a script in hex")?;
    let facts = read_script(&script, network).with_amount(value);
    if let ([only], Some(owner)) = (&addresses(output)?[..], facts.owner)
        && !only.starts_with(NO_ADDRESS)
        && address(network, only) != Some(owner)
        && !is_old_form(only, &owner)
    {
        let expected = format!("{owner}, which owns the script on {network}: is the file of another chain or network?");
        return Err(FieldError::new("outputs.addresses", Some(only), expected));
    }
    Ok(facts)
}

/// Returns true if an address of a later witness version is written with the checksum that came before BIP 350, as nodes did
/// until release 0.21. Its script states the owner.
fn is_old_form(text: &str, owner: &Address) -> bool {
    const BECH32_CHECKSUM: usize = 6;
    let written = owner.to_string();
    let without =
        |text: &str| text.len().checked_sub(BECH32_CHECKSUM).and_then(|end| text.get(..end)).map(str::to_lowercase);
    let is_bech32 = text.get(..3).is_some_and(|start| ["bc1", "tb1"].contains(&start)) || text.starts_with("bcrt1");
    is_bech32 && without(text).is_some() && without(text) == without(&written)
}

fn read_input(input: &Object<'_>, network: Network, satoshis: SatoshisOf) -> Result<InputFacts, FieldError> {
    let index = input.small_number("spent_output_index")?;
    let index = input.need("spent_output_index", index, "the output that is spent")?;
    let previous = OutPoint { hash: input.transaction("spent_transaction_hash")?, index };
    Ok(InputFacts { previous, spent: spent(input, network, satoshis)?, sequence: input.small_number("sequence")? })
}

/// What an enriched input says of the output it spends. `script_hex` is the unlocking script here, so form and owner
/// come from `type` and `addresses`. Where these hide them the output stays unknown until the store holds it: newer
/// files write `nonstandard` for bare public keys and multisig alike.
fn spent(input: &Object<'_>, network: Network, satoshis: SatoshisOf) -> Result<Option<OutputFacts>, FieldError> {
    let (Some(amount), Some(kind)) = (satoshis(input, "value")?, input.text("type")) else { return Ok(None) };
    let form = match kind {
        "pubkey" => ScriptType::P2pk,
        "pubkeyhash" => ScriptType::P2pkh,
        "scripthash" => ScriptType::P2sh,
        "witness_v0_keyhash" => ScriptType::P2wpkh,
        "witness_v0_scripthash" => ScriptType::P2wsh,
        "witness_v1_taproot" => ScriptType::P2tr,
        "witness_unknown" | "anchor" => ScriptType::Nonstandard,
        "multisig" => return Ok(Some(OutputFacts { owner: None, amount, script: ScriptType::Multisig, data: None })),
        _ => return Ok(None),
    };
    let owner = match &addresses(input)?[..] {
        // Without the script, an address with the checksum of another witness version states no owner.
        [only] if form == ScriptType::Nonstandard && address(network, only).is_none() => None,
        [only] if !only.starts_with(NO_ADDRESS) => {
            let expected = format!("an address of bitcoin {network}");
            let address = address(network, only);
            Some(address.ok_or_else(|| FieldError::new("inputs.addresses", Some(only), expected))?)
        }
        _ => None,
    };
    Ok(owner.map(|_| OutputFacts { owner, amount, script: form, data: None }))
}

#[cfg(test)]
#[path = "bitcoin_etl_tests.rs"]
mod tests;
