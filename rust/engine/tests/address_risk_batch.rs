//! The risk of several addresses at once: order, errors of items, what is paid, tables.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use headwater_engine::{
    AnyRow, ClaimProvider, ErrorKind, Intelligence, Pricing, QueryEngine, Reason, SinkClosed, TableHead, TableSink,
    endpoint,
};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Claim, Code, Level};
use headwater_ledger::store::{MemoryStore, in_memory};
use headwater_testkit::label_import;
use headwater_types::{Address, Chain};
use serde_json::{Value, json};

use crate::town::{ALICE, BOB, CAROL, Town, USDT, batch, data, listing, person, price, reason, transactions};

const BATCH: &str = "address-risk/batch";

fn claim(address: Address, code: Code, level: Level) -> Claim {
    headwater_testkit::claim(Chain::ETHEREUM, address, code, level, "ofac")
}

/// The town, in which Carol is under sanctions.
fn store() -> Arc<MemoryStore> {
    let prices = vec![price("eth", 2.0), price("usdt", 1.0)];
    let mut store = in_memory(vec![batch(transactions())], vec![listing(USDT, "USDT")], prices).unwrap();
    let listed = vec![claim(person(CAROL), Code::Sanction, Level::SanctionsList)];
    Arc::get_mut(&mut store).unwrap().import_labels(label_import("ofac", listed, 1100)).unwrap();
    store
}

fn engine() -> QueryEngine {
    QueryEngine::new(store())
}

fn town() -> Town {
    Town(vec![engine()])
}

fn query(who: u8) -> Value {
    json!({"blockchain": "ethereum", "address": person(who).to_string()})
}

fn mixed() -> Value {
    json!({"queries": [
        query(CAROL),
        {"blockchain": "ethereum", "address": "0x12"},
        query(ALICE),
        {"blockchain": "solana", "address": "x"},
        {"blockchain": "EVM", "address": person(CAROL).to_string()},
        query(CAROL),
    ]})
}

#[test]
fn results_are_those_of_single_calls_in_the_order_of_the_request() {
    let town = town();
    let report = data(&town, BATCH, &mixed());
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 6);
    for (place, who) in [(0, CAROL), (2, ALICE), (5, CAROL)] {
        let mut single = data(&town, "address-risk", &query(who));
        single["error"] = Value::Null;
        assert_eq!(results[place], single, "{place}");
    }
    assert_eq!((&results[0]["composite_score"], &results[0]["decision"]["gated"]), (&json!(100.0), &json!(true)));
    assert_eq!((&results[4]["blockchain"], &results[4]["error"]), (&json!("evm"), &Value::Null));
}

#[test]
fn item_that_cannot_be_assessed_has_an_error_and_echoes_what_was_asked() {
    let report = data(&town(), BATCH, &mixed());
    for (place, blockchain, address, named) in
        [(1, "ethereum", "0x12", "queries[1].address"), (3, "solana", "x", "queries[3].blockchain")]
    {
        let result = report["results"][place].as_object().unwrap();
        assert_eq!((&result["blockchain"], &result["address"]), (&json!(blockchain), &json!(address)));
        assert!(result["error"].as_str().unwrap().starts_with(named), "{result:?}");
        let empty = ["composite_score", "risk_level", "dimensions", "decision", "factors", "meta"];
        assert!(empty.iter().all(|field| result[*field].is_null()), "{result:?}");
    }
    let long = json!({"queries": [{"blockchain": "x".repeat(5000), "address": "y".repeat(5000)}]});
    let text = data(&town(), BATCH, &long).to_string();
    assert!(text.len() < 1500, "what is sent back does not grow with what was sent: {}", text.len());
}

#[test]
fn chain_that_is_not_held_is_the_error_of_its_item() {
    let tron = json!({"blockchain": "tron", "address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"});
    let request = json!({"queries": [query(ALICE), tron]});
    let results = data(&town(), BATCH, &request)["results"].clone();
    let expected = "queries[1].blockchain: the store contains neither rows nor labels of tron; it contains ethereum";
    assert_eq!((&results[0]["error"], &results[1]["error"]), (&Value::Null, &json!(expected)));
    let answer = engine().answer(endpoint(BATCH).unwrap(), &request, &Cancel::new()).unwrap();
    assert_eq!(answer.paid_items, Some(1));
}

