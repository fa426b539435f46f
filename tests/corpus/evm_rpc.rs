//! Answers of nodes, held against the rows that ethereum-etl published for the same answers, and against themselves as
//! an ordinary JSON parser reads them.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::{Gathered, IngestReport, Options, Silent, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, BlockFacts, TransactionFacts};
use headwater_ledger::read::Status;
use headwater_types::{Address, Amount, Chain, Family, TxHash};

fn corpus() -> PathBuf {
    headwater_tests::corpus().join("ethereum")
}

fn ingest(paths: &[PathBuf]) -> (IngestReport, Batch) {
    let mut target = Gathered::default();
    let report = ingest_into(paths, &Options::default(), &mut target, &Silent, &Cancel::new()).unwrap();
    assert_eq!((report.skipped, target.batches.len()), (0, 1));
    (report, target.batches.remove(0))
}

/// All that a batch says of each transaction, as one.
/// The facts of each transaction, without the block hash, which only some sources state.
fn joined(batch: &Batch) -> BTreeMap<TxHash, TransactionFacts> {
    let mut all: BTreeMap<TxHash, TransactionFacts> = BTreeMap::new();
    for mut facts in batch.transactions.iter().cloned() {
        facts.block_hash = None;
        let facts = match all.remove(&facts.hash) {
            Some(held) => held.join(facts, batch.chain).unwrap(),
            None => facts.clone().join(facts, batch.chain).unwrap(),
        };
        all.insert(facts.hash, facts);
    }
    all
}

fn blocks(batch: &Batch) -> BTreeMap<u64, BlockFacts> {
    batch.blocks.iter().map(|block| (block.number, block.clone())).collect()
}

fn files(folder: &Path, begin: &str) -> Vec<PathBuf> {
    let all = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut named: Vec<_> = all.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(begin)).collect();
    named.sort();
    named
}

/// A file that gives a block a time, for answers that carry none.
fn time_of(folder: &Path, block: u64) -> PathBuf {
    let path = folder.join("blocks.csv");
    std::fs::write(&path, format!("number,hash,parent_hash,timestamp,gas_limit\n{block},,,{block},1\n")).unwrap();
    path
}

#[test]
fn corpus_answers_and_published_rows_are_the_same_facts() {
    for (name, transactions, read) in [
        ("test_export_blocks_job/block_with_logs", 4, 5),
        ("test_export_blocks_job/block_without_transactions", 0, 1),
        ("test_export_blocks_job/blocks_with_transactions", 4, 6),
        ("test_stream/blocks_1755634_1755635", 2, 7),
    ] {
        let folder = corpus().join("ethereum-etl").join(name);
        let mut answers = files(&folder, "web3_response.");
        answers.retain(|path| !path.to_string_lossy().contains("latest_false"));
        let (answers_report, answers) = ingest(&answers);
        assert!(answers_report.files.iter().all(|file| file.format == "evm-rpc"), "{name}");
        let (rows_report, rows) = ingest(&files(&folder, "expected_"));
        assert_eq!(blocks(&answers), blocks(&rows), "{name}");
        let (answers, rows) = (joined(&answers), joined(&rows));
        assert_eq!(answers, rows, "{name}");
        assert_eq!((rows.len(), rows_report.rows), (transactions, read), "{name}");
    }
}

#[test]
fn corpus_logs_and_published_transfers_are_the_same_movements() {
    let folder = corpus().join("ethereum-etl/test_export_token_transfers_job/block_with_transfers");
    let own = tempfile::tempdir().unwrap();
    let time = time_of(own.path(), 0x7_6250);
    let (_, answers) = ingest(&[folder.join("web3_response.eth_getFilterLogs_0x0.json"), time.clone()]);
    let (_, rows) = ingest(&[folder.join("expected_token_transfers.csv"), time]);
    let movements = |batch: &Batch| -> BTreeMap<_, _> {
        joined(batch).into_iter().map(|(hash, facts)| (hash, facts.movements)).collect()
    };
    assert_eq!(movements(&answers), movements(&rows));
    assert_eq!(movements(&rows).len(), 2);
}

/// Movements have ordinals, and these must agree too: facts of both sources are joined by them.
#[test]
fn corpus_traces_of_nodes_and_published_rows_are_equal() {
    for (name, block) in [
        ("block_with_create", 0xf_44f2),
        ("block_with_error", 0xf_45bf),
        ("block_with_subtraces", 0xf_4240),
        ("block_with_suicide", 0xf_7105),
    ] {
        let own = tempfile::tempdir().unwrap();
        let time = time_of(own.path(), block);
        let etl = corpus().join("ethereum-etl");
        let parity = etl.join("test_export_traces_job").join(name);
        let geth = etl.join("test_extract_geth_traces_job").join(name);
        let [flat] = &files(&parity, "web3_response.trace_block")[..] else { panic!("one answer") };
        let [tree] = &files(&geth, "web3_response.debug_traceBlockByNumber")[..] else { panic!("one answer") };
        let (_, answers) = ingest(&[flat.clone(), time.clone()]);
        let (_, rows) = ingest(&[parity.join("expected_traces.csv"), time.clone()]);
        assert_eq!(joined(&answers), joined(&rows), "{name}");
        // The trees name no transaction: they are joined by place to what the other node said, which fails where the
        // two contradict each other.
        let (_, by_answer) = ingest(&[flat.clone(), tree.clone(), time.clone()]);
        let (_, by_block) = ingest(&[flat.clone(), geth.join("geth_traces.json"), time.clone()]);
        let (_, by_rows) = ingest(&[flat.clone(), geth.join("expected_traces.csv"), time]);
        assert_eq!(joined(&by_answer), joined(&by_rows), "{name}");
        assert_eq!(joined(&by_block), joined(&by_rows), "{name}");
        assert!(by_answer.transactions.len() > answers.transactions.len(), "{name}");
        assert_eq!(joined(&by_answer).len(), joined(&answers).len(), "{name}");
    }
}

