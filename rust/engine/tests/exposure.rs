//! Exposure: worked by hand, over edges and movements, limits, refusals.

use headwater_engine::{Reason, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::facts::TransactionFacts;
use headwater_ledger::labels::Code;
use serde_json::{Value, json};

use crate::town;
use crate::town::{ALICE, BOB, CAROL, ETHER, Town, USDT, about, data, labelled, person, reason, send, token, town};

const NAME: &str = "exposure";
const DAVE: u8 = 0x44;
const MIXER: u8 = 0x77;
const EXCHANGE: u8 = 0x88;

/// Kind, category, direction, dollars, share and hops of every row.
fn rows(report: &Value) -> Vec<(&str, &str, &str, f64, f64, u64)> {
    let of_kind = |kind: &'static str| {
        report[kind].as_array().unwrap().iter().map(move |row| {
            let text = |field: &str| row[field].as_str().unwrap();
            let number = |field: &str| row[field].as_f64().unwrap();
            (
                kind,
                text("category"),
                text("direction"),
                number("amount_usd"),
                number("share"),
                row["hops"].as_u64().unwrap(),
            )
        })
    };
    of_kind("direct").chain(of_kind("indirect")).collect()
}

fn nameless(report: &Value) -> Vec<(&str, &str, f64)> {
    report["unattributed"]
        .as_array()
        .unwrap()
        .iter()
        .map(|row| {
            (row["direction"].as_str().unwrap(), row["reason"].as_str().unwrap(), row["amount_usd"].as_f64().unwrap())
        })
        .collect()
}

/// A mixer pays Bob 3 ether, Carol pays him 1; he pays Alice 2. An exchange pays Alice 6. Alice pays the exchange 5 and Dave
/// 2, who pays the mixer 1. An ether is two dollars.
fn case() -> Vec<TransactionFacts> {
    vec![
        send(1, 1, 0, MIXER, BOB, 3 * ETHER),
        send(2, 2, 0, CAROL, BOB, ETHER),
        send(3, 3, 0, BOB, ALICE, 2 * ETHER),
        send(4, 4, 0, EXCHANGE, ALICE, 6 * ETHER),
        send(5, 5, 0, ALICE, EXCHANGE, 5 * ETHER),
        send(6, 6, 0, ALICE, DAVE, 2 * ETHER),
        send(7, 7, 0, DAVE, MIXER, ETHER),
        // Came too late to be part of what Bob paid.
        send(8, 8, 0, EXCHANGE, BOB, 50 * ETHER),
    ]
}

fn labels() -> Town {
    labelled(case(), &[(MIXER, Code::Mixer), (EXCHANGE, Code::Exchange)])
}

#[test]
fn direct_exposure_is_worked_by_hand() {
    let town = labels();
    let report = data(&town, NAME, &about(ALICE, json!({})));
    assert_eq!(
        rows(&report),
        [("direct", "exchange", "in", 12.0, 0.75, 1), ("direct", "exchange", "out", 10.0, 0.714_286, 1)]
    );
    assert_eq!(
        report["direct"][0]["top"],
        json!([{"address": person(EXCHANGE).to_string(), "entity_name": null, "amount_usd": 12.0, "disputed": null}])
    );
    assert_eq!((&report["total_usd"], &report["unattributed_usd"]), (&json!(30.0), &json!(8.0)));
    let mut rest = nameless(&report);
    rest.sort_by(|one, other| one.0.cmp(other.0));
    assert_eq!(rest, [("in", "depth_limit", 4.0), ("out", "depth_limit", 4.0)]);
    assert_eq!((&report["explored_nodes"], &report["truncated"]), (&json!(2), &json!(false)));
}

/// Of the 4 ether that Bob had, 3 were of the mixer: of his 2, which are 4 dollars, 3; less 5 % for the second hop.
#[test]
fn indirect_exposure_is_worked_by_hand() {
    let town = labels();
    let report = data(&town, NAME, &about(ALICE, json!({"max_hops": 2})));
    let indirect: Vec<_> = rows(&report).into_iter().filter(|row| row.0 == "indirect").collect();
    assert_eq!(
        indirect,
        [("indirect", "mixing", "in", 2.85, 0.178_125, 2), ("indirect", "mixing", "out", 1.9, 0.135_714, 2)]
    );
    let rest = nameless(&report);
    for expected in [("in", "depth_limit", 1.0), ("in", "decay", 0.15), ("out", "kept", 2.0), ("out", "decay", 0.1)] {
        assert!(rest.contains(&expected), "{expected:?} in {rest:?}");
    }
    let sum: f64 = rows(&report).iter().map(|row| row.3).sum::<f64>() + report["unattributed_usd"].as_f64().unwrap();
    assert!((sum - report["total_usd"].as_f64().unwrap()).abs() < 1e-9);
    assert_eq!(report["meta"]["source"], "postings");
}

