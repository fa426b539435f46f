//! How long `trace` takes over the movements of a store, in order of time: the accounts of a benchmark, 3 hops outward, 50
//! counterparties of each address, at most 5,000 addresses.
//!
//! ```text
//! make bench PRESET=m
//! cargo run --release -p headwater-engine --example trace_latency -- FOLDER/m/store FOLDER/m/addresses.json
//! ```
//!
//! `FOLDER` is that of the benchmark. Each answer is made anew, JSON included.
#![expect(clippy::disallowed_methods, reason = "it measures, which takes a clock")]

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::{Cancel, Store};
use serde_json::{Value, json};

/// Accounts of a set that are asked about, and times that each is.
const ACCOUNTS: usize = 10;
const TURNS: usize = 1;

/// Milliseconds of processor that the process has taken, as Linux counts them, in steps of ten.
fn processor_ms() -> u64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let ticks = |place| fields.split_whitespace().nth(place).and_then(|field| field.parse::<u64>().ok()).unwrap_or(0);
    10 * (ticks(11) + ticks(12))
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [store, addresses] = &arguments[..] else { return Err("name a store and the addresses of its sets".into()) };
    let engine = QueryEngine::new(Arc::new(Store::open(store)?));
    let sets: Value = serde_json::from_str(&std::fs::read_to_string(addresses)?)?;
    let asked = endpoint("trace").ok_or("there is no such endpoint")?;
    for set in ["light", "medium", "heavy"] {
        let of_set = sets[set].as_array().ok_or("a set is missing")?;
        let (mut times, mut nodes, mut edges, mut hubs) = (Vec::new(), 0_u64, 0_u64, 0);
        let mut begun_ms = processor_ms();
        for turn in 0..=TURNS {
            begun_ms = if turn == 1 { processor_ms() } else { begun_ms };
            for address in of_set.iter().take(ACCOUNTS) {
                let request = json!({
                    "blockchain": "ethereum",
                    "address": address,
                    "track_setting": {"outward_depth": 3, "inward_depth": 0, "limit": 50, "max_nodes": 5_000},
                });
                let begun = Instant::now();
                let answer = engine.answer(asked, &request, &Cancel::new())?;
                let took = begun.elapsed();
                // The first turn fills caches.
                if turn == 0 {
                    continue;
                }
                times.push(took);
                let report = answer.value();
                nodes += report["summary"]["node_count"].as_u64().unwrap_or(0);
                edges += report["summary"]["edge_count"].as_u64().unwrap_or(0);
                let ends = report["ends"].as_array().map_or(&[][..], Vec::as_slice);
                hubs += ends.iter().filter(|end| end["stop_reason"] == "hub").count();
            }
        }
        let of_processor_ms = processor_ms() - begun_ms;
        times.sort();
        let at =
            |part: usize| times.get((times.len() * part / 100).min(times.len() - 1)).copied().unwrap_or(Duration::ZERO);
        let count = times.len() as u64;
        println!(
            "{set}: {count} traces, {:?} in the middle, p95 {:?}; on average {} ms of processor, {} addresses, {} edges, {} hubs",
            at(50),
            at(95),
            of_processor_ms / count,
            nodes / count,
            edges / count,
            hubs as u64 / count
        );
    }
    Ok(())
}
