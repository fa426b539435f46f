//! Change in small transactions, worked by hand.

use headwater_engine::{Error, ErrorKind, Reason};
use headwater_ledger::facts::{
    Batch, BlockFacts, Claim, InputFacts, OutPoint, OutputFacts, TransactionFacts, UtxoFacts,
};
use headwater_ledger::read::{CoverageTable, ScriptType};
use headwater_testkit::{address, pay_to};
use headwater_types::{Chain, Family};
use serde_json::{Value, json};

use crate::town;
use crate::town::{Town, ask, data, engine, hash, reason, time};

const NAME: &str = "btc/change-address";

fn spend(number: u8, index: u32) -> InputFacts {
    InputFacts { sequence: Some(0xffff_fffd), ..InputFacts::new(OutPoint { hash: hash(number), index }, None) }
}

fn payment(inputs: Vec<InputFacts>, outputs: &[(u64, u64)]) -> UtxoFacts {
    let outputs = outputs.iter().map(|&(number, amount)| pay_to(number, amount)).collect();
    UtxoFacts { version: Some(2), lock_time: Some(0), ..UtxoFacts::new(false, inputs, outputs) }
}

/// Transactions one a block, numbered from 1, and complete.
fn chain(transactions: Vec<UtxoFacts>) -> Town {
    let mut batch = Batch::new(Chain::BITCOIN);
    for (number, utxo) in (1..).zip(transactions) {
        let block = u64::from(number);
        batch.blocks.push(BlockFacts { number: block, hash: None, parent: None, time: time(block) });
        batch.transactions.push(TransactionFacts {
            time: Some(time(block)),
            index: Some(0),
            utxo: Some(utxo),
            ..TransactionFacts::new(hash(number), block)
        });
    }
    let last = batch.blocks.len() as u64;
    batch.claims.push(Claim::Blocks { first: 1, last, table: CoverageTable::Transactions });
    engine(vec![batch])
}

fn coinbase(owner: u64, amount: u64) -> UtxoFacts {
    UtxoFacts::new(true, vec![], vec![pay_to(owner, amount)])
}

/// Account 1 pays 0.05 BTC to account 2, which was paid before, and keeps the rest at a new address. The change is spent
/// by a transaction of the same version and lock time, the payment by one of another version.
fn town() -> Town {
    let other_version = |utxo: UtxoFacts| UtxoFacts { version: Some(1), ..utxo };
    chain(vec![
        coinbase(1, 9_000_001),
        coinbase(2, 70_000),
        payment(vec![spend(1, 0)], &[(2, 5_000_000), (3, 3_999_001)]),
        payment(vec![spend(3, 1)], &[(4, 3_998_001)]),
        other_version(payment(vec![spend(3, 0)], &[(5, 4_999_001)])),
    ])
}

fn request(number: u8) -> Value {
    json!({"txid": hash(number).display(Family::Utxo)})
}

#[test]
fn an_answer_says_which_output_and_by_which_rules() {
    let found = data(&town(), NAME, &request(3));
    // fresh_output 3.17, 10^6 3.75, version 4.18 and equal fees of 1,000 1.53: 0.6 · 12.63 = 7.578, and
    // 1 / (1 + exp(-7.578)) = 0.9995.
    let change = json!({
        "index": 1, "address": address(Chain::BITCOIN, 3).to_string(), "amount": "0.03999001", "amount_raw": "3999001",
        "confidence": 0.9995, "level": "high",
    });
    assert_eq!(found["change"], change);
    assert_eq!((&found["reason"], &found["txid"]), (&Value::Null, &request(3)["txid"]));
    assert_eq!((&found["block_number"], &found["timestamp"]), (&json!(3), &json!(1030)));
    assert_eq!((&found["inputs_count"], &found["outputs_count"]), (&json!(1), &json!(2)));
    assert_eq!(
        found["coinjoin"],
        json!({"detected": false, "type": null, "possible_coinjoin": false, "confidence": 0.0})
    );
    let codes: Vec<&str> =
        found["heuristics"].as_array().unwrap().iter().map(|vote| vote["code"].as_str().unwrap()).collect();
    let expected = [
        "fresh_output",
        "legacy",
        "one_time_change",
        "power_of_ten_2",
        "power_of_ten_3",
        "power_of_ten_4",
        "power_of_ten_5",
        "power_of_ten_6",
        "version",
        "absolute_fee",
    ];
    assert_eq!(codes, expected);
    assert_eq!(found["heuristics"][0], json!({"code": "fresh_output", "indexes": [1], "weight": 3.17}));
    let paid = &found["outputs"][0];
    assert_eq!(
        (&paid["is_change"], &paid["confidence"], &paid["heuristics"]),
        (&json!(false), &json!(0.0005), &json!([]))
    );
    assert_eq!((&paid["amount"], &paid["script_type"]), (&json!("0.05"), &json!("p2pkh")));
    let kept = &found["outputs"][1];
    assert_eq!((&kept["is_change"], &kept["confidence"]), (&json!(true), &json!(0.9995)));
    assert_eq!(kept["heuristics"], json!(expected));
}

