use headwater_ledger::Cancel;
use headwater_ledger::facts::Batch;
use headwater_ledger::read::ScriptType;

use super::*;
use crate::options::{OnError, Options, Silent};
use crate::{Gathered, IngestReport, ingest_into};

/// Height 170 in spirit: a coinbase and one payment from a held key, as verbosity 3 prints it.
const BLOCK: &str = r#"{
  "hash": "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee",
  "confirmations": 7,
  "height": 170,
  "version": 1,
  "merkleroot": "7dac2c5666815c17a3b36427de37bb9d2e2c5ccec3f8633eb91a4205cb4c10ff",
  "time": 1231731025,
  "nonce": 1889418792,
  "previousblockhash": "000000002a22cfee1f2c846adbd12b3e183d4f97683f85dad08a79780a84bd55",
  "nTx": 2,
  "tx": [
    {"txid": "b1fea52486ce0c62bb442b530a3f0132b826c74e473d1f2c220bfa78111c5082",
     "vin": [{"coinbase": "04ffff001d0102", "sequence": 4294967295}],
     "vout": [{"value": 50.00000000, "n": 0, "scriptPubKey": {"hex": "6a0568656c6c6f", "type": "nulldata"}}]},
    {"txid": "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16",
     "version": -2, "locktime": 169, "weight": 437,
     "fee": 1.5e-07,
     "vin": [{"txid": "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9", "vout": 0,
              "scriptSig": {"hex": "00"}, "sequence": 4294967293,
              "prevout": {"generated": true, "height": 9, "value": 0.00000115,
                          "scriptPubKey": {"hex": "76a914751e76e8199196d454941c45d1b3a323f1433bd688ac"}}}],
     "vout": [{"value": 0.00000100, "n": 0,
               "scriptPubKey": {"hex": "0014751e76e8199196d454941c45d1b3a323f1433bd6"}}]}
  ]
}"#;

fn read(content: &str, on_error: OnError) -> Result<(Vec<Batch>, IngestReport), IngestError> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("block.json");
    std::fs::write(&path, content).unwrap();
    let mut target = Gathered::default();
    let options = Options { on_error, ..Options::default() };
    let report = ingest_into(&[path], &options, &mut target, &Silent, &Cancel::new())?;
    Ok((target.batches, report))
}

fn batch(content: &str) -> Batch {
    let (mut batches, report) = read(content, OnError::Stop).unwrap();
    assert_eq!(report.files[0].format, "bitcoin-core");
    assert_eq!(batches.len(), 1);
    batches.remove(0)
}

#[test]
fn a_block_of_verbosity_3_tells_fees_and_what_inputs_spend() {
    let batch = batch(BLOCK);
    assert_eq!(batch.network, Some(Network::Mainnet));
    assert_eq!((batch.blocks[0].number, batch.blocks[0].time.secs()), (170, 1_231_731_025));
    assert!(batch.blocks[0].parent.is_some());
    let [minted, paid] = &batch.transactions[..] else { panic!("two transactions") };
    let minted = minted.utxo.as_ref().unwrap();
    assert!(minted.coinbase && minted.inputs.is_empty());
    assert_eq!((minted.outputs[0].amount, minted.outputs[0].data.as_deref()), (5_000_000_000, Some(&b"hello"[..])));
    assert_eq!((paid.index, paid.fee), (Some(1), Some(Amount::from(15))));
    let utxo = paid.utxo.as_ref().unwrap();
    assert_eq!((utxo.version, utxo.lock_time, utxo.weight_wu), (Some(0xffff_fffe), Some(169), Some(437)));
    assert_eq!((utxo.inputs[0].sequence, utxo.signals_replacement()), (Some(0xffff_fffd), Some(true)));
    assert_eq!((minted.version, minted.lock_time, minted.weight_wu), (None, None, None));
    let spent = utxo.inputs[0].spent.as_ref().unwrap();
    assert_eq!((spent.amount, spent.script), (115, ScriptType::P2pkh));
    assert_eq!(utxo.outputs[0].owner.unwrap().to_string(), "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4");
    assert_eq!(batch.claims.len(), 2);
}

