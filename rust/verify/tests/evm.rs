//! Blocks that anvil made: all transaction types, failures, creations, logs, and an empty block.

use headwater_types::{BlockHash, Chain};
use headwater_verify::Part::{Bloom, Hash, Receipts, Senders, Transactions, Withdrawals};
use headwater_verify::evm::{
    Senders as Check, VerifiedBlock, VerifiedTransaction, verify_all, verify_block, verify_logs, verify_receipts,
    verify_transactions,
};
use headwater_verify::{Digest, FailureKind, Mismatch, VerificationError};
use serde_json::{Value, json};

use crate::recorded;

const PRAGUE: &str = include_str!("fixtures/anvil_prague.json");
const LONDON: &str = include_str!("fixtures/anvil_london.json");
const ISTANBUL: &str = include_str!("fixtures/anvil_istanbul.json");

pub(crate) fn number(entry: &Value) -> u64 {
    u64::from_str_radix(entry["block"]["number"].as_str().unwrap().strip_prefix("0x").unwrap(), 16).unwrap()
}

/// Verifies an entry as a block of BSC: Ethereum's blocks of such low numbers have receipts of another form.
pub(crate) fn verify(entry: &Value) -> Result<VerifiedBlock, VerificationError> {
    // Changed numbers are compared with the one asked for.
    let asked = entry.get("asked").and_then(Value::as_u64).unwrap_or_else(|| number(entry));
    verify_all(Chain::BSC, asked, &entry["block"], Some(&entry["receipts"]), Check::Recover)
}

/// The blocks with transactions of all types, of each fork; that with a blob comes last.
pub(crate) fn rich_blocks() -> Vec<Value> {
    let second = |text| recorded(text).into_iter().find(|entry| number(entry) == 2).unwrap();
    vec![second(PRAGUE), second(LONDON), second(ISTANBUL), blob_block()]
}

/// The block with a blob. anvil computes its transactions root over the sidecar too, which is not part of a block: the
/// root and the hash are replaced, the receipts root is that of anvil.
fn blob_block() -> Value {
    let mut entry = recorded(PRAGUE).remove(3);
    for digest in [Digest::TransactionsRoot, Digest::BlockHash] {
        let Mismatch::Hash { digest: differs, computed, stated } = verify(&entry).unwrap_err().mismatch else {
            panic!("a hash differs")
        };
        assert_eq!(differs, digest);
        entry = serde_json::from_str(&entry.to_string().replace(&stated, &computed)).unwrap();
    }
    entry
}

fn fails(entry: &Value) -> VerificationError {
    let mut entry = entry.clone();
    entry["asked"] = json!(2);
    verify(&entry).unwrap_err()
}

#[test]
fn recorded_blocks_of_each_fork_are_verified() {
    let mut types = Vec::new();
    let plain = [PRAGUE, LONDON, ISTANBUL].into_iter().flat_map(recorded).filter(|entry| number(entry) < 4);
    for entry in plain.chain([blob_block()]) {
        let block = verify(&entry).unwrap();
        assert_eq!(block.parts(), [Hash, Withdrawals, Transactions, Senders, Receipts, Bloom]);
        let logs = entry["logs"].as_array().unwrap().len();
        assert_eq!(block.receipts.unwrap().log_count(), logs as u64);
        assert_eq!(verify_logs(&block.header, &entry["logs"]).unwrap().count, logs);
        types.extend(block.transactions.as_slice().iter().map(VerifiedTransaction::kind));
    }
    types.sort_unstable();
    types.dedup();
    assert_eq!(types, [0, 1, 2, 3, 4]);
}

#[test]
fn blocks_in_a_row_name_their_parents() {
    let headers: Vec<_> = recorded(PRAGUE)[..3].iter().map(|entry| verify(entry).unwrap().header).collect();
    assert_eq!(headers.len(), 3);
    for pair in headers.windows(2) {
        pair[1].verify_parent(pair[0].hash()).unwrap();
    }
    let error = headers[0].verify_parent(BlockHash::new([9; 32])).unwrap_err();
    assert_eq!((error.mismatch.code(), error.block), ("parent", 1));
}

/// The system of BSC signs legacy transactions with a gas price of zero. Only one of the block is recorded: its hash and
/// sender pass, and the root shows that others are missing.
#[test]
fn bsc_header_and_system_transaction_are_verified() {
    let mut block = recorded(include_str!("fixtures/bsc_block_1.json")).remove(0);
    let header = verify_block(Chain::BSC, 1, &block).unwrap();
    let error = verify_transactions(&header, &block, Check::Recover).unwrap_err();
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("transactions_root", ""));
    block["transactions"][0]["from"] = json!("0x2a7cdd959bfe8d9487b2a43b33565295a698f7e3");
    let error = verify_transactions(&header, &block, Check::Recover).unwrap_err();
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("sender", "transactions[0].from"));
}

#[test]
fn sender_that_did_not_sign_is_refused() {
    let mut entry = rich_blocks().remove(0);
    entry["block"]["transactions"][4]["from"] = json!("0x0000000000000000000000000000000000000001");
    assert_eq!(
        fails(&entry).to_string(),
        "block 2: transactions[4].from is 0x0000000000000000000000000000000000000001; expected \
         0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc, the account that signed"
    );
    // Without recovery nothing covers the field, as the result states.
    let unchecked = verify_all(Chain::ETHEREUM, 2, &entry["block"], None, Check::Trust).unwrap();
    assert_eq!(unchecked.parts(), [Hash, Withdrawals, Transactions]);
}

