//! How long `address-risk` takes, with counterparties, by the number of transfers of the address.
//!
//! ```text
//! cargo run --release -p headwater-engine --example risk_latency
//! ```
//!
//! The addresses pay and are paid by three times fewer counterparties than they have transfers, every fifth of them labelled.
//! The store is in memory with its sidecars, each answer is made anew, JSON included.
#![expect(clippy::disallowed_methods, reason = "it measures, which takes a clock")]

use std::error::Error;
use std::sync::Arc;
use std::time::Instant;

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Code, Level};
use headwater_ledger::market::PricePoint;
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{Chainlet, address, claim, label_import};
use headwater_types::{Chain, Timestamp};
use serde_json::json;

const SIZES: [u64; 4] = [20, 1_000, 10_000, 1_000_000];
const RUNS: usize = 51;
/// Counterparties of one size begin here, times its place.
const APART: u64 = 1_000_000;
const WEI: u64 = 10_000_000_000_000_000;

fn main() -> Result<(), Box<dyn Error>> {
    let cancel = Cancel::new();
    let mut chain = Chainlet::ethereum();
    let mut labelled = Vec::new();
    for (place, size) in (1..).zip(SIZES) {
        let counterparties = (size / 3).max(1);
        for turn in 0..size {
            let other = place * APART + 1 + turn % counterparties;
            let (from, to) = if turn % 2 == 0 { (other, place) } else { (place, other) };
            chain = if turn % 50 == 0 { chain } else { chain.same_block() }.transfer(from, to, WEI + turn);
            if turn < counterparties && turn % 5 == 0 {
                labelled.push(claim(
                    Chain::ETHEREUM,
                    address(Chain::ETHEREUM, other),
                    Code::Gambling,
                    Level::ServiceApi,
                    "tags",
                ));
            }
        }
    }
    let mut store = MemoryStore::default();
    store.commit(chain.batch(), &cancel)?;
    let price = |day: i64| PricePoint {
        symbol: "eth".to_owned(),
        time: Timestamp::new(1_600_000_000 + day * 86_400),
        usd: 2000.0,
    };
    store.import_prices("prices", (0..3_000).map(price).collect())?;
    let mut store = store.with_sidecars(&cancel)?;
    store.import_labels(label_import("tags", labelled, 1_700_000_000))?;
    let engine = QueryEngine::new(Arc::new(store));
    let asked = endpoint("address-risk").ok_or("there is no such endpoint")?;
    for (place, size) in (1..).zip(SIZES) {
        let request = json!({"blockchain": "ethereum", "address": address(Chain::ETHEREUM, place).to_string()});
        let mut times = Vec::new();
        let mut answer = json!(null);
        for _ in 0..=if size > 100_000 { 9 } else { RUNS } {
            let begun = Instant::now();
            let given = engine.answer(asked, &request, &cancel)?;
            times.push(begun.elapsed());
            answer = given.value();
        }
        // The first run fills caches.
        times.remove(0);
        times.sort();
        let (edge, window) = (&answer["dimensions"]["graph"]["edge"], &answer["dimensions"]["behavior"]["data_window"]);
        println!(
            "{size} transfers: {:?} in the middle, {:?} at most; {} of {} counterparties looked up, {} transfers, truncated {}, score {}",
            times[times.len() / 2],
            times[times.len() - 1],
            edge["neighbors_screened"],
            edge["neighbors_total"],
            window["tx_count"],
            window["truncated"],
            answer["composite_score"]
        );
    }
    Ok(())
}
