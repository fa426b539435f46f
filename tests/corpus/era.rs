//! Real transactions of Ethereum in history files: what they hold is what the same blocks are from a node.

use std::io::Read;
use std::path::{Path, PathBuf};

use headwater_ingest::{Gathered, IngestReport, Options, Silent, ingest, ingest_into};
use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim};
use headwater_ledger::read::CoverageTable;
use headwater_ledger::store::{LogicalDigest, Store, Writer};
use headwater_testkit::era::{EraBlock, Outcomes, Parts, RebuiltBlock, era1, ere, rebuilt};
use headwater_types::Chain;
use serde_json::{Value, json};

const ALL: Parts = Parts { receipts: true, difficulties: true, proofs: true };
/// The first block of an era behind Byzantium, and of one before it.
const FIRST: u64 = 600 * 8_192;
const EARLY: u64 = 5 * 8_192;

fn answer(path: &Path) -> Value {
    let bytes = std::fs::read(path).unwrap();
    let mut content = Vec::new();
    match path.extension().and_then(|ending| ending.to_str()) {
        Some("gz") => _ = flate2::read::GzDecoder::new(&bytes[..]).read_to_end(&mut content).unwrap(),
        _ => content = bytes,
    }
    let value: Value = serde_json::from_slice(&content).unwrap();
    value.get("result").cloned().unwrap_or(value)
}

fn number(block: &Value) -> u64 {
    u64::from_str_radix(block["number"].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Blocks of Ethereum from the first transaction to Cancun, in order.
fn rpc_blocks() -> Vec<Value> {
    let folder = std::fs::read_dir(headwater_tests::corpus().join("ethereum/rpc_blocks")).unwrap();
    let mut blocks: Vec<Value> = folder.map(|entry| answer(&entry.unwrap().path())).collect();
    blocks.sort_by_key(number);
    blocks
}

fn written(folder: &Path, name: &str, content: &[u8]) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, content).unwrap();
    path
}

fn gathered(name: &str, content: &[u8]) -> (IngestReport, Batch) {
    let folder = tempfile::tempdir().unwrap();
    let path = written(folder.path(), name, content);
    let mut target = Gathered::default();
    let options = Options { chain: Some(Chain::ETHEREUM), ..Options::default() };
    let report = ingest_into(&[path], &options, &mut target, &Silent, &Cancel::new()).unwrap();
    (report, target.batches.remove(0))
}

/// The digest of a store of one file, with the claims that a verified file makes.
fn digest(name: &str, content: &[u8], range: (u64, u64)) -> LogicalDigest {
    use CoverageTable::{Blocks, Logs, Receipts, TokenTransfers, Transactions, VerifiedReceipts, VerifiedTransactions};
    let folder = tempfile::tempdir().unwrap();
    let (path, store) = (written(folder.path(), name, content), folder.path().join("store"));
    let mut writer = Writer::open_or_create(&store).unwrap();
    let (options, cancel) = (Options { chain: Some(Chain::ETHEREUM), ..Options::default() }, Cancel::new());
    ingest(&[path], &options, &mut writer, &Silent, &cancel).unwrap();
    let mut batch = Batch::new(Chain::ETHEREUM);
    for table in [Blocks, Transactions, Receipts, TokenTransfers, Logs, VerifiedTransactions, VerifiedReceipts] {
        batch.claims.push(Claim::Blocks { first: range.0, last: range.1, table });
    }
    writer.commit(batch, &cancel).unwrap();
    drop(writer);
    Store::open(&store).unwrap().digest(&cancel).unwrap()
}

#[test]
fn corpus_files_and_answers_give_the_same_store() {
    for (first, outcomes) in [(FIRST, Outcomes::Status), (EARLY, Outcomes::StateRoot)] {
        let blocks = rebuilt(rpc_blocks(), first, outcomes);
        let range = (first, first + blocks.len() as u64 - 1);
        let lines: Vec<String> = blocks.iter().map(|one| format!("{}\n{}\n", one.block, one.receipts)).collect();
        let encoded: Vec<EraBlock> = blocks.iter().map(|one| EraBlock::of(&one.block, &one.receipts)).collect();
        let of_node = digest("blocks.jsonl", lines.concat().as_bytes(), range);
        for (name, content) in [era1(&encoded, 1 << 70), ere(&encoded, 1 << 70, ALL)] {
            assert_eq!(digest(&name, &content, range), of_node, "{name}");
        }
    }
}

/// Each block as it is on the chain, without receipts, which are not recorded.
#[test]
fn corpus_real_blocks_are_read_from_files() {
    let mut transactions = 0;
    for block in rpc_blocks().into_iter().filter(|block| block["uncles"] == json!([])) {
        let encoded = EraBlock::of(&block, &json!([]));
        let parts = Parts { receipts: false, difficulties: encoded.difficulty > 0, proofs: false };
        let (report, batch) = gathered("block.ere", &ere(&[encoded], 1 << 70, parts).1);
        let hash = batch.blocks[0].hash.unwrap();
        assert_eq!(json!(format!("0x{}", hex::encode(hash.as_bytes()))), block["hash"]);
        assert_eq!((report.blocks, report.skipped), (1, 0));
        for facts in batch.transactions.iter().filter(|facts| facts.nonce.is_some()) {
            let stated = &block["transactions"][usize::try_from(facts.index.unwrap()).unwrap()];
            assert_eq!(json!(facts.body.unwrap().from.unwrap().to_string().to_lowercase()), stated["from"]);
            transactions += 1;
        }
    }
    assert_eq!(transactions, 10_323 - 49);
}

/// Two blocks before Byzantium with their real receipts.
#[test]
fn corpus_real_receipts_are_read_from_a_file() {
    let folder = headwater_tests::corpus().join("ethereum/ethereum-etl/test_stream/blocks_1755634_1755635");
    let file = |name: &str| answer(&folder.join(format!("web3_response.{name}.json")));
    let blocks = [file("eth_getBlockByNumber_0x1ac9f2_true"), file("eth_getBlockByNumber_0x1ac9f3_true")];
    let receipt = |one: &Value| file(&format!("eth_getTransactionReceipt_{}", one["hash"].as_str().unwrap()));
    let blocks = blocks.map(|block| {
        let receipts = block["transactions"].as_array().unwrap().iter().map(receipt).collect();
        RebuiltBlock { block, receipts }
    });
    let encoded: Vec<EraBlock> = blocks.iter().map(|one| EraBlock::of(&one.block, &one.receipts)).collect();
    for content in [era1(&encoded, 1 << 70).1, ere(&encoded, 1 << 70, ALL).1] {
        let (report, batch) = gathered("blocks.bin", &content);
        assert_eq!((report.blocks, report.added), (2, 2));
        let logs: Vec<_> = batch.transactions.iter().flat_map(|facts| facts.logs.iter().map(|log| log.index)).collect();
        assert_eq!(logs, [0, 1]);
        assert!(batch.transactions.iter().all(|facts| facts.status.is_none() && facts.gas_used.is_some()));
    }
}
