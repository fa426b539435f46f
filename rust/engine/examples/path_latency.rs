//! How long `path` takes over the movements of a store: from the accounts of a benchmark to somebody whom a trace finds three
//! hops on, within three hops.
//!
//! ```text
//! make bench PRESET=m
//! cargo run --release -p headwater-engine --example path_latency -- FOLDER/m/store FOLDER/m/addresses.json
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

/// Accounts of a set that are asked about.
const ACCOUNTS: usize = 100;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args_os().skip(1).collect();
    let [store, addresses] = &arguments[..] else { return Err("name a store and the addresses of its sets".into()) };
    let engine = QueryEngine::new(Arc::new(Store::open(store)?));
    let sets: Value = serde_json::from_str(&std::fs::read_to_string(addresses)?)?;
    let ask = |name: &str, request: &Value| -> Result<Value, Box<dyn Error>> {
        let asked = endpoint(name).ok_or("there is no such endpoint")?;
        Ok(engine.answer(asked, request, &Cancel::new())?.value())
    };
    for set in ["light", "medium", "heavy"] {
        let (mut took, mut found, mut cut) = (Vec::new(), 0, 0);
        for source in sets[set].as_array().into_iter().flatten().take(ACCOUNTS) {
            let far = json!({
                "blockchain": "ethereum", "address": source, "track_setting": {"outward_depth": 3, "inward_depth": 0},
            });
            let trace = ask("trace", &far)?;
            let mut nodes = trace["nodes"].as_array().into_iter().flatten();
            let Some(target) = nodes.rfind(|node| node["depth"] == 3) else { continue };
            let request = json!({
                "blockchain": "ethereum", "source": source, "targets": [target["address"]], "max_hops": 3,
            });
            let started = Instant::now();
            let answer = ask("path", &request)?;
            took.push(started.elapsed());
            found += usize::from(answer["paths"].as_array().is_some_and(|paths| !paths.is_empty()));
            cut += usize::from(answer["truncated"] == true);
        }
        took.sort_unstable();
        let at = |share: usize| took.get(took.len().saturating_sub(1) * share / 100).map(Duration::as_secs_f64);
        let [median, p95, most] = [50, 95, 100].map(|share| at(share).unwrap_or_default() * 1e3);
        println!(
            "{set}: {} searches, median {median:.1} ms, p95 {p95:.1} ms, most {most:.1} ms; {found} found, {cut} cut",
            took.len()
        );
    }
    Ok(())
}
