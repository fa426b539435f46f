//! Traces: worked by hand, stops, filters, methods, refusals, and where all money of an address went.

use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::{Error, ErrorKind, QueryEngine, Reason, endpoint};
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::store::in_memory;
use headwater_ledger::{Cancel, Memory};
use headwater_testkit::{Chainlet, address, label_import};
use headwater_types::Chain;
use serde_json::{Value, json};

use crate::town::{
    ALICE, BOB, CAROL, ETHER, FAKE, PAID, PAYERS, Town, USDT, about, ask, batch, bitcoin, data, engine, half_known,
    listing, person, price, reason, send, token, town, transactions,
};

const NAME: &str = "trace";
const DAVE: u8 = 0x44;

fn track(who: u8, settings: Value) -> Value {
    about(who, json!({"track_setting": settings}))
}

fn outward(who: u8, depth: u8) -> Value {
    track(who, json!({"outward_depth": depth, "inward_depth": 0}))
}

fn text(who: u8) -> String {
    person(who).to_string()
}

/// Who it is, by the number that its address repeats.
fn who(address: &Value) -> u8 {
    u8::from_str_radix(&address.as_str().unwrap()[2..4], 16).unwrap()
}

/// Sender, receiver, hop, symbol and smallest units of each edge, in the order of the answer.
fn edges(report: &Value) -> Vec<(u8, u8, i64, String, u128)> {
    let of = |edge: &Value| {
        let ends = (who(&edge["from_address"]), who(&edge["to_address"]));
        let (symbol, raw) = (edge["symbol"].as_str().unwrap().to_owned(), edge["amount_raw"].as_str().unwrap());
        (ends.0, ends.1, edge["depth"].as_i64().unwrap(), symbol, raw.parse().unwrap())
    };
    report["edges"].as_array().unwrap().iter().map(of).collect()
}

/// Address, hops and reason of each end.
fn ends(report: &Value) -> Vec<(u8, u64, String)> {
    let of = |end: &Value| {
        let reason = end["stop_reason"].as_str().unwrap().to_owned();
        (who(&end["address"]), end["hops"].as_u64().unwrap(), reason)
    };
    report["ends"].as_array().unwrap().iter().map(of).collect()
}