#[test]
fn malformed_list_is_refused_whole() {
    let town = town();
    let place = |field: &str| Some(field.to_owned());
    for (request, expected) in [
        (json!({}), (Reason::MissingField, place("queries"))),
        (json!({"queries": []}), (Reason::EmptyList, place("queries"))),
        (json!({"queries": vec![query(BOB); 51]}), (Reason::TooManyItems, place("queries"))),
        (json!({"queries": "x"}), (Reason::InvalidType, place("queries"))),
        (json!({"queries": [query(BOB), "x"]}), (Reason::InvalidType, place("queries[1]"))),
        (json!({"queries": [{"blockchain": "ethereum"}]}), (Reason::MissingField, place("queries[0].address"))),
        (json!({"queries": [query(BOB)], "symbols": ["usdt"]}), (Reason::UnknownField, place("symbols"))),
        (
            json!({"queries": [query(BOB), {"blockchain": "ethereum", "address": "x", "contracts": []}]}),
            (Reason::UnknownField, place("queries[1].contracts")),
        ),
        (json!({"queries": [query(BOB)], "third_party": "maybe"}), (Reason::InvalidValue, place("third_party"))),
    ] {
        assert_eq!(reason(&town, BATCH, &request), expected, "{request}");
    }
    assert_eq!(data(&town, BATCH, &json!({"queries": vec![query(BOB); 50]}))["results"].as_array().unwrap().len(), 50);
}

#[test]
fn price_is_per_item_that_succeeded() {
    let batch = endpoint(BATCH).unwrap();
    assert_eq!(batch.pricing(), Pricing::PerItem { list: "queries", max_items: 50 });
    assert_eq!(batch.query(mixed()).max_credits(), 30);
    let engine = engine();
    let small = json!({"queries": [{"blockchain": "evm", "address": person(BOB).to_string()}, {"blockchain": "", "address": ""}]});
    for (request, paid) in [(mixed(), 4), (small, 1)] {
        let answer = engine.answer(batch, &request, &Cancel::new()).unwrap();
        assert_eq!((answer.paid_items, batch.credits(answer.paid_items)), (Some(paid), 5 * paid));
    }
    let single = engine.answer(endpoint("address-risk").unwrap(), query(BOB), &Cancel::new()).unwrap();
    assert_eq!((single.paid_items, endpoint("address-risk").unwrap().credits(single.paid_items)), (None, 5));
}

#[derive(Default)]
struct Gathered(TableHead, Vec<Value>);

impl TableSink for Gathered {
    fn begin(&mut self, head: TableHead) -> Result<(), SinkClosed> {
        self.0 = head;
        Ok(())
    }

    fn row(&mut self, row: &dyn AnyRow) -> Result<(), SinkClosed> {
        self.1.push(serde_json::to_value(row).unwrap());
        Ok(())
    }
}

#[test]
fn table_has_one_compact_row_per_query() {
    let (engine, batch, mut sink) = (engine(), endpoint(BATCH).unwrap(), Gathered::default());
    engine.table(&batch.query(mixed()), &Cancel::new(), &mut sink).unwrap();
    let Gathered(head, rows) = sink;
    assert_eq!((head.paid_items, rows.len()), (Some(4), 6));
    let columns: Vec<String> = batch.columns().unwrap().into_iter().map(|column| column.name).collect();
    let expected = "blockchain,address,assessment,assessment_reasons,composite_score,risk_level,gated,gate_reason,context,\
                    context_confidence,intel_score,behavior_score,graph_score,graph_reason,error";
    assert_eq!(columns.join(","), expected);
    let report = data(&Town(vec![engine]), BATCH, &mixed());
    for (row, result) in rows.iter().zip(report["results"].as_array().unwrap()) {
        for field in ["blockchain", "address", "composite_score", "risk_level", "error"] {
            assert_eq!(row[field], result[field]);
        }
        assert_eq!(row["assessment"], result["meta"]["assessment"]);
        assert_eq!(row["gate_reason"], result["decision"]["gate_reason"]);
        assert_eq!(row["behavior_score"], result["dimensions"]["behavior"]["score"]);
        assert_eq!(row["graph_reason"], result["meta"]["graph_reason"]);
    }
    assert!(rows[1]["error"].is_string() && rows[1]["graph_score"].is_null());
}

