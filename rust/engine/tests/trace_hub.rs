//! A hub in the middle of a trace: it is shown with what came to it, it is not looked through, and it costs no more than a
//! look at as many movements as make a hub.
//!
//! A tenth of the size here, with the limit lowered as much; a million counterparties and the limit by default with
//! `HEADWATER_FULL`. Measured by hand:
//!
//! `cargo test -p headwater-engine trace_hub -- --ignored --nocapture`
#![expect(clippy::disallowed_methods, reason = "it measures time, which is told and not judged")]

use std::sync::{Arc, LazyLock};
use std::time::Instant;

use headwater_engine::{Answer, Error, ErrorKind, QueryEngine, Reason, endpoint};
use headwater_ledger::facts::{Batch, Body, TransactionFacts};
use headwater_ledger::market::PricePoint;
use headwater_ledger::read::Status;
use headwater_ledger::store::in_memory;
use headwater_ledger::{Cancel, Memory};
use headwater_types::{Address, Amount, Chain, Timestamp, TxHash};
use serde_json::{Value, json};

const CHAIN: Chain = Chain::ETHEREUM;
const ETHER: u128 = 1_000_000_000_000_000_000;
const THIEF: u64 = 1;
const LAYER: u64 = 2;
const HUB: u64 = 3;
const OTHER: u64 = 4;
const LAST: u64 = 5;
/// The first of the counterparties of the hub.
const CROWD: u64 = 1_000;
/// Transactions of a commit.
const COMMIT: usize = 100_000;

/// Counterparties of the hub, and from how many on it is one.
static SIZE: LazyLock<(u64, u64)> =
    LazyLock::new(|| if headwater_testkit::is_full() { (1_000_000, 10_000) } else { (100_000, 1_000) });
static ENGINE: LazyLock<QueryEngine> = LazyLock::new(|| engine(SIZE.0));

fn address(number: u64) -> Address {
    let mut bytes = [0; 20];
    bytes[..8].copy_from_slice(&number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes());
    bytes[12..].copy_from_slice(&number.to_be_bytes());
    Address::Evm(bytes)
}

/// The payment of a number: a block of its own.
fn payment(number: u64, (from, to): (u64, u64), wei: u128) -> TransactionFacts {
    let mut hash = [7; 32];
    hash[..8].copy_from_slice(&number.to_be_bytes());
    let body = Body { from: Some(address(from)), to: Some(address(to)), value: Amount::from_u128(wei) };
    TransactionFacts {
        time: Some(Timestamp::new(1_600_000_000 + i64::try_from(number).unwrap())),
        index: Some(0),
        body: Some(body),
        status: Some(Status::Success),
        ..TransactionFacts::new(TxHash::new(hash), number)
    }
}

/// A hub that half of its counterparties pay before the theft, and that pays the other half after it. The thief pays
/// a layer 100 ether, and the layer 60 of them to the hub and 40 on, which end two accounts later.
fn engine(counterparties: u64) -> QueryEngine {
    let half = counterparties / 2;
    let theft = [((THIEF, LAYER), 100), ((LAYER, HUB), 60), ((LAYER, OTHER), 40), ((OTHER, LAST), 40)];
    let before = (0..half).map(|number| ((CROWD + number, HUB), 1));
    let after = (half..counterparties).map(|number| ((HUB, CROWD + number), 1));
    let all = before.chain(theft).chain(after).zip(1..);
    let all: Vec<_> = all.map(|((ends, ether), number)| payment(number, ends, ether * ETHER)).collect();
    let commits = all.chunks(COMMIT).map(|part| Batch { transactions: part.to_vec(), ..Batch::new(CHAIN) });
    let price = PricePoint { symbol: "eth".to_owned(), time: Timestamp::new(1_600_000_000), usd: 2.0 };
    QueryEngine::new(in_memory(commits.collect(), Vec::new(), vec![price]).unwrap() as Arc<_>)
}

fn trace(
    engine: &QueryEngine,
    from: u64,
    (outward, inward): (u8, u8),
    hub: u64,
    cancel: &Cancel,
) -> Result<Answer, Error> {
    let request = json!({
        "blockchain": "ethereum",
        "address": address(from).to_string(),
        "track_setting": {"outward_depth": outward, "inward_depth": inward},
        "stop_track_condition": {"max_counterparties": hub},
    });
    engine.answer(endpoint("trace").unwrap(), &request, cancel)
}