/// Reasons for which a trace was cut.
fn cuts(report: &Value) -> Vec<&str> {
    let reasons: Vec<_> =
        report["truncation_reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect();
    assert_eq!(report["truncated"], !reasons.is_empty());
    reasons
}

fn edge(from: u8, to: u8, depth: i64, symbol: &str, raw: u128) -> (u8, u8, i64, String, u128) {
    (from, to, depth, symbol.to_owned(), raw)
}

/// Checks of every address and asset that what came is what became of it; gives how many were checked.
fn check_sums(report: &Value) -> usize {
    let mut checked = 0;
    for node in report["nodes"].as_array().unwrap() {
        for asset in node["assets"].as_array().unwrap() {
            let of = |field: &str| asset[field].as_str().unwrap().parse::<u128>().unwrap();
            let became = ["out_amount", "stayed", "pruned", "filtered", "fee"].map(of).iter().sum::<u128>();
            assert_eq!(of("in_amount"), became, "{}: {asset}", node["address"]);
            assert!(of("taint_amount") <= of("in_amount"), "{asset}");
            checked += 1;
        }
    }
    checked
}

/// Alice paid Bob 1.5 ether ($3) and 100 USDT; Bob paid back 0.25 ether ($0.5), Carol 2 ether ($4).
#[test]
fn trace_is_worked_by_hand() {
    let report = data(&town(), NAME, &about(ALICE, json!({})));
    let expected = [
        edge(ALICE, BOB, 1, "usdt", 100_000_000),
        edge(CAROL, ALICE, -1, "eth", 2 * ETHER),
        edge(ALICE, BOB, 1, "eth", 3 * ETHER / 2),
        edge(BOB, ALICE, -1, "eth", ETHER / 4),
        // Bob was paid before: what he paid back is also the second hop outward, and it is of what Alice paid him.
        edge(ALICE, BOB, -2, "eth", 3 * ETHER / 2),
        edge(BOB, ALICE, 2, "eth", ETHER / 4),
    ];
    assert_eq!(edges(&report), expected);
    let first = &report["edges"][0];
    let expected = json!({
        "from_blockchain": "ethereum", "from_address": text(ALICE),
        "to_blockchain": "ethereum", "to_address": text(BOB), "depth": 1, "direction": "out", "symbol": "usdt",
        "contract": text(USDT), "amount": "100", "amount_raw": "100000000", "amount_usd": 100.0, "tx_count": 1,
        "first_activity": 1020, "last_activity": 1020, "tx_hashes": [format!("0x{}", "02".repeat(32))],
        "taint_amount": "100", "is_change": false, "cross_chain": null,
    });
    assert_eq!(*first, expected);
    let node = |place: usize| {
        let node = &report["nodes"][place];
        (
            who(&node["address"]),
            node["depth"].as_i64().unwrap(),
            node["in_amount_usd"].clone(),
            node["counterparties"].clone(),
        )
    };
    assert_eq!(node(1), (BOB, 1, json!(103.0), json!(1)));
    assert_eq!(node(2), (CAROL, -1, Value::Null, json!(1)));
    assert_eq!(report["nodes"][2]["out_amount_usd"], 4.0);
    assert_eq!(
        [0, 1, 2].map(|node: usize| report["nodes"][node]["stayed_share"].as_f64()),
        [None, Some(0.995_146), None]
    );
    assert_eq!((node(0).0, node(0).1, &report["nodes"][0]["out_amount_usd"]), (ALICE, 0, &json!(103.0)));
    // Nobody paid Carol: the trace ends at her, with 4 of the 4.5 dollars that came to Alice.
    assert_eq!(ends(&report), [(CAROL, 1, "no_outflow".to_owned())]);
    assert_eq!((&report["ends"][0]["amount_usd"], &report["ends"][0]["share"]), (&json!(4.0), &json!(0.888_889)));
    let division = |direction: &str, parts: [f64; 3]| {
        let [ends, returned, stayed] = parts;
        json!({
            "direction": direction, "unit": "usd", "ends": ends, "returned": returned, "stayed": stayed,
            "pruned": 0.0, "filtered": 0.0, "fees": 0.0,
        })
    };
    let summary = json!({
        "node_count": 3, "edge_count": 6, "outward_amount_usd": 103.0, "inward_amount_usd": 4.5, "unpriced_count": 0,
        // Half a dollar came back; what Bob still holds is 102.5 of the 103.
        "divisions": [division("out", [0.0, 0.004_854, 0.995_146]), division("in", [0.888_889, 0.111_111, 0.0])],
    });
    assert_eq!(report["summary"], summary);
    assert_eq!(report["circles"], json!([[text(ALICE), text(BOB)]]), "Bob paid back");
    assert!(cuts(&report).is_empty());
    assert_eq!(report["as_of_block"], 6);
    let settings = json!({
        "start_time": null, "end_time": null, "outward_depth": 2, "inward_depth": 2, "limit": 10, "accumulate_amount": true,
        "max_nodes": 500, "method": "haircut", "time_ordered": true, "bridge_chains": null,
        "labels": ["exchange", "mixer", "bridge", "dex", "mining_pool"], "max_counterparties": 10_000,
        "stop_at_contract": false,
    });
    assert_eq!(report["settings"], settings);
    let meta = json!({"query_duration_ms": 0, "cost_class": "heavy", "cached": false, "source": "postings"});
    assert_eq!(report["meta"], meta);
}

/// Of Alice's ether 1.5 left before any came, so that they and the fee of 21,000 gas were there before; 2.25 came later.
#[test]
fn what_became_of_each_asset_is_worked_by_hand() {
    let report = data(&town(), NAME, &outward(ALICE, 2));
    assert_eq!(check_sums(&report), 6, "three assets of Alice and of Bob");
    let fee = 21_000 * 1_000_000_000_u128;
    let of = |node: usize, symbol: &str| {
        let assets = report["nodes"][node]["assets"].as_array().unwrap();
        let asset = assets.iter().find(|asset| asset["symbol"] == symbol).unwrap();
        ["in_amount", "out_amount", "stayed", "filtered", "fee"]
            .map(|field| asset[field].as_str().unwrap().parse::<u128>().unwrap())
    };
    assert_eq!(of(0, "eth"), [15 * ETHER / 4 + fee, 3 * ETHER / 2, 9 * ETHER / 4, 0, fee]);
    // 7 USDT were minted for her.
    assert_eq!(of(0, "usdt"), [107_000_000, 100_000_000, 7_000_000, 0, 0]);
    assert_eq!(of(1, "eth"), [3 * ETHER / 2, ETHER / 4, 5 * ETHER / 4, 0, 0]);
    assert_eq!(of(1, "usdt"), [100_000_000, 0, 100_000_000, 0, 0]);
    // Bob's token that no registry has is not followed.
    let fake = report["nodes"][1]["assets"].as_array().unwrap().iter().find(|asset| asset["contract"] == text(FAKE));
    let fake = fake.unwrap();
    assert_eq!((&fake["filtered"], &fake["out_amount"]), (&json!("5000000"), &json!("0")));
}

#[test]
fn what_came_is_what_became_of_it_under_every_rule() {
    let mut checked = 0;
    let mut check = |town: &Town, mut request: Value| {
        for method in ["none", "haircut", "fifo", "poison"] {
            for (outward, inward) in [(3, 0), (0, 3), (2, 2)] {
                for time_ordered in if method == "none" { &[true, false][..] } else { &[true] } {
                    request["track_setting"] = json!({
                        "outward_depth": outward, "inward_depth": inward, "method": method, "time_ordered": time_ordered,
                        "limit": 1, "accumulate_amount": time_ordered,
                    });
                    checked += check_sums(&data(town, NAME, &request));
                }
            }
        }
    };
    let town = town();
    for who in [ALICE, BOB, CAROL] {
        check(&town, about(who, json!({})));
    }
    for town in [bitcoin(), half_known()] {
        for address in [PAYERS[0], PAYERS[1], PAID[0]] {
            check(&town, json!({"blockchain": "bitcoin", "address": address}));
        }
    }
    assert!(checked > 300, "{checked}");
}

/// 1,480,000 satoshis of 3,980,000 were the first payer's: of outputs of 1,325,000 and 2,350,000 his share is that part,
/// and the rest of what he spent is his share of the fee.
#[test]
fn bitcoin_trace_shares_outputs_and_fee_between_payers() {
    let request = json!({"blockchain": "bitcoin", "address": PAYERS[0], "track_setting": {"inward_depth": 0}});
    let report = data(&bitcoin(), NAME, &request);
    let raw = |value: &Value| value.as_str().unwrap().parse::<u128>().unwrap();
    let mut paid: Vec<_> = report["edges"]
        .as_array()
        .unwrap()
        .iter()
        .map(|edge| (edge["to_address"].as_str().unwrap().to_owned(), raw(&edge["amount_raw"])))
        .collect();
    paid.sort();
    // 492,713.57 and 873,869.35.
    assert_eq!(paid, [(PAID[0].to_owned(), 492_714), (PAID[1].to_owned(), 873_869)]);
    let asset = &report["nodes"][0]["assets"][0];
    assert_eq!(raw(&asset["fee"]), 1_480_000 - 492_714 - 873_869);
    assert_eq!((raw(&asset["in_amount"]), raw(&asset["stayed"])), (1_480_000, 0));
    assert_eq!(report["meta"]["source"], "utxo");
}

/// Both payers pay the first address.
#[test]
fn hubs_of_bitcoin_are_those_of_too_many_counterparties() {
    let end = |most: u64| {
        let request = json!({
            "blockchain": "bitcoin", "address": PAYERS[0], "track_setting": {"inward_depth": 0},
            "stop_track_condition": {"max_counterparties": most},
        });
        let report = data(&bitcoin(), NAME, &request);
        let ends = report["ends"].as_array().unwrap().clone();
        ends.into_iter().find(|end| end["address"] == PAID[0]).unwrap()["stop_reason"].clone()
    };
    assert_eq!([end(1), end(2)], ["hub", "no_outflow"]);
}

/// Alice's 10 ether, of which Bob, who holds 30 of his own, pays 20 to Carol and 20 to Dave.
fn mixed() -> Town {
    let sends = vec![
        send(1, 1, 0, CAROL, BOB, 30 * ETHER),
        send(2, 2, 0, ALICE, BOB, 10 * ETHER),
        send(3, 3, 0, BOB, CAROL, 20 * ETHER),
        send(4, 4, 0, BOB, DAVE, 20 * ETHER),
    ];
    engine(vec![batch(sends)])
}

#[test]
fn methods_share_traced_money_as_worked_by_hand() {
    let town = mixed();
    let traced = |method: &str| {
        let request = track(ALICE, json!({"inward_depth": 0, "method": method}));
        let report = data(&town, NAME, &request);
        let mut paid: Vec<_> = report["edges"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|edge| edge["depth"] == 2)
            .map(|edge| (who(&edge["to_address"]), edge["taint_amount"].clone()))
            .collect();
        paid.sort_by_key(|(to, _)| *to);
        let node =
            |who: u8| report["nodes"].as_array().unwrap().iter().find(|node| node["address"] == text(who)).cloned();
        (paid, node(DAVE))
    };
    let (paid, dave) = traced("haircut");
    assert_eq!(paid, [(CAROL, json!("5")), (DAVE, json!("5"))], "a quarter of each payment");
    let dave = dave.unwrap();
    // 5 ether at two dollars; a quarter of the 20.
    assert_eq!((&dave["taint_amount"], &dave["taint_ratio"]), (&json!("10"), &json!(0.25)));
    // Bob's own 30 leave first: 20 to Carol, and 10 of what Dave gets.
    assert_eq!(traced("fifo").0, [(DAVE, json!("10"))]);
    assert_eq!(traced("poison").0, [(CAROL, json!("20")), (DAVE, json!("20"))]);
    let (paid, dave) = traced("none");
    assert_eq!(paid, [(CAROL, Value::Null), (DAVE, Value::Null)]);
    assert_eq!(dave.unwrap()["taint_ratio"], Value::Null);
}

#[test]
fn money_is_followed_after_it_came_unless_order_is_declined() {
    let sends = vec![
        send(1, 1, 0, BOB, CAROL, 5 * ETHER),
        send(2, 2, 0, ALICE, BOB, 3 * ETHER),
        send(3, 3, 0, BOB, DAVE, 2 * ETHER),
    ];
    let town = engine(vec![batch(sends)]);
    let ordered = [edge(ALICE, BOB, 1, "eth", 3 * ETHER), edge(BOB, DAVE, 2, "eth", 2 * ETHER)];
    assert_eq!(edges(&data(&town, NAME, &outward(ALICE, 2))), ordered);
    let request = track(ALICE, json!({"inward_depth": 0, "time_ordered": false}));
    let found = edges(&data(&town, NAME, &request));
    assert!(found.contains(&edge(BOB, CAROL, 2, "eth", 5 * ETHER)), "{found:?}");
}

#[test]
fn swap_is_followed_into_the_other_asset() {
    const POOL: u8 = 0x77;
    let mut swap = send(2, 2, 0, BOB, POOL, ETHER);
    swap.movements = vec![token(0, USDT, POOL, BOB, 2_000_000)];
    let mut onward = send(3, 3, 0, BOB, USDT, 0);
    onward.movements = vec![token(0, USDT, BOB, DAVE, 1_500_000)];
    let others = send(4, 4, 0, POOL, CAROL, ETHER);
    let town = engine(vec![batch(vec![send(1, 1, 0, ALICE, BOB, ETHER), swap, onward, others])]);
    let report = data(&town, NAME, &outward(ALICE, 3));
    let expected =
        [edge(ALICE, BOB, 1, "eth", ETHER), edge(BOB, POOL, 2, "eth", ETHER), edge(BOB, DAVE, 2, "usdt", 1_500_000)];
    assert_eq!(edges(&report), expected, "what leaves the pool is other people's money");
    let pool = report["nodes"].as_array().unwrap().iter().find(|node| node["address"] == text(POOL)).unwrap();
    assert_eq!(pool["stop_reason"], "contract");
    // The ether was worth two dollars when it left Alice, and Dave got three quarters of what it brought.
    assert_eq!(ends(&report), [(DAVE, 2, "no_outflow".to_owned())]);
    let end = &report["ends"][0];
    assert_eq!((&end["share"], &end["amount_usd"], &end["direction"]), (&json!(0.75), &json!(1.5), &json!("out")));
    let division = json!([{
        "direction": "out", "unit": "usd", "ends": 0.75, "returned": 0.0, "stayed": 0.25, "pruned": 0.0, "filtered": 0.0, "fees": 0.0,
    }]);
    assert_eq!(report["summary"]["divisions"], division);
    check_sums(&report);
}

#[test]
fn money_without_a_price_is_shared_by_its_amount() {
    // Nobody imported a price of ether: 3 of 4 go to Carol, and Bob keeps one.
    let sends = vec![send(1, 1, 0, ALICE, BOB, 4 * ETHER), send(2, 2, 0, BOB, CAROL, 3 * ETHER)];
    let unpriced = Town(vec![QueryEngine::new(in_memory(vec![batch(sends)], vec![], vec![]).unwrap())]);
    let report = data(&unpriced, NAME, &outward(ALICE, 3));
    let end = &report["ends"][0];
    assert_eq!((who(&end["address"]), &end["amount_usd"], &end["share"]), (CAROL, &Value::Null, &json!(0.75)));
    let assets = json!([{"symbol": "eth", "contract": null, "amount": "3", "amount_raw": (3 * ETHER).to_string()}]);
    assert_eq!(end["assets"], assets);
    assert_eq!(report["summary"]["divisions"][0]["unit"], "eth");
}

#[test]
fn each_movement_has_an_edge_where_they_are_not_added_up() {
    let sends = vec![send(1, 1, 0, ALICE, BOB, ETHER), send(2, 2, 0, ALICE, BOB, 2 * ETHER)];
    let town = engine(vec![batch(sends)]);
    let request = |accumulate: bool| track(ALICE, json!({"inward_depth": 0, "accumulate_amount": accumulate}));
    let whole = data(&town, NAME, &request(true));
    assert_eq!(edges(&whole), [edge(ALICE, BOB, 1, "eth", 3 * ETHER)]);
    let row = &whole["edges"][0];
    assert_eq!(
        (&row["tx_count"], &row["first_activity"], &row["last_activity"]),
        (&json!(2), &json!(1010), &json!(1020))
    );
    // The largest first.
    assert_eq!(row["tx_hashes"], json!([2, 1].map(|number| format!("0x{}", format!("{number:02}").repeat(32)))));
    let each = data(&town, NAME, &request(false));
    assert_eq!(edges(&each), [2, 1].map(|count| edge(ALICE, BOB, 1, "eth", count * ETHER)));
}

#[test]
fn filters_and_times_leave_out_movements() {
    let town = town();
    let only = |more: Value| {
        let mut request = outward(ALICE, 1);
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        data(&town, NAME, &request)
    };
    let at_least =
        |amount: &str| json!({"filter_criterias": [{"symbol": "usdt", "min_value": amount, "max_value": "1000"}]});
    let (usdt, ether) = (edge(ALICE, BOB, 1, "usdt", 100_000_000), edge(ALICE, BOB, 1, "eth", 3 * ETHER / 2));
    assert_eq!(edges(&only(at_least("50"))), [usdt, ether.clone()]);
    // The range is of USDT alone.
    let report = only(at_least("500"));
    assert_eq!(edges(&report), [ether]);
    check_sums(&report);
    let late = json!({"track_setting": {"outward_depth": 1, "inward_depth": 0, "start_time": 1015}});
    let report = only(late);
    assert_eq!(edges(&report), [edge(ALICE, BOB, 1, "usdt", 100_000_000)]);
    // The ether that left before is not followed, and counted.
    let assets = report["nodes"][0]["assets"].as_array().unwrap();
    let ether = assets.iter().find(|asset| asset["symbol"] == "eth").unwrap();
    assert_eq!(ether["filtered"], (3 * ETHER / 2).to_string());
    check_sums(&report);
}

#[test]
fn why_a_walk_ends_at_an_address_is_said() {
    // Bob pays Carol outside of the time, Carol nobody; Dave's money is a token that no registry has.
    let town = mixed();
    let request = track(ALICE, json!({"inward_depth": 0, "end_time": 1025}));
    assert_eq!(ends(&data(&town, NAME, &request)), [(BOB, 1, "time_range".to_owned())]);
    let report = data(&town, NAME, &outward(ALICE, 1));
    assert_eq!((ends(&report), cuts(&report)), (vec![(BOB, 1, "depth_limit".to_owned())], vec!["depth_limit"]));
    let mut fake = send(2, 2, 0, BOB, FAKE, 0);
    fake.movements = vec![token(0, FAKE, BOB, DAVE, 1_000_000)];
    let town = engine(vec![batch(vec![send(1, 1, 0, ALICE, BOB, ETHER), fake])]);
    assert_eq!(ends(&data(&town, NAME, &outward(ALICE, 2))), [(BOB, 1, "filtered".to_owned())]);
}

#[test]
fn hubs_and_narrow_limits_end_a_walk() {
    let sends = vec![
        send(1, 1, 0, ALICE, BOB, 6 * ETHER),
        send(2, 2, 0, ALICE, CAROL, ETHER),
        send(3, 3, 0, BOB, DAVE, 3 * ETHER),
        send(4, 4, 0, BOB, CAROL, 2 * ETHER),
    ];
    let town = engine(vec![batch(sends)]);
    let of = |settings: Value, stop: Value| {
        let request = about(ALICE, json!({"track_setting": settings, "stop_track_condition": stop}));
        data(&town, NAME, &request)
    };
    let hub = of(json!({"inward_depth": 0}), json!({"max_counterparties": 2}));
    assert_eq!(ends(&hub)[0], (BOB, 1, "hub".to_owned()));
    assert!(!edges(&hub).iter().any(|edge| edge.0 == BOB));
    let narrow = of(json!({"inward_depth": 0, "limit": 1}), json!({}));
    assert_eq!(edges(&narrow), [edge(ALICE, BOB, 1, "eth", 6 * ETHER), edge(BOB, DAVE, 2, "eth", 3 * ETHER)]);
    assert!(cuts(&narrow).contains(&"fanout_limit"));
    let pruned = |report: &Value, node: usize| report["nodes"][node]["assets"][0]["pruned"].clone();
    assert_eq!((pruned(&narrow, 0), pruned(&narrow, 1)), (json!(ETHER.to_string()), json!((2 * ETHER).to_string())));
    let few = of(json!({"inward_depth": 0, "max_nodes": 2}), json!({}));
    assert_eq!((few["nodes"].as_array().unwrap().len(), cuts(&few)), (2, vec!["max_nodes"]));
    check_sums(&narrow);
    check_sums(&few);
}

#[test]
fn labels_and_contracts_end_a_walk_where_they_are_asked_to() {
    let store = |code: Code, level: Level| {
        let sends = vec![send(1, 1, 0, ALICE, BOB, ETHER), send(2, 2, 0, BOB, CAROL, ETHER)];
        let mut store = in_memory(vec![batch(sends)], vec![listing(USDT, "USDT")], vec![price("eth", 2.0)]).unwrap();
        let claim = headwater_testkit::claim(Chain::ETHEREUM, person(BOB), code, level, "list");
        std::sync::Arc::get_mut(&mut store).unwrap().import_labels(label_import("list", vec![claim], 0)).unwrap();
        Town(vec![QueryEngine::new(store)])
    };
    let stopped = |town: &Town, stop: Value| {
        let mut request = outward(ALICE, 2);
        request["stop_track_condition"] = stop;
        ends(&data(town, NAME, &request))
    };
    let exchange = store(Code::Exchange, Level::Forensic);
    assert_eq!(stopped(&exchange, json!({})), [(BOB, 1, "label".to_owned())]);
    let report = data(&exchange, NAME, &outward(ALICE, 2));
    assert_eq!(report["nodes"][1]["labels"], json!(["exchange"]));
    assert_eq!((&report["ends"][0]["label"], &report["ends"][0]["share"]), (&json!("exchange"), &json!(1.0)));
    let through = [(CAROL, 2, "depth_limit".to_owned())];
    assert_eq!(stopped(&exchange, json!({"labels": []})), through, "no label ends the walk");
    assert_eq!(stopped(&exchange, json!({"labels": ["MIXER"]})), through);
    assert_eq!(stopped(&exchange, json!({"labels": ["Exchange"]})), [(BOB, 1, "label".to_owned())]);
    // The hot wallet of an exchange is an exchange, and a code of its own.
    let hot = store(Code::ExchangeHotWallet, Level::Forensic);
    assert_eq!(stopped(&hot, json!({})), [(BOB, 1, "label".to_owned())]);
    assert_eq!(stopped(&hot, json!({"labels": ["exchange_hot_wallet"]})), [(BOB, 1, "label".to_owned())]);
    assert_eq!(stopped(&hot, json!({"labels": ["mixer"]})), through);
    // Code was seen at the contract of USDT, to which a payment goes.
    let mut called = send(2, 2, 0, USDT, CAROL, ETHER);
    called.movements = vec![token(0, USDT, ALICE, BOB, 1)];
    let town = engine(vec![batch(vec![send(1, 1, 0, ALICE, USDT, ETHER), called])]);
    let of = |at_contract: bool| stopped(&town, json!({"stop_at_contract": at_contract, "labels": []}));
    assert!(of(true).contains(&(USDT, 1, "contract".to_owned())), "{:?}", of(true));
    assert!(!of(false).contains(&(USDT, 1, "contract".to_owned())), "{:?}", of(false));
}

#[test]
fn bounds_are_named_when_they_are_passed() {
    let town = town();
    let of = |field: &str| Some(format!("track_setting.{field}"));
    for (field, value) in [
        ("outward_depth", json!(8)),
        ("inward_depth", json!(-1)),
        ("limit", json!(0)),
        ("limit", json!(101)),
        ("max_nodes", json!(5_001)),
    ] {
        let request = track(ALICE, json!({field: value}));
        assert_eq!(reason(&town, NAME, &request), (Reason::InvalidValue, of(field)), "{request}");
    }
    let error = ask(&town, NAME, &track(ALICE, json!({"outward_depth": 8}))).unwrap_err();
    assert!(error.message.contains("from 0 to 7"), "{}", error.message);
    let both = track(ALICE, json!({"outward_depth": 0, "inward_depth": 0}));
    assert_eq!(reason(&town, NAME, &both), (Reason::InvalidValue, of("outward_depth")));
    let stop = |condition: Value| about(ALICE, json!({"stop_track_condition": condition}));
    let field = |name: &str| Some(format!("stop_track_condition.{name}"));
    let hub = stop(json!({"max_counterparties": 0}));
    assert_eq!(reason(&town, NAME, &hub), (Reason::InvalidValue, field("max_counterparties")));
    let unknown = stop(json!({"labels": ["exchange", "good_guy"]}));
    assert_eq!(reason(&town, NAME, &unknown), (Reason::InvalidValue, field("labels[1]")));
    let error = ask(&town, NAME, &unknown).unwrap_err();
    assert!(error.message.contains("good_guy") && error.message.contains("docs/labels.md"), "{}", error.message);
    let method = track(ALICE, json!({"method": "lifo"}));
    assert_eq!(reason(&town, NAME, &method).1, of("method"));
    for method in ["haircut", "fifo", "poison"] {
        let unordered = track(ALICE, json!({"method": method, "time_ordered": false}));
        assert_eq!(reason(&town, NAME, &unordered), (Reason::InvalidValue, of("method")), "{method}");
    }
    let unordered = data(&town, NAME, &track(ALICE, json!({"time_ordered": false})));
    assert_eq!(unordered["settings"]["method"], "none");
    let range = track(ALICE, json!({"start_time": 2_000, "end_time": 1_000}));
    assert_eq!(reason(&town, NAME, &range).0, Reason::TimeRange);
    let chain = about(ALICE, json!({"blockchain": "solana"}));
    assert_eq!(reason(&town, NAME, &chain), (Reason::UnsupportedChain, Some("blockchain".to_owned())));
    let other = about(ALICE, json!({"address": PAID[0]}));
    assert_eq!(reason(&town, NAME, &other), (Reason::InvalidAddress, Some("address".to_owned())));
}

#[test]
fn trace_report_reads_back_from_its_json() {
    let settings = json!({"method": "fifo", "bridge_chains": ["ethereum"], "start_time": 0});
    for answer in [data(&town(), NAME, &track(ALICE, settings)), data(&mixed(), NAME, &outward(ALICE, 1))] {
        let report: TraceReport = serde_json::from_value(answer.clone()).unwrap();
        assert_eq!(serde_json::to_value(&report).unwrap(), answer);
    }
}

#[test]
fn address_without_movements_has_a_trace_of_itself() {
    let report = data(&town(), NAME, &about(0x99, json!({})));
    assert_eq!((report["nodes"].as_array().unwrap().len(), &report["nodes"][0]["stop_reason"]), (1, &Value::Null));
    assert_eq!((edges(&report).len(), ends(&report).len(), cuts(&report).len()), (0, 0, 0));
    assert_eq!(report["summary"]["outward_amount_usd"], Value::Null);
}

#[test]
fn trace_beyond_its_memory_says_how_to_ask_for_less() {
    let chain = (0..3_000).fold(Chainlet::ethereum(), |chain, number| chain.transfer(1, 2 + number % 300, 1 + number));
    let engine = QueryEngine::new(in_memory(vec![chain.batch()], vec![], vec![]).unwrap());
    let memory = Memory::new(1 << 30, 128 << 10);
    let request = json!({"blockchain": "ethereum", "address": address(Chain::ETHEREUM, 1).to_string()});
    let Error { message, kind, .. } = engine.answer(endpoint(NAME).unwrap(), &request, &memory.token()).unwrap_err();
    assert!(message.contains("fewer hops"), "{message}");
    assert_eq!(kind, ErrorKind::InvalidInput(Reason::QueryTooLarge));
    assert_eq!(memory.usage().taken, 0);
}

#[test]
fn cancelled_trace_ends() {
    let cancel = Cancel::new();
    cancel.cancel();
    let town = engine(vec![batch(transactions())]);
    let ended = town.0[0].answer(endpoint(NAME).unwrap(), about(ALICE, json!({})), &cancel);
    assert_eq!(ended.unwrap_err().kind, ErrorKind::Cancelled);
}