#[test]
fn rules_that_say_nothing_are_listed_with_their_reason() {
    let found = data(&town(), NAME, &request(3));
    let abstained: Vec<_> = found["abstained"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rule| (rule["code"].as_str().unwrap(), rule["reason"].as_str().unwrap()))
        .collect();
    assert!(abstained.contains(&("optimal_change", "other_form")), "{abstained:?}");
    assert!(abstained.contains(&("relative_fee", "property_unknown")), "no weight is known: {abstained:?}");
    let last = data(&town(), NAME, &request(4));
    assert_eq!((&last["reason"], &last["outputs"][0]["confidence"]), (&json!("single_output"), &json!(0.0)));
}

#[test]
fn every_reason_for_no_answer_is_said() {
    let batch: Vec<(u64, u64)> = (20..31).map(|number| (number, 10_001 + number)).collect();
    let engine = chain(vec![
        coinbase(1, 100_003),
        coinbase(2, 100_002),
        coinbase(3, 1_000_001),
        coinbase(4, 50_000),
        payment(
            vec![spend(1, 0), spend(2, 0), spend(4, 0)],
            &[(10, 40_000), (11, 40_000), (12, 40_000), (13, 60_002), (14, 60_003)],
        ),
        payment(vec![spend(3, 0)], &batch),
        payment(vec![spend(5, 3)], &[(13, 30_001), (13, 29_001)]),
        payment(vec![spend(5, 4)], &[(40, 30_001), (41, 29_001)]),
    ]);
    let found = |number: u8| {
        let found = data(&engine, NAME, &request(number));
        assert_eq!(found["change"], Value::Null);
        found
    };
    assert_eq!(found(1)["reason"], "coinbase");
    assert_eq!(found(5)["reason"], "coinjoin");
    assert_eq!(
        found(5)["coinjoin"],
        json!({"detected": true, "type": "joinmarket", "possible_coinjoin": false, "confidence": 0.49})
    );
    assert_eq!((&found(5)["heuristics"], &found(5)["outputs"][0]["confidence"]), (&json!([]), &json!(0.0)));
    assert_eq!(found(6)["reason"], "batch");
    assert_eq!(found(7)["reason"], "all_outputs_to_inputs");
    assert_eq!(found(8)["reason"], "no_consensus");
}

#[test]
fn a_premix_transaction_is_named_and_no_coinjoin() {
    let note = OutputFacts { owner: None, amount: 0, script: ScriptType::OpReturn, data: None };
    let mut premix = payment(vec![spend(1, 0)], &[(10, 1_000_300), (11, 1_000_300), (12, 50_000), (13, 900_000)]);
    premix.outputs.push(note);
    let found = data(&chain(vec![coinbase(1, 4_000_000), premix]), NAME, &request(2));
    assert_eq!(
        found["coinjoin"],
        json!({"detected": false, "type": "whirlpool_tx0", "possible_coinjoin": false, "confidence": 0.6})
    );
    assert_eq!(found["outputs"][4]["script_type"], "op_return");
}

#[test]
fn unknown_inputs_are_said() {
    let engine =
        chain(vec![coinbase(2, 5), payment(vec![spend(99, 0), spend(98, 1)], &[(2, 5_000_000), (3, 3_999_001)])]);
    let answer = ask(&engine, NAME, &request(2)).unwrap();
    let codes: Vec<_> = answer.warnings.iter().map(|warning| warning.code.as_str()).collect();
    assert_eq!(codes, ["inputs_unknown"]);
    let found = answer.value();
    assert_eq!(found["change"]["index"], 1, "that the address is new and the amount odd is known anyway");
    let reuse = found["abstained"].as_array().unwrap().iter().find(|rule| rule["code"] == "address_reuse").unwrap();
    assert_eq!(reuse["reason"], "inputs_unknown");
}

