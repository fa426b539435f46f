//! Paths: worked by hand, limits, filters, refusals.

use headwater_engine::Reason;
use headwater_ledger::labels::Code;
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, ETHER, PAID, PAYERS, Town, USDT, batch, bitcoin, data, engine, labelled, person, reason, send,
    token,
};

const NAME: &str = "path";
const DAVE: u8 = 0x44;
const ERIN: u8 = 0x55;

fn search(source: u8, targets: &[u8], more: Value) -> Value {
    let targets: Vec<String> = targets.iter().map(|target| person(*target).to_string()).collect();
    let mut request = json!({"blockchain": "ethereum", "source": person(source).to_string(), "targets": targets});
    request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    request
}

/// Those that each path leads to, and its bottleneck.
fn found(report: &Value) -> Vec<(Vec<u8>, Option<f64>)> {
    let who = |address: &Value| u8::from_str_radix(&address.as_str().unwrap()[2..4], 16).unwrap();
    let path = |path: &Value| {
        let edges = path["edges"].as_array().unwrap();
        assert_eq!(path["hops"], edges.len());
        assert_eq!(path["target"], edges[edges.len() - 1]["to_address"]);
        (edges.iter().map(|edge| who(&edge["to_address"])).collect(), path["bottleneck_usd"].as_f64())
    };
    report["paths"].as_array().unwrap().iter().map(path).collect()
}

/// Alice pays Dave 1 ether over Carol and 2 over Bob and Erin; Bob paid Dave before he was paid. An ether is two dollars.
fn ways() -> Vec<headwater_ledger::facts::TransactionFacts> {
    vec![
        send(1, 1, 0, BOB, DAVE, 9 * ETHER),
        send(2, 2, 0, ALICE, BOB, 3 * ETHER),
        send(3, 3, 0, ALICE, CAROL, ETHER),
        send(4, 4, 0, CAROL, DAVE, 2 * ETHER),
        send(5, 5, 0, BOB, ERIN, 2 * ETHER),
        send(6, 6, 0, ERIN, DAVE, 4 * ETHER),
    ]
}

#[test]
fn paths_are_worked_by_hand() {
    let town = engine(vec![batch(ways())]);
    let report = data(&town, NAME, &search(ALICE, &[DAVE], json!({})));
    assert_eq!(found(&report), [(vec![BOB, ERIN, DAVE], Some(4.0)), (vec![CAROL, DAVE], Some(2.0))]);
    let edge = &report["paths"][0]["edges"][1];
    let expected = json!({
        "from_blockchain": "ethereum", "from_address": person(BOB).to_string(),
        "to_blockchain": "ethereum", "to_address": person(ERIN).to_string(), "depth": 2, "direction": "out",
        "symbol": "eth", "contract": null, "amount": "2", "amount_raw": "2000000000000000000", "amount_usd": 4.0,
        "tx_count": 1, "first_activity": 1050, "last_activity": 1050, "tx_hashes": [format!("0x{}", "05".repeat(32))],
        "taint_amount": null, "is_change": false, "cross_chain": null,
    });
    assert_eq!(*edge, expected);
    // Alice, Bob and Carol from her side, Dave, Erin, Bob and Carol from the other.
    assert_eq!(report["explored_nodes"], 7);
    assert_eq!((&report["truncated"], &report["truncation_reasons"]), (&json!(false), &json!([])));
    assert_eq!((&report["as_of_block"], &report["meta"]["source"]), (&json!(6), &json!("postings")));
}

#[test]
fn settings_narrow_the_search() {
    let town = engine(vec![batch(ways())]);
    let of = |more: Value| found(&data(&town, NAME, &search(ALICE, &[DAVE], more)));
    let (wide, short) = ((vec![BOB, ERIN, DAVE], Some(4.0)), (vec![CAROL, DAVE], Some(2.0)));
    assert_eq!(of(json!({"max_hops": 2})), std::slice::from_ref(&short));
    assert_eq!(of(json!({"max_hops": 1})), []);
    assert_eq!(of(json!({"k": 1})), std::slice::from_ref(&wide));
    assert_eq!(of(json!({"min_amount_usd": 4})), [wide]);
    assert_eq!(of(json!({"min_amount_usd": 4.01})), []);
    assert_eq!(of(json!({"end_time": 1045})), std::slice::from_ref(&short));
    assert_eq!(of(json!({"start_time": 1025})), [short]);
    assert_eq!(of(json!({"symbols": ["usdt"]})), []);
    assert_eq!(of(json!({"contracts": ["native"], "k": 1})).len(), 1);
    let whenever = of(json!({"time_ordered": false}));
    assert_eq!(whenever[0], (vec![BOB, DAVE], Some(6.0)), "Bob's payment of before");
}

