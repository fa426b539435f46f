//! Public blocks of TRON.

use headwater_types::BlockHash;
use headwater_verify::tron::{Producer, verify_block, verify_infos, verify_transactions};
use headwater_verify::{Part, VerificationError};
use serde_json::{Value, json};

use crate::recorded;

const BLOCKS: &str = include_str!("fixtures/tron_blocks.json");

/// A block with one call of a contract, and its info.
pub(crate) fn answers() -> Value {
    let block = recorded(BLOCKS).remove(0);
    let infos = json!([{
        "id": block["transactions"][0]["txID"],
        "blockNumber": 33_801_077,
        "blockTimeStamp": 1_684_509_309_000_u64,
        "fee": 5,
        "contractResult": [""],
        "receipt": {"result": "SUCCESS", "energy_usage_total": 7, "net_usage": 3}
    }]);
    json!({"block": block, "infos": infos})
}

pub(crate) fn verify(entry: &Value) -> Result<(), VerificationError> {
    let header = verify_block(33_801_077, &entry["block"])?;
    // Another key may be permitted, so the producer alone never fails; here a change of it counts as refused.
    if header.producer() != Producer::Witness {
        return Err(verify_block(0, &entry["block"]).unwrap_err());
    }
    let transactions = verify_transactions(&header, &entry["block"])?;
    verify_infos(&header, &transactions, &entry["infos"])
}

fn fails(change: &dyn Fn(&mut Value)) -> VerificationError {
    let mut entry = answers();
    change(&mut entry);
    verify(&entry).unwrap_err()
}

#[test]
fn public_blocks_are_verified_and_follow_each_other() {
    let blocks = recorded(BLOCKS);
    let first = verify_block(33_801_077, &blocks[0]).unwrap();
    assert_eq!(first.parts(), [Part::Hash, Part::Producer]);
    let transactions = verify_transactions(&first, &blocks[0]).unwrap();
    assert_eq!((transactions.count(), transactions.uncompared_count()), (1, 0));
    assert_eq!(transactions.parts(), [Part::Transactions, Part::ContractValues]);
    let second = verify_block(33_801_078, &blocks[1]).unwrap();
    second.verify_parent(first.id()).unwrap();
    assert_eq!(second.verify_parent(BlockHash::new([1; 32])).unwrap_err().mismatch.code(), "parent");
    assert_eq!(second.producer(), Producer::Witness);
    assert_eq!(verify_transactions(&second, &blocks[1]).unwrap().count(), 0);
    verify_infos(&second, &verify_transactions(&second, &blocks[1]).unwrap(), &json!([])).unwrap();
}

/// Only two transactions of this block are recorded.
#[test]
fn block_whose_list_is_cut_is_refused() {
    let block = recorded(BLOCKS).remove(2);
    let header = verify_block(84_940_008, &block).unwrap();
    let error = verify_transactions(&header, &block).unwrap_err();
    assert_eq!((error.mismatch.code(), error.path.as_str()), ("transactions_root", ""));
    let mut emptied = block.clone();
    emptied.as_object_mut().unwrap().remove("transactions");
    assert_eq!(verify_transactions(&header, &emptied).unwrap_err().mismatch.code(), "transactions_root");
}

/// The id covers `raw_data_hex` alone, so the readable form beside it could lie.
#[test]
fn amount_that_the_signed_bytes_do_not_have_is_refused() {
    let mut block = recorded(BLOCKS).remove(2);
    let header = verify_block(84_940_008, &block).unwrap();
    block["transactions"][1]["raw_data"]["contract"][0]["parameter"]["value"]["amount"] = json!(8_000_000);
    assert_eq!(
        verify_transactions(&header, &block).unwrap_err().to_string(),
        "block 84,940,008: transactions[1].raw_data.contract[0].parameter.value.amount is 8000000; expected 8, as in \
         the signed bytes"
    );
}

#[test]
fn result_that_the_root_does_not_have_is_refused() {
    let error = fails(&|entry| entry["block"]["transactions"][0]["ret"][0]["contractRet"] = json!("REVERT"));
    assert_eq!(error.mismatch.code(), "transactions_root");
    let error = fails(&|entry| entry["infos"][0]["receipt"]["result"] = json!("REVERT"));
    assert_eq!(error.path, "infos[0].receipt.result");
}

#[test]
fn infos_that_are_missing_doubled_or_foreign_are_refused() {
    assert_eq!(fails(&|entry| entry["infos"] = json!([])).mismatch.code(), "count");
    assert_eq!(fails(&|entry| entry["infos"] = json!({})).mismatch.code(), "malformed");
    let doubled = |entry: &mut Value| {
        let info = entry["infos"][0].clone();
        entry["infos"].as_array_mut().unwrap().push(info);
    };
    assert_eq!(fails(&doubled).path, "infos[1].id");
    let foreign = fails(&|entry| entry["infos"][0]["id"] = json!("00".repeat(32)));
    assert_eq!((foreign.mismatch.code(), foreign.path.as_str()), ("position", "infos[0].id"));
}

#[test]
fn header_signed_by_another_key_is_named() {
    let mut block = recorded(BLOCKS).remove(0);
    let other = recorded(BLOCKS).remove(1)["block_header"]["witness_signature"].clone();
    block["block_header"]["witness_signature"] = other;
    let header = verify_block(33_801_077, &block).unwrap();
    assert!(matches!(header.producer(), Producer::OtherKey(address) if address[0] == 0x41));
    assert_eq!(header.parts(), [Part::Hash]);
    block["block_header"]["witness_signature"] = json!("00");
    assert_eq!(verify_block(33_801_077, &block).unwrap_err().mismatch.code(), "signature");
}