#[test]
fn an_id_is_sixty_four_hex_digits_of_a_transaction_that_is_held() {
    let engine = town();
    let long = format!("0x{}", "1".repeat(64));
    for text in ["", "12", &"g".repeat(64), &"1".repeat(63), &"1".repeat(65), &long] {
        let refused = reason(&engine, NAME, &json!({"txid": text}));
        assert_eq!(refused, (Reason::InvalidHash, Some("txid".to_owned())), "{text}");
    }
    assert_eq!(reason(&engine, NAME, &json!({})), (Reason::MissingField, Some("txid".to_owned())));
    let upper = request(3)["txid"].as_str().unwrap().to_uppercase();
    assert_eq!(data(&engine, NAME, &json!({"txid": format!(" {upper} ")}))["txid"], request(3)["txid"]);
    match ask(&engine, NAME, &request(77)) {
        Err(Error { kind: ErrorKind::NotFound, field, message, .. }) => {
            assert_eq!(field.as_deref(), Some("txid"));
            assert!(message.contains("is held of bitcoin"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn transactions_of_other_chains_are_not_found() {
    let ethereum = town::town_with_a_label_on(Chain::BITCOIN);
    let answer = ask(&ethereum, NAME, &request(1));
    assert!(matches!(answer, Err(Error { kind: ErrorKind::NotFound, .. })), "{answer:?}");
}

/// Account 1 pays 0.05 BTC to account 2 and keeps the rest at account 3, which pays 0.03 BTC to account 4 and keeps the rest at
/// account 5. Accounts 2 and 4 were paid before. Then accounts 11 to 13 make a `CoinJoin`.
fn payments() -> Town {
    let joint = [(21, 1_000_000), (22, 1_000_000), (23, 1_000_000), (31, 499_001), (32, 599_003), (33, 699_007)];
    chain(vec![
        coinbase(1, 9_000_001),
        coinbase(2, 70_000),
        coinbase(4, 60_000),
        payment(vec![spend(1, 0)], &[(2, 5_000_000), (3, 3_999_001)]),
        payment(vec![spend(4, 1)], &[(4, 3_000_000), (5, 998_001)]),
        coinbase(11, 1_500_001),
        coinbase(12, 1_600_003),
        coinbase(13, 1_700_007),
        payment(vec![spend(6, 0), spend(7, 0), spend(8, 0)], &joint),
    ])
}

fn account(number: u64) -> String {
    address(Chain::BITCOIN, number).to_string()
}

/// Received and sent by account, in the order of the answer, and the number of `CoinJoins`.
fn listed(town: &Town, number: u64, more: Value) -> (Vec<(String, Value, Value)>, Value) {
    let mut request = json!({"address": account(number)});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let report = data(town, "counterparty/list", &request);
    let row = |row: &Value| {
        (row["address"].as_str().unwrap().to_owned(), row["received_amount"].clone(), row["sent_amount"].clone())
    };
    (report["datas"].as_array().unwrap().iter().map(row).collect(), report["coinjoin_count"].clone())
}

#[test]
fn a_list_of_counterparties_leaves_out_change() {
    let town = payments();
    let row = |number, received, sent| (account(number), json!(received), json!(sent));
    assert_eq!(listed(&town, 1, json!({})), (vec![row(2, "0", "0.05")], json!(0)));
    let with_change = vec![row(2, "0", "0.05"), row(3, "0", "0.03999001")];
    assert_eq!(listed(&town, 1, json!({"include_change": "true"})), (with_change, json!(0)));
    // What account 3 received is change of account 1.
    assert_eq!(listed(&town, 3, json!({})), (vec![row(4, "0", "0.03")], json!(0)));
    let with_change = vec![row(1, "0.03999001", "0"), row(4, "0", "0.03"), row(5, "0", "0.00998001")];
    assert_eq!(listed(&town, 3, json!({"include_change": "true"})).0, with_change);
    assert_eq!(listed(&town, 5, json!({})).0, []);
    let answer = ask(&town, "counterparty/list", &json!({"address": account(1)})).unwrap();
    assert!(answer.warnings.iter().all(|warning| warning.code != "not_built"), "{:?}", answer.warnings);
    // The ranking of v1 attributes every transaction.
    let ranking = data(&town, "counterparty", &json!({"blockchain": "bitcoin", "address": account(1)}));
    assert_eq!(ranking["datas"].as_array().unwrap().len(), 2);
}

#[test]
fn a_coinjoin_makes_no_pairs_and_is_counted() {
    let town = payments();
    let found = data(&town, NAME, &request(9));
    assert_eq!(
        found["coinjoin"],
        json!({"detected": true, "type": "joinmarket", "possible_coinjoin": false, "confidence": 0.49})
    );
    for choice in [json!({}), json!({"include_change": "true"})] {
        assert_eq!(listed(&town, 11, choice.clone()), (vec![], json!(1)));
        assert_eq!(listed(&town, 21, choice), (vec![], json!(1)));
    }
    assert_eq!(listed(&town, 11, json!({"direction": "in"})).1, 0, "its own transaction is one that went out");
    assert_eq!(listed(&town, 11, json!({"end_time": "1080"})).1, 0);
    let ranking = data(&town, "counterparty", &json!({"blockchain": "bitcoin", "address": account(11)}));
    assert_eq!(ranking["datas"].as_array().unwrap().len(), 6, "v1 attributes every transaction");
}

/// Account and depth of nodes; payer, paid, depth and whether it is change of edges; account, hops and reason of ends.
type Seen = (Vec<(u64, i64)>, Vec<(u64, u64, i64, bool)>, Vec<(u64, i64, String)>);

fn traced(number: u64, settings: Value) -> Seen {
    let report = data(
        &payments(),
        "trace",
        &json!({"blockchain": "bitcoin", "address": account(number), "track_setting": settings}),
    );
    let who = |text: &Value| (1..40).find(|number| *text == json!(account(*number))).unwrap();
    let list = |field: &str| report[field].as_array().unwrap().clone();
    let whole = |number: &Value| number.as_i64().unwrap();
    let nodes = list("nodes").iter().map(|node| (who(&node["address"]), whole(&node["depth"]))).collect();
    let edge = |edge: &Value| {
        let ends = (who(&edge["from_address"]), who(&edge["to_address"]));
        (ends.0, ends.1, whole(&edge["depth"]), edge["is_change"].as_bool().unwrap())
    };
    let end =
        |end: &Value| (who(&end["address"]), whole(&end["hops"]), end["stop_reason"].as_str().unwrap().to_owned());
    (nodes, list("edges").iter().map(edge).collect(), list("ends").iter().map(end).collect())
}

fn sorted<T: Ord>(mut list: Vec<T>) -> Vec<T> {
    list.sort();
    list
}

#[test]
fn a_trace_follows_change_without_a_hop() {
    let (nodes, edges, ends) = traced(1, json!({"outward_depth": 1, "inward_depth": 0}));
    assert_eq!(nodes[0], (1, 0), "the start comes first");
    assert_eq!(sorted(nodes), [(1, 0), (2, 1), (3, 0), (4, 1), (5, 0)]);
    assert_eq!(sorted(edges), [(1, 2, 1, false), (1, 3, 0, true), (3, 4, 1, false), (3, 5, 0, true)]);
    let last = |number| (number, 1, "depth_limit".to_owned());
    assert_eq!(sorted(ends), [last(2), last(4), (5, 0, "no_outflow".to_owned())]);
}

#[test]
fn a_trace_inward_follows_change_without_a_hop() {
    let (nodes, edges, _) = traced(5, json!({"outward_depth": 0, "inward_depth": 1}));
    assert_eq!(nodes[0], (5, 0));
    assert_eq!(sorted(nodes), [(1, 0), (3, 0), (5, 0)]);
    assert_eq!(sorted(edges), [(1, 3, 0, true), (3, 5, 0, true)]);
    let (nodes, edges, _) = traced(4, json!({"outward_depth": 0, "inward_depth": 1}));
    assert_eq!((nodes, edges), (vec![(4, 0), (3, -1)], vec![(3, 4, -1, false)]), "the last hop is not looked through");
    let (nodes, edges, _) = traced(4, json!({"outward_depth": 0, "inward_depth": 2}));
    assert_eq!(sorted(nodes), [(1, -1), (3, -1), (4, 0)]);
    assert_eq!(sorted(edges), [(1, 3, -1, true), (3, 4, -1, false)]);
}

#[test]
fn a_path_says_which_hops_are_change() {
    let request = json!({"blockchain": "bitcoin", "source": account(1), "targets": [account(4)]});
    let report = data(&payments(), "path", &request);
    let edges: Vec<_> = report["paths"][0]["edges"].as_array().unwrap().iter().map(|edge| &edge["is_change"]).collect();
    assert_eq!(edges, [true, false]);
}
