use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, MovementFact, TransactionFacts};
use headwater_ledger::read::{Ordinal, Status};
use headwater_types::{Address, Amount, Asset, Chain, TxHash};

use crate::{ChainSource, Gathered, IngestError, IngestReport, Options, Silent, ingest_into};

// A real transaction of the first day of TRON with its fee, and one that created a witness.
const TRON: &str = r#"{"txHashPrefix":"d6a80","txHash":"1qgIU1nspO3U7hpAxQlg/Z4BsWqRWOyns82/lZstA40=","nonce":0,"blockHash":"AAAAAAAAJKq3pg0K1eUW0KGn2fCyaoayZkJg07wYGdk=","blockId":9386,"transactionIndex":0,"fromAddress":"5VL2SHWFwrWLwsm7RJK8HxcTLNA=","toAddress":"tjgdn3Ck++UVfmp6Shb7vpsvE8o=","value":5000000,"gas":0,"gasPrice":100,"input":"","blockTimestamp":1529919702,"receiptGasUsed":0,"receiptStatus":1}
{"txHashPrefix":"9bdef","txHash":"m97/LJ7Wtp/sPQbyWb5chi3uTpeWUvdTdcHr6D8EJRo=","nonce":0,"blockHash":"AAAAAAAADDfpuNyLAVoKRA0VjU8T//KniDOskNwtcFM=","blockId":3127,"transactionIndex":0,"fromAddress":"JDrMxSQdl855JysGlS7oijTY4fk=","value":9999000000,"gas":0,"gasPrice":100,"input":"","blockTimestamp":1529900919,"receiptGasUsed":0,"receiptStatus":1}
"#;
const FEE: &str = r#"{"txHashPrefix":"9bdef","txHash":"m97/LJ7Wtp/sPQbyWb5chi3uTpeWUvdTdcHr6D8EJRo=","fee":9999000000,"energyUsage":0,"energyFee":0,"originEnergyUsage":0,"energyUsageTotal":0,"netUsage":0,"netFee":0,"result":0,"energyPenaltyTotal":0}"#;
const TRACES: &str = "\
blockIdGroup,blockId,traceId,traceIndex,fromAddress,toAddress,value,status,callType,txHash
0,5,genesis_0_68,0,,0x00000000000000000000000000000000000000cc,7,1,,
0,5,reward_5_0,1,,0x00000000000000000000000000000000000000cc,5e2,1,,
0,5,call_HASH_,2,0x00000000000000000000000000000000000000aa,0x00000000000000000000000000000000000000bb,199e17,1,call,HASH
0,5,call_HASH_0,3,0x00000000000000000000000000000000000000bb,0x00000000000000000000000000000000000000cc,3,1,delegatecall,HASH
0,5,call_HASH_1,4,0x00000000000000000000000000000000000000bb,0x00000000000000000000000000000000000000cc,4,0,call,HASH
0,5,call_HASH_1_0,5,0x00000000000000000000000000000000000000cc,0x00000000000000000000000000000000000000aa,5,1,call,HASH
0,5,call_HASH_2,6,0x00000000000000000000000000000000000000bb,0x00000000000000000000000000000000000000cc,6,1,call,HASH
";
const BLOCK: &str = "blockIdGroup,blockId,blockHash,parentHash,timestamp\n0,5,HASH,HASH,1000\n";

fn read_with(files: &[(&str, &str)], options: &Options) -> (Result<IngestReport, IngestError>, Vec<Batch>) {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content.replace("HASH", &hash())).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], options, &mut target, &Silent, &Cancel::new());
    (report, target.batches)
}

fn read(files: &[(&str, &str)]) -> (IngestReport, Batch) {
    let (report, mut batches) = read_with(files, &Options::default());
    (report.unwrap(), batches.remove(0))
}

fn hash() -> String {
    format!("0x{}", "ab".repeat(32))
}

fn facts(batch: &Batch, block: u64) -> Vec<&TransactionFacts> {
    batch.transactions.iter().filter(|facts| facts.block == block).collect()
}

#[test]
fn tron_is_detected_by_block_hashes_and_pays_listed_fees() {
    let (report, batch) = read(&[("tx_fee.json", FEE), ("transactions.json", TRON)]);
    assert!(report.files.iter().all(|file| file.chain_source == ChainSource::Detected));
    assert_eq!(batch.chain, Chain::TRON);
    let [sent] = facts(&batch, 9386)[..] else { panic!("one transaction") };
    let body = sent.body.unwrap();
    let account = |text| Some(Address::parse(Chain::TRON, text).unwrap());
    assert_eq!(body.from, account("41e552f6487585c2b58bc2c9bb4492bc1f17132cd0"));
    assert_eq!(body.to, account("41b6381d9f70a4fbe5157e6a7a4a16fbbe9b2f13ca"));
    assert_eq!((body.value, sent.status, sent.gas_used), (Amount::from(5_000_000), Some(Status::Success), None));
    let [witness, fee] = facts(&batch, 3127)[..] else { panic!("a transaction and its fee") };
    assert_eq!((witness.body.unwrap().to, witness.body.unwrap().value), (None, Amount::ZERO), "the fee was burnt");
    assert_eq!((fee.hash, fee.fee), (witness.hash, Some(Amount::from(9_999_000_000))));
}

