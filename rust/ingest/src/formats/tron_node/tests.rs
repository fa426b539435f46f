use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, Claim, MovementFact, TransactionFacts};
use headwater_ledger::read::{CoverageTable, Ordinal, Status};
use headwater_types::{Address, Amount, Asset, Chain, Family, TxHash};

use crate::{ChainSource, Gathered, IngestError, IngestReport, Options, Silent, ingest_into};

const OWNER: &str = "41e552f6487585c2b58bc2c9bb4492bc1f17132cd0";
const OTHER: &str = "41b6381d9f70a4fbe5157e6a7a4a16fbbe9b2f13ca";
const USDT: &str = "a614f803b6fd780986a42c78ec9c7f77e6ded13c";
const TRANSFER: &str = "ddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef";

fn id(last: u8) -> String {
    format!("{}{last:02x}", "ab".repeat(31))
}

fn transaction(id: &str, kind: &str, value: &str, result: &str) -> String {
    let ret = if result.is_empty() { String::new() } else { format!(r#""ret":[{{"contractRet":"{result}"}}],"#) };
    format!(
        r#"{{{ret}"signature":["00"],"txID":"{id}","raw_data":{{"contract":[{{"parameter":{{"value":{value},"type_url":"x"}},"type":"{kind}"}}],"timestamp":1}},"contract_address":"{OTHER}"}}"#
    )
}

fn whole(number: u64, transactions: &[String]) -> String {
    let (own, parent) = (format!("{number:016x}{}", "0".repeat(48)), format!("{:016x}{}", number - 1, "0".repeat(48)));
    let list = if transactions.is_empty() {
        String::new()
    } else {
        format!(r#","transactions":[{}]"#, transactions.join(","))
    };
    format!(
        r#"{{"blockID":"{own}","block_header":{{"raw_data":{{"number":{number},"timestamp":1650176103000,"parentHash":"{parent}"}},"witness_signature":"00"}}{list}}}"#
    )
}

/// A block of one call.
pub(in super::super) fn block(number: u64, id: &str) -> String {
    let call = format!(r#"{{"owner_address":"{OWNER}","contract_address":"41{USDT}","data":"a9059cbb"}}"#);
    whole(number, &[transaction(id, "TriggerSmartContract", &call, "SUCCESS")])
}

fn sends(amount: u64) -> String {
    format!(r#"{{"amount":{amount},"owner_address":"{OWNER}","to_address":"{OTHER}"}}"#)
}

fn log(value: u8) -> String {
    let word = |address: &str| format!("{:0>64}", &address[2..]);
    let (from, to) = (word(OWNER), word(OTHER));
    format!(r#"{{"address":"{USDT}","topics":["{TRANSFER}","{from}","{to}"],"data":"{value:064x}"}}"#)
}

fn info(last: u8, more: &str) -> String {
    let id = id(last);
    format!(r#"{{"id":"{id}","blockNumber":7,"blockTimeStamp":1650176103000,"contractResult":[""]{more}}}"#)
}

fn read_all(files: &[(&str, String)]) -> Result<(IngestReport, Batch), IngestError> {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in files {
        std::fs::write(folder.path().join(name), content).unwrap();
    }
    let mut target = Gathered::default();
    let report = ingest_into(&[folder.path().to_owned()], &Options::default(), &mut target, &Silent, &Cancel::new())?;
    Ok((report, target.batches.remove(0)))
}

fn facts(batch: &Batch, last: u8) -> TransactionFacts {
    let id = TxHash::parse(Family::Tron, &id(last)).unwrap();
    let mut all = batch.transactions.iter().filter(|facts| facts.hash == id).cloned();
    let first = all.next().unwrap();
    all.fold(first.clone(), |held, facts| held.join(facts, Chain::TRON).unwrap())
}

fn account(text: &str) -> Option<Address> {
    Address::parse(Chain::TRON, text).ok()
}

#[test]
fn blocks_are_read_alone_in_ranges_and_in_lines() {
    let one = whole(7, &[transaction(&id(1), "TransferContract", &sends(5), "SUCCESS")]);
    let empty = whole(8, &[]);
    for form in [format!("{one}\n{empty}\n{{}}\n"), format!(r#"{{"block":[{one},{empty}]}}"#)] {
        let (report, batch) = read_all(&[("answer.json", form)]).unwrap();
        assert_eq!(
            (report.files[0].format.as_str(), report.files[0].chain_source),
            ("tron-node", ChainSource::Detected)
        );
        assert_eq!(batch.blocks.iter().map(|block| block.number).collect::<Vec<_>>(), [7, 8]);
        assert_eq!(batch.blocks[1].parent, batch.blocks[0].hash);
        let facts = facts(&batch, 1);
        let body = facts.body.unwrap();
        assert_eq!((body.from, body.to, body.value), (account(OWNER), account(OTHER), Amount::from(5)));
        assert_eq!((facts.index, facts.time.unwrap().secs()), (Some(0), 1_650_176_103));
        assert_eq!((facts.status, facts.fee), (Some(Status::Success), None));
    }
}

#[test]
fn what_each_kind_of_contract_moves() {
    let owner = format!(r#""owner_address":"{OWNER}""#);
    let all = [
        transaction(&id(1), "TransferContract", &sends(5), ""),
        transaction(&id(2), "TransferAssetContract", &sends(6), "SUCCESS"),
        transaction(&id(3), "FreezeBalanceV2Contract", &format!(r#"{{{owner},"frozen_balance":7}}"#), "SUCCESS"),
        transaction(
            &id(4),
            "TriggerSmartContract",
            &format!(r#"{{{owner},"contract_address":"{OTHER}","call_value":8,"data":"a9059cbb"}}"#),
            "OUT_OF_ENERGY",
        ),
        transaction(
            &id(5),
            "CreateSmartContract",
            &format!(r#"{{{owner},"new_contract":{{"call_value":9}}}}"#),
            "SUCCESS",
        ),
        transaction(
            &id(6),
            "TriggerSmartContract",
            &format!(r#"{{{owner},"contract_address":"{OTHER}","call_token_value":4,"token_id":1}}"#),
            "SUCCESS",
        ),
    ];
    let (report, batch) = read_all(&[("block.json", whole(7, &all))]).unwrap();
    let body = |last| {
        let body = facts(&batch, last).body.unwrap();
        (body.to, body.value.to_u128().unwrap())
    };
    assert_eq!(body(1), (account(OTHER), 5));
    assert_eq!(facts(&batch, 1).status, Some(Status::Success), "what is no call is only included when it worked");
    assert_eq!(body(2), (account(OTHER), 0));
    assert_eq!(body(3), (None, 0));
    assert_eq!((body(4), facts(&batch, 4).failure_reason.as_deref()), ((account(OTHER), 8), Some("OUT_OF_ENERGY")));
    assert_eq!((body(5), facts(&batch, 5).created), ((None, 9), account(OTHER)));
    assert_eq!(facts(&batch, 4).input, Some(vec![0xa9, 0x05, 0x9c, 0xbb]));
    assert_eq!(report.files[0].warnings, ["2 movements of TRC-10 tokens were left out: they have no contract"]);
}

#[test]
fn infos_are_joined_by_id_and_their_logs_are_counted_in_the_order_of_the_block() {
    let call = format!(r#"{{"owner_address":"{OWNER}","contract_address":"41{USDT}"}}"#);
    let block = whole(7, &[1, 2].map(|last| transaction(&id(last), "TriggerSmartContract", &call, "SUCCESS")));
    let inner = format!(
        r#","internal_transactions":[{{"caller_address":"{OWNER}","transferTo_address":"{OTHER}","callValueInfo":[{{"callValue":3}},{{"callValue":9,"tokenId":"1"}},{{}}],"note":"63616c6c"}},{{"caller_address":"{OWNER}","transferTo_address":"{OTHER}","callValueInfo":[{{"callValue":4}}],"rejected":true}}]"#
    );
    let first =
        info(1, &format!(r#","fee":345,"receipt":{{"result":"SUCCESS"}},"log":[{},{}]{inner}"#, log(1), log(2)));
    let second = info(2, &format!(r#","receipt":{{"result":"SUCCESS"}},"log":[{}]"#, log(3)));
    // The answer is out of order on purpose.
    let (report, batch) = read_all(&[("block.json", block), ("infos.json", format!("[{second},{first}]"))]).unwrap();
    let (first, second) = (facts(&batch, 1), facts(&batch, 2));
    assert_eq!((first.fee, second.fee), (Some(Amount::from(345)), Some(Amount::ZERO)));
    let rows = |facts: &TransactionFacts| -> Vec<_> {
        facts.movements.iter().map(|moved| (moved.kind, moved.ordinal, moved.amount.to_u128().unwrap())).collect()
    };
    let mut of_first = rows(&first);
    of_first.sort();
    assert_eq!(
        of_first,
        [
            (MovementFact::Internal, Ordinal::Indexed(0), 3),
            (MovementFact::Token, Ordinal::Indexed(0), 1),
            (MovementFact::Token, Ordinal::Indexed(1), 2),
        ]
    );
    assert_eq!(rows(&second), [(MovementFact::Token, Ordinal::Indexed(2), 3)]);
    let token = &second.movements[0];
    let usdt = account("TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t").unwrap();
    assert_eq!((token.asset, token.from, token.to), (Asset::Token(usdt), account(OWNER), account(OTHER)));
    assert!(batch.claims.contains(&Claim::Blocks { first: 7, last: 7, table: CoverageTable::Logs }));
    assert!(report.files.iter().any(|file| file.warnings.iter().any(|warning| warning.starts_with("1 movements"))));
}

#[test]
fn what_failed_moved_nothing_but_its_fee() {
    let failed =
        info(1, &format!(r#","fee":5,"result":"FAILED","receipt":{{"result":"OUT_OF_ENERGY"}},"log":[{}]"#, log(1)));
    let (_, batch) = read_all(&[("infos.json", format!("[{failed}]"))]).unwrap();
    let facts = facts(&batch, 1);
    assert_eq!((facts.status, facts.failure_reason.as_deref()), (Some(Status::Failed), Some("OUT_OF_ENERGY")));
    assert_eq!((facts.fee, facts.movements.len(), facts.logs.len()), (Some(Amount::from(5)), 0, 0));
    assert_eq!(batch.claims, [], "nothing tells how many transactions the block has");
}

#[test]
fn the_info_of_one_transaction_tells_no_place_of_its_logs() {
    let (report, batch) =
        read_all(&[("info.json", info(1, &format!(r#","withdraw_amount":5,"log":[{}]"#, log(1))))]).unwrap();
    let facts = facts(&batch, 1);
    assert!(matches!(facts.movements[0].ordinal, Ordinal::Unindexed(_)) && facts.logs.is_empty());
    assert_eq!(report.files[0].warnings.len(), 2);
}

#[test]
fn what_is_wrong_is_named_by_its_way() {
    let wrong = sends(5).replace(OTHER, "41zz");
    let block = whole(7, &[transaction(&id(1), "TransferContract", &wrong, "SUCCESS")]);
    let error = read_all(&[("block.json", format!(r#"{{"block":[{block}]}}"#))]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("block[0].transactions[0]") && error.contains("41zz"), "{error}");
}
