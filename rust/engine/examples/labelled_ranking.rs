//! What labels add to the ranking of a hub: the same question with and without labels, in alternating order.
//!
//! ```text
//! cargo run --release -p headwater-engine --example labelled_ranking -- 1000000
//! ```
//!
//! The hub has 300,000 counterparties, every other one of them labelled, among so many claims in eight lists. The store is
//! in memory with its sidecars, the answer is made anew each time.
#![expect(clippy::disallowed_methods, reason = "it measures, which takes a clock and an argument")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Claim, Code, Level};
use headwater_ledger::store::MemoryStore;
use headwater_testkit::{Chainlet, address, claim, label_import};
use headwater_types::Chain;
use serde_json::json;

const HUB: u64 = 0;
const COUNTERPARTIES: u64 = 300_000;
const LISTS: u64 = 8;
/// Labelled addresses that the hub never met begin here, behind the contracts of the test kit.
const STRANGERS: u64 = 10_000_000;
const RUNS: usize = 51;

fn main() -> Result<(), Box<dyn Error>> {
    let claims: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let mut chain = Chainlet::ethereum();
    for number in 1..=COUNTERPARTIES {
        for turn in 0..=number % 3 {
            chain = chain.same_block().transfer(HUB, number, 1 + turn);
        }
    }
    let cancel = Cancel::new();
    let mut store = MemoryStore::default();
    store.commit(chain.batch(), &cancel)?;
    let (store, mut labelled) = (store.with_sidecars(&cancel)?, store.with_sidecars(&cancel)?);
    for list in 0..LISTS {
        labelled.import_labels(label_import(&format!("list {list}"), claims_of(list, claims), 1_700_000_000))?;
    }
    let engines = [store, labelled].map(|store| QueryEngine::new(Arc::new(store)));
    for (name, limit) in [("counterparty", 20), ("counterparty", 1_000), ("counterparty/list", 1_000)] {
        let request = json!({
            "blockchain": "ethereum", "address": address(Chain::ETHEREUM, HUB).to_string(), "sort": "total_count",
            "limit": limit,
        });
        let asked = endpoint(name).ok_or("there is no such endpoint")?;
        let mut times = [Vec::new(), Vec::new()];
        let mut labels = [0; 2];
        for _ in 0..=RUNS {
            for ((engine, times), labels) in engines.iter().zip(&mut times).zip(&mut labels) {
                let begun = Instant::now();
                let answer = engine.answer(asked, &request, &cancel)?;
                times.push(begun.elapsed());
                *labels = answer.value().to_string().matches("exchange").count();
            }
        }
        // The first run fills caches.
        let [plain, with] = times.map(|times| median(times.into_iter().skip(1).collect()));
        println!(
            "{name}, {limit} rows, {claims} claims: {plain:?} without labels, {with:?} with {} labels on the page: {:.2}x",
            labels[1],
            with.as_secs_f64() / plain.as_secs_f64()
        );
    }
    Ok(())
}

/// The claims of a list: its part of the counterparties, and of strangers.
fn claims_of(list: u64, claims: u64) -> Vec<Claim> {
    let counterparties = (1..=COUNTERPARTIES / 2).map(|number| number * 2);
    let strangers = (0..claims.saturating_sub(COUNTERPARTIES / 2)).map(|number| STRANGERS + number);
    let of_list = counterparties.chain(strangers).filter(|number| number / 2 % LISTS == list);
    let group = format!("list {list}");
    of_list
        .map(|number| {
            let about = address(Chain::ETHEREUM, number);
            let entity = Some(Arc::from(format!("Exchange {}", number % 500)));
            Claim { entity, ..claim(Chain::ETHEREUM, about, Code::Exchange, Level::WebCrawl, &group) }
        })
        .collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