#[test]
fn a_fee_without_its_transaction_is_named() {
    let error = read_with(&[("tx_fee.json", FEE)], &Options::default()).0.unwrap_err().to_string();
    assert!(error.contains("txHash") && error.contains("m97/LJ7Wtp"), "{error}");
}

#[test]
fn frames_are_judged_by_the_path_in_their_id() {
    let (report, batch) = read(&[("blocks.csv", BLOCK), ("traces.csv", TRACES)]);
    assert_eq!((report.rows, batch.chain), (8, Chain::ETHEREUM));
    let by = |id: TxHash| batch.transactions.iter().find(|facts| facts.hash == id).unwrap();
    let facts = by(TxHash::parse(Chain::ETHEREUM.family(), &hash()).unwrap());
    assert_eq!(facts.body.unwrap().value.to_string(), "19900000000000000000");
    let [movement] = &facts.movements[..] else { panic!("one movement") };
    assert_eq!((movement.ordinal, movement.amount), (Ordinal::Indexed(0), Amount::from(6)));
    let miner = Address::parse(Chain::ETHEREUM, "0x00000000000000000000000000000000000000cc").unwrap();
    assert_eq!(by(TxHash::reward(5, &miner)).body.unwrap().value, Amount::from(500));
    assert_eq!(by(TxHash::genesis(&miner)).body.unwrap().value, Amount::from(7));
}

#[test]
fn logs_and_token_transfers_tell_the_same_movement() {
    let log = r#"{"blockIdGroup": 0, "blockId": 5, "topic0": "0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", "logIndex": 49, "address": "0xdac17f958d2ee523a2206206994597c13d831ec7", "blockHash": "HASH", "data": "0x00000000000000000000000000000000000000000000000000000000c84cfb23", "topics": ["0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef", "0x00000000000000000000000045225d3536ac02928f16071ab05066bce95c2cd5", "0x000000000000000000000000caf7ce56598e8588c9bf471e08b53e8a8d9541b3"], "transactionIndex": 20, "txHash": "0xf490320cff087d82747fcb0e6ed797f899ff887bcd15162933ea051c94c596ea"}"#;
    // The first row that is published as expected of the log.
    let transfer = r#"{"blockId":5,"transactionIndex":20,"logIndex":49,"txHash":"9JAyDP8IfYJ0f8sObteX+Jn/iHvNFRYpM+oFHJTFluo=","tokenAddress":"2sF/lY0u5SOiIGIGmUWXwT2DHsc=","from":"RSJdNTasApKPFgcasFBmvOlcLNU=","to":"yvfOVlmOhYjJv0ceCLU+io2VQbM=","value":3360488227}"#;
    let (_, of_log) = read(&[("blocks.csv", BLOCK), ("logs.json", log)]);
    let (report, of_transfer) = read(&[("blocks.csv", BLOCK), ("transfers.json", transfer)]);
    let (log, transfer) = (&of_log.transactions[0], &of_transfer.transactions[0]);
    assert_eq!((log.hash, log.index, &log.movements), (transfer.hash, transfer.index, &transfer.movements));
    assert_eq!((log.logs.len(), transfer.movements[0].kind), (1, MovementFact::Token));
    assert_eq!(report.files[1].chain_source, ChainSource::Assumed);
}

#[test]
fn token_transfers_are_of_the_chain_that_the_caller_names() {
    let transfer = r#"{"blockId":5,"transactionIndex":20,"logIndex":49,"txHash":"9JAyDP8IfYJ0f8sObteX+Jn/iHvNFRYpM+oFHJTFluo=","tokenAddress":"phT4A7b9eAmGpCx47Jx/d+be0Tw=","from":"RSJdNTasApKPFgcasFBmvOlcLNU=","to":"yvfOVlmOhYjJv0ceCLU+io2VQbM=","value":3360488227,"blockTimestamp":1000}"#;
    let tron = Options { chain: Some(Chain::TRON), ..Options::default() };
    let (report, batches) = read_with(&[("transfers.json", transfer)], &tron);
    assert_eq!(report.unwrap().files[0].chain_source, ChainSource::Given);
    let usdt = Address::parse(Chain::TRON, "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
    assert_eq!(batches[0].transactions[0].movements[0].asset, Asset::Token(usdt));
}

#[test]
fn a_value_that_is_none_is_named() {
    let broken = TRACES.replace("199e17", "199e-17");
    let (report, _) = read_with(&[("blocks.csv", BLOCK), ("traces.csv", &broken)], &Options::default());
    let error = report.unwrap_err().to_string();
    assert!(error.contains("line 4") && error.contains("199e-17"), "{error}");
}