fn of<'v>(report: &'v Value, list: &str, field: &str, number: u64) -> Option<&'v Value> {
    report[list].as_array().unwrap().iter().find(|row| row[field] == address(number).to_string().as_str())
}

fn reasons(report: &Value) -> Vec<&str> {
    report["truncation_reasons"].as_array().unwrap().iter().map(|reason| reason.as_str().unwrap()).collect()
}

#[test]
fn trace_hub_in_the_middle_is_shown_and_stops() {
    let (engine, (counterparties, hub)) = (&*ENGINE, *SIZE);
    // The movements of the hub would not have room in this.
    let memory = Memory::new(4 << 20, 4 << 20);
    let report = trace(engine, THIEF, (7, 0), hub, &memory.token()).unwrap().value();

    let node = of(&report, "nodes", "address", HUB).expect("it is a node");
    assert_eq!(
        (&node["stop_reason"], &node["depth"], &node["in_amount_usd"]),
        (&json!("hub"), &json!(2), &json!(120.0))
    );
    assert_eq!((&node["out_amount_usd"], &node["counterparties"]), (&json!(null), &json!(null)));
    let edge = of(&report, "edges", "to_address", HUB).expect("with its edge");
    assert_eq!(
        (&edge["from_address"], &edge["amount"], &edge["tx_count"]),
        (&json!(address(LAYER).to_string()), &json!("60"), &json!(1))
    );
    let end = of(&report, "ends", "address", HUB).expect("and an end");
    assert_eq!((&end["stop_reason"], &end["share"]), (&json!("hub"), &json!(0.6)));
    // Nothing else is lost, and nothing of the hub's own business is on the trace.
    assert_eq!(of(&report, "ends", "address", LAST).unwrap()["stop_reason"], "no_outflow");
    assert_eq!((&report["summary"]["node_count"], &report["summary"]["edge_count"]), (&json!(5), &json!(4)));
    assert_eq!(reasons(&report), Vec::<&str>::new());

    // Inward from one whom the hub paid it is the first to be met, and the end.
    let paid = CROWD + counterparties - 1;
    let report = trace(engine, paid, (0, 7), hub, &memory.token()).unwrap().value();
    let node = of(&report, "nodes", "address", HUB).expect("it is a node");
    assert_eq!((&node["stop_reason"], &node["depth"]), (&json!("hub"), &json!(-1)));
    assert_eq!((&report["summary"]["node_count"], &report["summary"]["edge_count"]), (&json!(2), &json!(1)));
}

#[test]
fn trace_from_a_hub_takes_the_largest_and_needs_room() {
    let (engine, hub) = (&*ENGINE, SIZE.1);
    let report = trace(engine, HUB, (1, 0), hub, &Cancel::new()).unwrap().value();
    assert_eq!((&report["summary"]["node_count"], &report["summary"]["edge_count"]), (&json!(11), &json!(10)));
    assert_eq!(reasons(&report), ["fanout_limit", "depth_limit"]);
    let error = trace(engine, HUB, (1, 0), hub, &Memory::new(4 << 20, 4 << 20).token()).unwrap_err();
    assert!(matches!(error.kind, ErrorKind::InvalidInput(Reason::QueryTooLarge)), "{error:?}");
}

#[test]
#[ignore = "builds a million counterparties and measures"]
fn trace_hub_of_a_million_is_measured() {
    let started = Instant::now();
    let engine = engine(1_000_000);
    println!("built in {:.1} s", started.elapsed().as_secs_f64());
    for (what, from, directions) in [
        ("over the hub, 7 hops outward", THIEF, (7, 0)),
        ("beside the hub, 7 hops outward", OTHER, (7, 0)),
        ("from the hub itself, 1 hop outward", HUB, (1, 0)),
    ] {
        let mut took: Vec<f64> = (0..9)
            .map(|_| {
                let started = Instant::now();
                let report = trace(&engine, from, directions, 10_000, &Cancel::new()).unwrap().value();
                assert!(report["nodes"].as_array().is_some_and(|nodes| !nodes.is_empty()));
                started.elapsed().as_secs_f64() * 1e3
            })
            .collect();
        took.sort_by(f64::total_cmp);
        println!("{what}: median {:.2} ms, most {:.2} ms", took[4], took[8]);
    }
}