/// A window that holds everything is read from movements: the answer is the same, and says so.
#[test]
fn direct_exposure_is_read_from_edges_where_they_can_answer() {
    let town = labels();
    let answer = |more: Value| {
        let built = &town.0[town.0.len() - 1];
        built.answer(endpoint(NAME).unwrap(), about(ALICE, more), &Cancel::new()).unwrap().value()
    };
    let (mut of_edges, mut of_postings) = (answer(json!({})), answer(json!({"start_time": 0})));
    let source = |report: &mut Value| report["meta"].as_object_mut().unwrap().remove("source").unwrap();
    assert_eq!((source(&mut of_edges), source(&mut of_postings)), (json!("edges"), json!("postings")));
    assert_eq!(of_edges, of_postings);
    assert_eq!(source(&mut answer(json!({"symbols": ["eth"]}))), "postings");
}

#[test]
fn the_gravest_label_names_an_address() {
    let sends =
        vec![send(1, 1, 0, BOB, ALICE, ETHER), send(2, 2, 0, CAROL, ALICE, ETHER), send(3, 3, 0, DAVE, ALICE, ETHER)];
    let labels = [(BOB, Code::Exchange), (BOB, Code::Sanction), (CAROL, Code::Deposit), (DAVE, Code::Treasury)];
    let report = data(&labelled(sends, &labels), NAME, &about(ALICE, json!({"direction": "in"})));
    let categories: Vec<_> = rows(&report).into_iter().map(|row| row.1).collect();
    assert_eq!(categories, ["exchange", "sanctions"], "a treasury names nobody");
}

#[test]
fn direction_time_and_assets_narrow_it() {
    let mut paid = send(9, 9, 0, ALICE, USDT, 0);
    paid.movements = vec![token(0, USDT, ALICE, MIXER, 30_000_000)];
    let mut sends = case();
    sends.push(paid);
    let town = labelled(sends, &[(MIXER, Code::Mixer), (EXCHANGE, Code::Exchange)]);
    let of = |more: Value| {
        let report = data(&town, NAME, &about(ALICE, more));
        let rows: Vec<_> = rows(&report).iter().map(|row| (row.1.to_owned(), row.2.to_owned(), row.3)).collect();
        (rows, report["total_usd"].clone())
    };
    let row = |category: &str, direction: &str, usd: f64| (category.to_owned(), direction.to_owned(), usd);
    let (mixing, exchange) = (row("mixing", "out", 30.0), row("exchange", "out", 10.0));
    assert_eq!(of(json!({"direction": "out"})), (vec![mixing.clone(), exchange.clone()], json!(44.0)));
    assert_eq!(of(json!({"direction": "out", "symbols": ["usdt"]})), (vec![mixing], json!(30.0)));
    assert_eq!(of(json!({"direction": "out", "end_time": 1075})), (vec![exchange], json!(14.0)));
}

#[test]
fn without_prices_nothing_is_known_and_without_movements_nothing_is_there() {
    let report = data(&town(), NAME, &about(0x99, json!({})));
    assert_eq!((&report["total_usd"], &report["unattributed_usd"]), (&json!(0.0), &json!(0.0)));
    let bare = town::over(vec![town::batch(case())], vec![], vec![]);
    let report = data(&bare, NAME, &about(ALICE, json!({})));
    assert_eq!((&report["total_usd"], &report["unattributed_usd"]), (&Value::Null, &Value::Null));
    assert_eq!(report["unpriced_count"], 4);
}

#[test]
fn what_cannot_be_asked_is_refused_by_name() {
    let town = town();
    let refused = |more: Value| reason(&town, NAME, &about(ALICE, more));
    let field = |name: &str| Some(name.to_owned());
    assert_eq!(refused(json!({"max_hops": 6})), (Reason::InvalidValue, field("max_hops")));
    assert_eq!(refused(json!({"max_hops": 0})), (Reason::InvalidValue, field("max_hops")));
    assert_eq!(refused(json!({"direction": "up"})).1, field("direction"));
    assert_eq!(refused(json!({"start_time": 2_000, "end_time": 1_000})).0, Reason::TimeRange);
}
