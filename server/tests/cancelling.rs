//! Work on a large account stops soon after it is told to, whatever it is doing.

use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use headwater_engine::{Desk, ErrorKind, endpoint};
use headwater_ledger::{Cancel, Store};
use serde_json::{Value, json};

use crate::support::hub::{HUB, Way, store_with_a_hub};
use crate::support::is_full;

/// Requests that look at all of the account.
fn requests() -> Vec<(&'static str, Value)> {
    let hub = |more: Value| {
        let mut request = json!({"blockchain": "ethereum", "address": HUB});
        request.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request
    };
    vec![
        ("transactions", hub(json!({"filter_criterias": [{"symbol": "ETH", "min_value": "1000000"}]}))),
        ("counterparty", hub(json!({}))),
        ("counterparty", hub(json!({"symbols": ["ETH"], "sort": "sent_amount"}))),
        ("counterparty", hub(json!({"start_time": 1_438_918_300}))),
        (
            "counterparty/overview",
            json!({"blockchain": "ethereum", "target": HUB, "counterparty": format!("0x{:040x}", 1)}),
        ),
        ("wallet-overview", hub(json!({}))),
        ("balance-history", hub(json!({"start_time": 1_438_905_600, "end_time": 1_439_000_000}))),
        ("token/addresses_flow", json!({"blockchain": "ethereum", "addresses": HUB})),
    ]
}

#[test]
fn long_work_stops_soon_after_it_is_told_to() {
    let place = tempfile::tempdir().unwrap();
    let payments = if is_full() { 1_000_000 } else { 120_000 };
    let store = store_with_a_hub(place.path(), payments, Way::In);
    let desk = Desk::new(Arc::new(Store::open(&store).unwrap()));
    let rounds = if is_full() { 25 } else { 5 };
    let mut stopped = 0;
    for (name, request) in requests() {
        let endpoint = endpoint(name).unwrap();
        let started = Instant::now();
        if let Err(error) = desk.answer(endpoint, &request, &Cancel::new()) {
            panic!("{name} {request}: {error:?}");
        }
        let whole = started.elapsed();
        let mut slowest = Duration::ZERO;
        for round in 0..rounds {
            let cancel = Cancel::new();
            let (desk, request, token) = (desk.clone(), request.clone(), cancel.clone());
            let work = thread::spawn(move || {
                let answer = desk.answer(endpoint, &request, &token);
                (answer.err().map(|error| error.kind), Instant::now())
            });
            thread::sleep(whole * round / rounds);
            let told = Instant::now();
            cancel.cancel();
            let (error, ended) = work.join().unwrap();
            assert!(matches!(error, None | Some(ErrorKind::Cancelled)), "{name}: {error:?}");
            stopped += u32::from(error.is_some());
            slowest = slowest.max(ended.saturating_duration_since(told));
        }
        println!("cancelling: {name} over {payments} movements takes {whole:.1?}, stops within {slowest:.1?}");
        assert!(slowest < Duration::from_secs(2), "{name}: {slowest:?}");
    }
    assert!(stopped > 0, "nothing took long enough to be stopped");
}