/// Payments of one block follow one another by their place in it.
#[test]
fn order_within_a_block_counts() {
    let of = |first: u32, second: u32| {
        let mut sends = vec![send(1, 1, first, ALICE, BOB, ETHER), send(2, 1, second, BOB, CAROL, ETHER)];
        sends.sort_by_key(|send| send.index);
        found(&data(&engine(vec![batch(sends)]), NAME, &search(ALICE, &[CAROL], json!({}))))
    };
    assert_eq!(of(0, 1), [(vec![BOB, CAROL], Some(2.0))]);
    assert_eq!(of(1, 0), []);
}

#[test]
fn a_path_keeps_to_one_asset_and_ends_at_its_first_target() {
    let mut onward = send(2, 2, 0, BOB, USDT, 0);
    onward.movements = vec![token(0, USDT, BOB, CAROL, 2_000_000)];
    let sends = vec![send(1, 1, 0, ALICE, BOB, ETHER), onward, send(3, 3, 0, BOB, DAVE, ETHER)];
    let town = engine(vec![batch(sends)]);
    assert_eq!(found(&data(&town, NAME, &search(ALICE, &[CAROL], json!({})))), []);
    let both = found(&data(&town, NAME, &search(ALICE, &[DAVE, CAROL, DAVE], json!({}))));
    assert_eq!(both, [(vec![BOB, DAVE], Some(2.0))]);
    let first = found(&data(&town, NAME, &search(ALICE, &[DAVE, BOB], json!({}))));
    assert_eq!(first, [(vec![BOB], Some(2.0))], "beyond Bob the path is another one");
}

#[test]
fn no_path_leads_through_a_service() {
    let sends = vec![send(1, 1, 0, ALICE, BOB, ETHER), send(2, 2, 0, BOB, CAROL, ETHER)];
    let town = labelled(sends, &[(BOB, Code::Exchange), (CAROL, Code::Exchange)]);
    assert_eq!(found(&data(&town, NAME, &search(ALICE, &[CAROL], json!({})))), []);
    assert_eq!(found(&data(&town, NAME, &search(ALICE, &[BOB], json!({})))).len(), 1);
}

#[test]
fn bitcoin_paths_lead_from_inputs_to_outputs() {
    let request = json!({"blockchain": "bitcoin", "source": PAYERS[0], "targets": [PAID[1]]});
    let report = data(&bitcoin(), NAME, &request);
    assert_eq!((&report["paths"][0]["hops"], &report["meta"]["source"]), (&json!(1), &json!("utxo")));
    assert_eq!(report["paths"][0]["edges"][0]["amount_raw"], "873869");
}

#[test]
fn what_cannot_be_searched_is_refused_by_name() {
    let town: Town = engine(vec![batch(ways())]);
    let refused = |more: Value| reason(&town, NAME, &search(ALICE, &[DAVE], more));
    let field = |name: &str| Some(name.to_owned());
    assert_eq!(refused(json!({"targets": []})), (Reason::InvalidValue, field("targets")));
    let many = vec![person(BOB).to_string(); 21];
    assert_eq!(refused(json!({"targets": many})), (Reason::InvalidValue, field("targets")));
    let own = json!({"targets": [person(BOB).to_string(), person(ALICE).to_string()]});
    assert_eq!(refused(own), (Reason::InvalidValue, field("targets[1]")));
    assert_eq!(refused(json!({"targets": ["bob"]})), (Reason::InvalidAddress, field("targets[0]")));
    assert_eq!(refused(json!({"max_hops": 8})), (Reason::InvalidValue, field("max_hops")));
    assert_eq!(refused(json!({"max_hops": 0})), (Reason::InvalidValue, field("max_hops")));
    assert_eq!(refused(json!({"k": 21})), (Reason::InvalidValue, field("k")));
    assert_eq!(refused(json!({"min_amount_usd": -1})).1, field("min_amount_usd"));
    assert_eq!(refused(json!({"min_amount_usd": "1e99"})).1, field("min_amount_usd"));
    assert_eq!(refused(json!({"source": "0x12"})), (Reason::InvalidAddress, field("source")));
}