#[test]
fn receipts_that_are_missing_are_refused() {
    let entry = rich_blocks().remove(0);
    let verified = verify(&entry).unwrap();
    for receipts in [json!([]), Value::Null, json!({})] {
        assert!(verify_receipts(&verified.header, &verified.transactions, &receipts).is_err());
    }
    let error = verify_receipts(&verified.header, &verified.transactions, &json!([])).unwrap_err();
    assert_eq!(error.to_string(), "block 2: the number of receipts is 0; expected 8, the number of transactions");
    let error = verify_receipts(&verified.header, &verified.transactions, &Value::Null).unwrap_err();
    assert_eq!(error.mismatch.kind(), FailureKind::Malformed);
}

/// An answer that leaves out the transactions, and their receipts with them.
#[test]
fn empty_lists_in_a_full_block_are_refused() {
    let mut entry = rich_blocks().remove(0);
    entry["block"]["transactions"] = json!([]);
    entry["receipts"] = json!([]);
    let error = fails(&entry);
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("transactions_root", ""));
    assert!(error.to_string().starts_with(
        "block 2: the computed transactions root is \
         0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421, the header has 0x"
    ));
}

#[test]
fn block_without_full_transactions_is_refused() {
    let mut entry = rich_blocks().remove(0);
    entry["block"]["transactions"] = json!([entry["block"]["transactions"][0]["hash"]]);
    let error = fails(&entry);
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("malformed", "transactions[0]"));
    assert!(error.to_string().ends_with("expected an object: ask for the block with full transactions"));
}

/// Each of these keeps all single entries right.
#[test]
fn entries_that_are_dropped_doubled_or_swapped_are_refused() {
    for entry in rich_blocks() {
        for list in ["/block/transactions", "/receipts"] {
            let count = entry.pointer(list).unwrap().as_array().unwrap().len();
            for at in 0..count {
                let mut dropped = entry.clone();
                dropped.pointer_mut(list).unwrap().as_array_mut().unwrap().remove(at);
                assert!(verify(&dropped).is_err());
                let mut doubled = entry.clone();
                let entries = doubled.pointer_mut(list).unwrap().as_array_mut().unwrap();
                entries.insert(at, entries[at].clone());
                assert!(verify(&doubled).is_err());
                let mut swapped = entry.clone();
                swapped.pointer_mut(list).unwrap().as_array_mut().unwrap().swap(at, (at + 1) % count);
                assert!(count == 1 || verify(&swapped).is_err());
            }
        }
    }
}

/// A node that drops a log, also with the positions of the others closed up.
#[test]
fn logs_that_are_dropped_are_refused() {
    let entry = rich_blocks().remove(0);
    let mut dropped = entry.clone();
    dropped["receipts"][1]["logs"].as_array_mut().unwrap().remove(0);
    assert_eq!(fails(&dropped).path, "receipts[1].logs[0].logIndex");
    let mut last = entry.clone();
    for receipt in last["receipts"].as_array_mut().unwrap() {
        let logs = receipt["logs"].as_array_mut().unwrap();
        if logs.iter().any(|log| log["logIndex"] == json!("0x8")) {
            logs.pop();
            receipt.as_object_mut().unwrap().remove("logsBloom");
        }
    }
    assert_eq!(fails(&last).mismatch.code(), "receipts_root");
}

#[test]
fn unknown_transaction_type_is_unsupported() {
    let mut entry = rich_blocks().remove(0);
    entry["block"]["transactions"][2]["type"] = json!("0x7e");
    let error = fails(&entry);
    assert_eq!((error.mismatch.code(), error.mismatch.kind()), ("unknown_form", FailureKind::Unsupported));
    assert_eq!(error.path, "transactions[2].type");
}

/// Receipts of Ethereum before Byzantium are hashed with a state root, which some nodes do not return. On other chains the
/// same difference is a contradiction.
#[test]
fn receipts_without_state_root_are_unverifiable() {
    let mut entry = rich_blocks().remove(2);
    let transactions = verify(&entry).unwrap().transactions;
    entry["receipts"][0]["status"] = json!("0x0");
    let error = |chain| {
        let header = verify_block(chain, 2, &entry["block"]).unwrap();
        verify_receipts(&header, &transactions, &entry["receipts"]).unwrap_err()
    };
    assert_eq!(error(Chain::BSC).mismatch.code(), "receipts_root");
    let error = error(Chain::ETHEREUM);
    assert_eq!((error.mismatch.code(), error.mismatch.kind()), ("unverifiable", FailureKind::Unsupported));
    assert!(error.to_string().contains("use another node"), "{error}");
}

#[test]
fn logs_that_the_bloom_filter_excludes_are_refused() {
    let entry = rich_blocks().remove(0);
    let header = verify(&entry).unwrap().header;
    let refused = |change: &dyn Fn(&mut Value)| {
        let mut logs = entry["logs"].clone();
        change(&mut logs);
        verify_logs(&header, &logs).unwrap_err()
    };
    let foreign = json!("0x00000000000000000000000000000000000000ff");
    assert_eq!(refused(&|logs| logs[0]["address"] = foreign.clone()).mismatch.code(), "bloom");
    let topic = json!(format!("0x{}", "77".repeat(32)));
    assert_eq!(refused(&|logs| logs[2]["topics"][3] = topic.clone()).path, "logs[2]");
    assert_eq!(refused(&|logs| logs[0]["blockHash"] = topic.clone()).path, "logs[0].blockHash");
    assert_eq!(refused(&|logs| logs[0]["removed"] = json!(true)).path, "logs[0].removed");
    assert_eq!(refused(&|logs| logs.as_array_mut().unwrap().swap(0, 1)).path, "logs[1].logIndex");
    // A log that is left out is not seen: the result is partial.
    let mut fewer = entry["logs"].clone();
    fewer.as_array_mut().unwrap().remove(3);
    assert!(verify_logs(&header, &fewer).is_ok());
}
