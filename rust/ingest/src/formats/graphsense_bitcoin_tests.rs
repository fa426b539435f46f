use headwater_ledger::Cancel;

use super::*;
use crate::options::{Options, Silent};
use crate::{Gathered, ingest_into};

// The fifth transaction of the published mini-chain and its block.
const TRANSACTION: &str = r#"{"txIdGroup": 0, "txId": 5, "txHash": "ab30109910f327700e0f199972eed8ea7c6b1920e965f9cb48a92973e7325046", "coinbase": false, "coinjoin": true, "blockId": 3, "inputs": [{"address": ["1FDCgJ8m2xDyVmYuankk13XReVC2Zvs5cz"], "value": 1480000, "txType": 5}, {"address": ["1HxbaBMF2jXBVnagoHvaA6rLxmaYL8gb8T"], "value": 2500000, "txType": 3}], "outputs": [{"address": ["1E5UPs8bXBq7v7D2b7BYNU19ZviX2LMgEe", "1KLWBUTPXtRB7wvTYq9TYdeo93fAKvWPKs"], "value": 150000, "txType": 6}, {"address": ["3Kawbc5pkpQPfmaoGCBiaw5t2uK6WBoVVe"], "value": 1325000, "txType": 3}, {"address": [], "value": 7, "txType": 1}], "timestamp": 1231552800}"#;
const BLOCK: &str = r#"{"blockIdGroup": 1, "blockId": 3, "blockHash": "000000005c7ef94cf3eb3526aef2c9ec1352c33e7e869056cdffa3711d9b3eb5", "noTransactions": 3, "timestamp": 1231552800}"#;

fn read(files: &[(&str, &str)]) -> Result<Gathered, IngestError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    ingest_into(&[folder.path().to_owned()], &Options::default(), &mut target, &Silent, &Cancel::new())?;
    Ok(target)
}

#[test]
fn inputs_tell_owner_and_amount_but_not_the_output_they_spend() {
    let found = read(&[("txs.json", TRANSACTION), ("blocks.json", BLOCK)]).unwrap();
    let batch = &found.batches[0];
    assert_eq!(batch.blocks[0].number, 3);
    let utxo = batch.transactions[0].utxo.as_ref().unwrap();
    assert!(utxo.inputs.iter().all(|input| input.previous.is_unknown()));
    let spent: Vec<_> = utxo.inputs.iter().map(|input| input.spent.as_ref().unwrap().amount).collect();
    assert_eq!(spent, [1_480_000, 2_500_000]);
    let forms: Vec<_> = utxo.outputs.iter().map(|output| (output.owner.is_some(), output.script)).collect();
    assert_eq!(forms, [(false, ScriptType::Multisig), (true, ScriptType::P2sh), (false, ScriptType::Nonstandard)]);
}

#[test]
fn an_address_of_no_bitcoin_form_is_named() {
    let broken = TRANSACTION.replace("3Kawbc5pkpQPfmaoGCBiaw5t2uK6WBoVVe", "3Kawbc5pkpQPfmaoGCBiaw5t2uK6WBoVVf");
    let error = read(&[("txs.json", &broken)]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("3Kawbc5pkpQPfmaoGCBiaw5t2uK6WBoVVf"), "{error}");
}