/// Says nothing, and cancels the query when it was asked so many times.
struct Silent {
    asked: AtomicUsize,
    cancel: Cancel,
    is_broken: bool,
}

impl ClaimProvider for Silent {
    fn name(&self) -> &'static str {
        "silent"
    }

    fn level(&self) -> Level {
        Level::TrustedProvider
    }

    fn claims(&self, _: &str, _: &Address) -> Result<Vec<Claim>, String> {
        if self.asked.fetch_add(1, Ordering::SeqCst) == 2 {
            self.cancel.cancel();
        }
        if self.is_broken { Err("it is broken".to_owned()) } else { Ok(Vec::new()) }
    }
}

#[test]
fn cancelled_batch_ends_between_two_items() {
    let cancel = Cancel::new();
    let provider = Arc::new(Silent { asked: AtomicUsize::new(0), cancel: cancel.clone(), is_broken: false });
    let intelligence = Intelligence { provider: Some(Arc::clone(&provider) as _), ..Intelligence::default() };
    let engine = engine().with_intelligence(intelligence);
    let request = json!({"queries": vec![query(BOB); 50], "third_party": "force"});
    let error = engine.answer(endpoint(BATCH).unwrap(), &request, &cancel).unwrap_err();
    assert_eq!((error.kind, provider.asked.load(Ordering::SeqCst)), (ErrorKind::Cancelled, 3));
}

#[test]
fn answer_with_a_provider_is_made_anew_each_time_though_it_failed() {
    for is_broken in [false, true] {
        let provider = Arc::new(Silent { asked: AtomicUsize::new(10), cancel: Cancel::new(), is_broken });
        let intelligence = Intelligence { provider: Some(Arc::clone(&provider) as _), ..Intelligence::default() };
        let engine = engine().with_intelligence(intelligence);
        let ask = |third_party: &str| {
            let evm = json!({"blockchain": "evm", "address": person(BOB).to_string()});
            let request = json!({"queries": [evm], "third_party": third_party});
            let answer = engine.answer(endpoint(BATCH).unwrap(), &request, &Cancel::new()).unwrap();
            let failed = answer.warnings.iter().any(|warning| warning.code == "provider_failed");
            assert_eq!(failed, is_broken && third_party == "force");
            provider.asked.load(Ordering::SeqCst) - 10
        };
        assert_eq!([ask("off"), ask("force"), ask("force"), ask("off")], [0, 1, 2, 2]);
    }
}

/// A provider may know addresses of chains that the store does not hold.
#[test]
fn provider_is_asked_about_chains_not_held() {
    let provider = Silent { asked: AtomicUsize::new(10), cancel: Cancel::new(), is_broken: false };
    let intelligence = Intelligence { provider: Some(Arc::new(provider)), ..Intelligence::default() };
    let engine = engine().with_intelligence(intelligence);
    let tron = json!({"blockchain": "tron", "address": "TR7NHqjeKQxGTCi8q8ZY4pL8otSzgjLj6t"});
    for (third_party, is_refused) in [("auto", false), ("force", false), ("off", true)] {
        let mut single = tron.clone();
        single["third_party"] = json!(third_party);
        let answer = engine.answer(endpoint("address-risk").unwrap(), &single, &Cancel::new());
        let refused = answer.err().map(|error| error.kind);
        let expected = is_refused.then_some(ErrorKind::InvalidInput(Reason::ChainNotHeld));
        assert_eq!(refused, expected, "{third_party}");
        let batch = json!({"queries": [tron], "third_party": third_party});
        let report = engine.answer(endpoint(BATCH).unwrap(), &batch, &Cancel::new()).unwrap().value();
        assert_eq!(report["results"][0]["error"].is_string(), is_refused, "{third_party}");
    }
}
