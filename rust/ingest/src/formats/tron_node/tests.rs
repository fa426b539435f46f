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
fn infos_join_by_id_and_count_logs_in_block_order() {
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

/// An internal transaction of the contract under a note, of an amount.
fn inner(note: &str, amount: u64) -> String {
    format!(
        r#"{{"caller_address":"{OWNER}","transferTo_address":"{OTHER}","callValueInfo":[{{"callValue":{amount}}}],"note":"{note}"}}"#
    )
}

#[test]
fn internal_transactions_of_stake_move_no_trx() {
    let notes = ["delegateResourceOfEnergy", "unDelegateResourceOfBandwidth", "freezeBalanceV2ForEnergy", "call"];
    for is_hex in [true, false] {
        let written = |note: &str| if is_hex { hex::encode(note) } else { note.to_owned() };
        let list: Vec<_> = notes.iter().zip(5..).map(|(note, amount)| inner(&written(note), amount)).collect();
        let info = info(1, &format!(r#","internal_transactions":[{}]"#, list.join(",")));
        // In the answer of a block, and alone.
        for answer in [format!("[{info}]"), info] {
            let (_, batch) = read_all(&[("infos.json", answer)]).unwrap();
            let [moved] = &facts(&batch, 1).movements[..] else { panic!("only the call moves") };
            let expected = (account(OWNER), account(OTHER), Amount::from(8), Ordinal::Indexed(0));
            assert_eq!((moved.from, moved.to, moved.amount, moved.ordinal), expected);
        }
    }
}

#[test]
fn reward_of_a_contract_comes_from_no_account() {
    let list = inner(&hex::encode("withdrawReward"), 6).replace(OTHER, OWNER);
    let answer = format!("[{}]", info(1, &format!(r#","internal_transactions":[{list}]"#)));
    let (_, batch) = read_all(&[("infos.json", answer)]).unwrap();
    let moved = &facts(&batch, 1).movements[0];
    assert_eq!((moved.from, moved.to, moved.amount), (None, account(OWNER), Amount::from(6)));
}

#[test]
fn unknown_notes_are_left_out_and_named() {
    let list = format!("{},{}", inner("lendResource", 5), inner("lendResource", 6));
    let answer = format!("[{}]", info(1, &format!(r#","internal_transactions":[{list}]"#)));
    let (report, batch) = read_all(&[("infos.json", answer)]).unwrap();
    assert!(facts(&batch, 1).movements.is_empty());
    let warning = &report.files[0].warnings[0];
    assert!(warning.starts_with("internal transactions with unknown notes") && warning.ends_with(": 2 lendResource"));
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
fn first_block_allocations_have_no_sender() {
    const NOBODY: &str = "3078303030303030303030303030303030303030303030";
    let allocation = |last, amount: &str, owner: &str| {
        let value = format!(r#"{{{amount}{owner}"to_address":"{OTHER}"}}"#);
        transaction(&id(last), "TransferContract", &value, "")
    };
    let owner = format!(r#""owner_address":"{NOBODY}","#);
    let all = [
        allocation(1, r#""amount":99000000000000000,"#, &owner),
        allocation(2, "", ""),
        allocation(3, r#""amount":-9223372036854775808,"#, &owner),
        allocation(4, r#""amount":7,"#, ""),
    ];
    let first = whole(1, &all).replace(r#""number":1,"timestamp":1650176103000,"#, "");
    let (report, batch) = read_all(&[("block.json", first)]).unwrap();
    let (file, stated) = (&report.files[0], &batch.transactions);
    assert_eq!((file.skipped, file.omitted.len(), file.omitted[0].rows), (0, 1, 1));
    assert!(file.omitted[0].reason.contains("negative allocations"), "{:?}", file.omitted);
    let bodies: Vec<_> = stated.iter().map(|facts| facts.body.unwrap()).collect();
    let values: Vec<_> = bodies.iter().map(|body| body.value.to_u128().unwrap()).collect();
    assert_eq!(values, [99_000_000_000_000_000, 0, 7]);
    assert!(bodies.iter().all(|body| body.from.is_none() && body.to == account(OTHER)));
    assert!(stated.iter().all(|facts| (facts.status, facts.fee) == (Some(Status::Success), None)));
    assert_eq!(stated.iter().map(|facts| facts.index).collect::<Vec<_>>(), [Some(0), Some(1), Some(3)]);
    let later = whole(7, &[allocation(1, r#""amount":7,"#, "")]);
    let error = read_all(&[("block.json", later)]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("owner_address"), "{error}");
}

/// A contract of the exchange or the market: its kind and its value beside the owner.
fn trade(last: u8, kind: &str, value: &str, result: &str) -> String {
    transaction(&id(last), kind, &format!(r#"{{"owner_address":"{OWNER}",{value}}}"#), result)
}

#[test]
fn trx_that_a_contract_of_the_exchange_names_is_counted() {
    let all = [
        trade(1, "ExchangeTransactionContract", r#""exchange_id":1,"token_id":"5f","quant":4"#, "SUCCESS"),
        trade(2, "ExchangeInjectContract", r#""exchange_id":1,"token_id":"_","quant":5"#, "SUCCESS"),
        trade(3, "ExchangeWithdrawContract", r#""exchange_id":1,"token_id":"5f","quant":6"#, "SUCCESS"),
        trade(
            4,
            "ExchangeCreateContract",
            r#""first_token_id":"31","first_token_balance":1,"second_token_id":"5f","second_token_balance":7"#,
            "SUCCESS",
        ),
        trade(5, "ExchangeTransactionContract", r#""exchange_id":1,"token_id":"5f","quant":8"#, "REVERT"),
    ];
    let (report, batch) = read_all(&[("block.json", whole(7, &all))]).unwrap();
    let moved = |last| {
        let facts = facts(&batch, last);
        let rows = facts.movements.iter().map(|moved| (moved.from, moved.to, moved.amount.to_u128().unwrap()));
        rows.collect::<Vec<_>>()
    };
    let owner = account(OWNER);
    assert_eq!(moved(1), [(owner, None, 4)]);
    assert_eq!(moved(2), [(owner, None, 5)]);
    assert_eq!(moved(3), [(None, owner, 6)]);
    assert_eq!(moved(4), [(owner, None, 7)]);
    assert_eq!(moved(5), []);
    assert_eq!(report.files[0].warnings, ["4 movements of TRC-10 tokens were left out: they have no contract"]);
}

#[test]
fn trx_that_no_contract_tells_is_warned_of_by_kind() {
    let all = [
        trade(1, "ExchangeTransactionContract", r#""exchange_id":1,"token_id":"31","quant":4"#, "SUCCESS"),
        trade(2, "ExchangeTransactionContract", r#""exchange_id":1,"token_id":"31","quant":4"#, "SUCCESS"),
        trade(3, "MarketSellAssetContract", r#""sell_token_id":"5f","sell_token_quantity":1,"buy_token_id":"31""#, ""),
        trade(4, "MarketSellAssetContract", r#""sell_token_id":"32","sell_token_quantity":1,"buy_token_id":"31""#, ""),
        trade(5, "MarketCancelOrderContract", r#""order_id":"00""#, ""),
    ];
    let (report, batch) = read_all(&[("block.json", whole(7, &all))]).unwrap();
    assert!(batch.transactions.iter().all(|facts| facts.movements.is_empty()));
    let warning = report.files[0].warnings.last().unwrap();
    let expected = "2 ExchangeTransactionContract, 1 MarketCancelOrderContract, 1 MarketSellAssetContract";
    assert!(warning.ends_with(expected), "{warning}");
}

#[test]
fn shielded_transfers_need_no_owner() {
    let from = format!(r#"{{"transparent_from_address":"{OWNER}","from_amount":5}}"#);
    let to = format!(r#"{{"transparent_to_address":"{OTHER}","to_amount":5}}"#);
    let all =
        [1, 2].map(|last| transaction(&id(last), "ShieldedTransferContract", if last == 1 { &from } else { &to }, ""));
    let (report, batch) = read_all(&[("block.json", whole(7, &all))]).unwrap();
    assert_eq!((facts(&batch, 1).body.unwrap().from, facts(&batch, 2).body), (account(OWNER), None));
    assert_eq!(report.files[0].warnings, ["2 movements of TRC-10 tokens were left out: they have no contract"]);
}

#[test]
fn rewards_go_to_the_sender_where_the_block_was_read() {
    let block = whole(7, &[trade(1, "WithdrawBalanceContract", r#""x":1"#, "SUCCESS")]);
    let infos = format!("[{}]", info(1, r#","withdraw_amount":5000"#));
    let (report, batch) = read_all(&[("block.json", block), ("infos.json", infos.clone())]).unwrap();
    let stated = &facts(&batch, 1).movements;
    assert_eq!(stated.len(), 1);
    assert_eq!((stated[0].from, stated[0].to, stated[0].amount), (None, account(OWNER), Amount::from(5000)));
    assert!(report.files.iter().all(|file| file.warnings.is_empty()));
    let (report, batch) = read_all(&[("infos.json", infos)]).unwrap();
    assert!(batch.transactions[0].movements.is_empty());
    assert!(report.files[0].warnings[0].starts_with("1 withdrawals of rewards"), "{:?}", report.files[0].warnings);
}

#[test]
fn what_is_wrong_is_named_by_its_way() {
    let wrong = sends(5).replace(OTHER, "41zz");
    let block = whole(7, &[transaction(&id(1), "TransferContract", &wrong, "SUCCESS")]);
    let error = read_all(&[("block.json", format!(r#"{{"block":[{block}]}}"#))]).map(|_| ()).unwrap_err().to_string();
    assert!(error.contains("block[0].transactions[0]") && error.contains("41zz"), "{error}");
}