fn number(value: &serde_json::Value) -> Option<u128> {
    value.as_str().map(|text| u128::from_str_radix(text.strip_prefix("0x").unwrap(), 16).unwrap())
}

#[test]
fn corpus_whole_blocks_are_read_to_the_values_in_them() {
    let files = files(&corpus().join("rpc_blocks"), "");
    let (report, batch) = ingest(&files);
    assert_eq!((report.files.len(), report.rows, batch.blocks.len()), (32, 32, 32));
    let all = joined(&batch);
    let mut kinds = BTreeMap::new();
    let mut withdrawn: BTreeMap<TxHash, u128> = BTreeMap::new();
    for path in &files {
        let mut text = String::new();
        flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
        let block: serde_json::Value = serde_json::from_str(&text).unwrap();
        let height = u64::try_from(number(&block["number"]).unwrap()).unwrap();
        let address =
            |value: &serde_json::Value| value.as_str().map(|text| Address::parse(Chain::ETHEREUM, text).unwrap());
        for transaction in block["transactions"].as_array().unwrap() {
            *kinds.entry(number(&transaction["type"])).or_insert(0) += 1;
            let hash = transaction["hash"].as_str().unwrap();
            let facts = &all[&TxHash::parse(Family::Evm, hash).unwrap()];
            let body = facts.body.unwrap();
            assert_eq!(facts.block, height, "{hash}");
            assert_eq!(facts.time.unwrap().secs(), i64::try_from(number(&block["timestamp"]).unwrap()).unwrap());
            assert_eq!(facts.index.map(u128::from), number(&transaction["transactionIndex"]), "{hash}");
            assert_eq!((body.from, body.to), (address(&transaction["from"]), address(&transaction["to"])), "{hash}");
            assert_eq!(body.value.to_u128(), number(&transaction["value"]), "{hash}");
            assert_eq!(facts.nonce.map(u128::from), number(&transaction["nonce"]), "{hash}");
            assert_eq!(facts.gas_limit.map(u128::from), number(&transaction["gas"]), "{hash}");
            assert_eq!(facts.gas_price.and_then(Amount::to_u128), number(&transaction["gasPrice"]), "{hash}");
            let input = format!("0x{}", hex::encode(facts.input.as_ref().unwrap()));
            assert_eq!(transaction["input"].as_str().unwrap(), input, "{hash}");
            // Without receipts neither is known.
            assert_eq!((facts.status, facts.gas_used, facts.fee), (None, None, None), "{hash}");
        }
        for withdrawal in block["withdrawals"].as_array().into_iter().flatten() {
            let to = address(&withdrawal["address"]).unwrap();
            let id = TxHash::withdrawal(u32::try_from(height).unwrap(), &to);
            *withdrawn.entry(id).or_default() += number(&withdrawal["amount"]).unwrap() * 1_000_000_000;
        }
    }
    assert_eq!(kinds, [(Some(0), 5_736), (Some(1), 13), (Some(2), 4_571), (Some(3), 3)].into());
    assert_eq!(all.len(), 10_323 + withdrawn.len());
    assert!(withdrawn.len() > 20);
    for (id, wei) in withdrawn {
        assert_eq!((all[&id].body.unwrap().value.to_u128(), all[&id].status), (Some(wei), Some(Status::Success)));
    }
}

/// The rows of blocks that ethereum-etl streams carry withdrawals in the same unit.
#[test]
fn corpus_withdrawals_in_published_rows_are_read_too() {
    let path = corpus().join("ethereum-etl/test_stream/blocks_17173049_17173050/expected_blocks.json");
    let (_, batch) = ingest(&[path]);
    let to = Address::parse(Chain::ETHEREUM, "0xb9d7934878b5fb9610b3fe8a5e441e8fad7e293f").unwrap();
    // The sixteen amounts of the first block in gwei, added by hand.
    let gwei = 45_762_059
        + 12_420_714
        + 12_341_211
        + 12_404_660
        + 12_405_613
        + 12_384_528
        + 12_378_314
        + 12_414_494
        + 12_390_519
        + 12_402_133
        + 12_396_186
        + 12_381_528
        + 12_405_469
        + 12_433_893
        + 12_387_723
        + 12_384_451_u128;
    let value = joined(&batch)[&TxHash::withdrawal(17_173_049, &to)].body.unwrap().value;
    assert_eq!(value.to_u128(), Some(gwei * 1_000_000_000));
    assert_eq!(batch.transactions.len(), 2, "both blocks pay one account");
}