#[test]
fn one_line_a_list_and_the_envelope_of_a_call_say_the_same() {
    let expected = batch(BLOCK);
    let line = BLOCK.replace('\n', " ");
    for same in [
        format!("{line}\n"),
        format!("[{line}]"),
        format!("[\n{BLOCK}\n]"),
        format!("{{\"result\": {line}, \"error\": null, \"id\": \"x\"}}\n"),
        format!("{line}\n{line}\n"),
    ] {
        let mut found = batch(&same);
        found.blocks.dedup();
        found.transactions.truncate(2);
        found.claims.truncate(2);
        assert_eq!(found, expected);
    }
}

#[test]
fn what_cannot_be_a_block_is_named() {
    for (before, after, expected) in [
        ("50.00000000", "50.000000001", "tx[0].vout[0].value"),
        ("50.00000000", "-1", "at most 8 decimals"),
        ("\"nTx\": 2", "\"nTx\": 3", "the 2 transactions"),
        ("\"height\": 170,", "", "height"),
        ("6a0568656c6c6f", "6a0", "a script in hex"),
        ("\"vout\": 0,", "\"vout\": 4294967296,", "tx[1].vin[0].vout"),
        ("1231731025", "12317310250", "epoch seconds"),
        ("\"version\": -2", "\"version\": 4294967296", "tx[1].version"),
    ] {
        let error = read(&BLOCK.replacen(before, after, 1), OnError::Stop).unwrap_err().to_string();
        assert!(error.contains(expected), "{after}: {error}");
    }
    let ids = r#"{"hash": "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee", "merkleroot": "00",
        "nonce": 1, "height": 1, "time": 5, "tx": ["b1fe"]}"#;
    let error = read(ids, OnError::Stop).unwrap_err().to_string();
    assert!(error.contains("verbosity 2 or 3"), "{error}");
    // A block is stated as a whole or not at all.
    let error = read(&BLOCK.replacen("0.00000100", "1e-9", 1), OnError::Skip).unwrap_err().to_string();
    assert!(error.contains("gives no row of chain data: left out: 1 rows are wrong"), "{error}");
}

#[test]
fn a_block_off_the_best_chain_is_left_out() {
    let stale = BLOCK.replace("\"confirmations\": 7", "\"confirmations\": -1");
    let error = read(&stale, OnError::Stop).unwrap_err().to_string();
    assert!(error.contains("gives no row") && error.contains("not on the best chain"), "{error}");
}

#[test]
fn a_block_that_prints_addresses_of_another_coin_is_refused() {
    let printed = |address: &str| BLOCK.replacen("\"hex\": \"0014751e", &format!("{address}, \"hex\": \"0014751e"), 1);
    for (address, network) in [
        (r#""address": "LVuDpNCSSj6pQ7t9Pv6d6sUkLKoqDEVUnJ""#, "litecoin"),
        (r#""addresses": ["LVuDpNCSSj6pQ7t9Pv6d6sUkLKoqDEVUnJ"]"#, "litecoin"),
        (r#""address": "bitcoincash:qp63uahgrxged4z5jswyt5dn5v3lzsem6cy4spdc2h""#, "bitcoin-cash"),
        (r#""address": "tb1qw508d6qejxtdg4y5r3zarvary0c5xw7kxpjzsx""#, "bitcoin-testnet"),
    ] {
        let error = read(&printed(address), OnError::Stop).unwrap_err().to_string();
        assert!(error.contains("cannot be taken as bitcoin") && error.contains(network), "{error}");
        // Behind an address of bitcoin only the row shows it.
        let first = r#""n": 0, "scriptPubKey": {"address": "1BgGZ9tcN4rm9KBzDn7KprQz87SZ26SAMH", "hex": "6a05"#;
        let late = printed(address).replacen(r#""n": 0, "scriptPubKey": {"hex": "6a05"#, first, 1);
        let error = read(&late, OnError::Stop).unwrap_err().to_string();
        assert!(error.contains("scriptPubKey.address") && error.contains(network), "{error}");
    }
    let own = printed(r#""address": "bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4""#);
    assert_eq!(batch(&own).transactions.len(), 2);
}
