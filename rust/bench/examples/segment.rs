//! The cost of one segment of the benchmark's transfers: seconds of processor time to build, bytes by section, and
//! seconds to read its hubs. `cargo run --release -p headwater-bench --example segment -- 1000000`
#![expect(clippy::cast_precision_loss, reason = "figures for people need no more than 53 bits")]

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use headwater_bench::generator::{Generator, Preset, QuerySets, address_of};
use headwater_ledger::facts::BlockFacts;
use headwater_ledger::market::{PriceTable, Registry};
use headwater_ledger::read::{Accounts, Balances, ColumnSet, Movements, PostingColumns, Scan};
use headwater_ledger::segment::{Segment, SegmentInput, build};
use headwater_ledger::{Cancel, Snapshot};
use headwater_types::{Chain, Network};

/// Seconds of processor time that this process took, all threads together.
fn cpu_secs() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: f64 = [11, 12].iter().filter_map(|&at| fields.get(at)?.parse::<f64>().ok()).sum();
    ticks / 100.0
}

fn main() {
    let transfers: u64 = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000);
    let preset = Preset::of(transfers);
    let generator = Generator::new(preset);
    let mut input = SegmentInput {
        chain: Chain::ETHEREUM,
        network: Network::Mainnet,
        blocks: Vec::new(),
        transactions: Vec::new(),
        contracts: Vec::new(),
        tokens: Vec::new(),
    };
    for number in 0..preset.chunks() {
        let batch = generator.batch(&generator.chunk(number));
        input.transactions.extend(batch.transactions);
        input.tokens.extend(batch.tokens);
    }
    let queries = QuerySets::of(&generator);
    let times: BTreeMap<u64, _> =
        input.transactions.iter().filter_map(|facts| Some((facts.block, facts.time?))).collect();
    input.blocks =
        times.into_iter().map(|(number, time)| BlockFacts { number, hash: None, parent: None, time }).collect();
    let (cpu, wall) = (cpu_secs(), Instant::now());
    let bytes = build(&input, &Cancel::new()).expect("the facts are sound");
    let (cpu, wall) = (cpu_secs() - cpu, wall.elapsed().as_secs_f64());
    let millions = transfers as f64 / 1e6;
    println!("{:.2} s cpu, {:.2} s wall per million", cpu / millions, wall / millions);
    let segment = Segment::from_bytes("memory", &bytes).expect("it was just built");
    let mut sums: BTreeMap<String, u64> = BTreeMap::new();
    for (name, size) in segment.sections() {
        let name = name.trim_end_matches(['#', '?']).to_owned();
        *sums.entry(name).or_default() += size;
    }
    for (name, size) in sums.iter().filter(|(_, size)| **size * 100 > transfers) {
        println!("  {name:<24} {:.2} B per transfer", *size as f64 / transfers as f64);
    }
    println!("  all                      {:.2} B per transfer", bytes.len() as f64 / transfers as f64);
    read(segment, &queries);
}

/// Nanoseconds per posting of columns of heavy accounts, and per page of each kind of account.
fn read(segment: Segment, queries: &QuerySets) {
    let (registry, prices) = (Arc::new(Registry::default()), Arc::new(PriceTable::default()));
    let ledger = Snapshot::new(1, vec![Arc::new(segment)], BTreeMap::new(), registry, prices);
    let account =
        |id: &u32| ledger.account(Chain::ETHEREUM, &address_of(*id)).expect("sound").expect("it has postings");
    let heavy: Vec<_> = queries.heavy.iter().map(account).collect();
    let cancel = Cancel::new();
    for (name, wanted) in [
        ("counterparties", ColumnSet::COUNTERPARTIES),
        ("times", ColumnSet::TIMES),
        ("amounts", ColumnSet::AMOUNTS),
        ("all columns", ColumnSet::ALL),
    ] {
        let mut best = f64::MAX;
        for _ in 0..9 {
            let (start, mut count) = (now(), 0);
            for account in &heavy {
                let visit = &mut |batch: PostingColumns<'_>| {
                    count += batch.len();
                    Ok(ControlFlow::Continue(()))
                };
                ledger.posting_columns(account, &Scan::default(), (wanted, &cancel), visit).expect("sound");
            }
            best = best.min((now() - start) / count as f64);
        }
        println!("  heavy, {name:<17} {:.2} ns per posting", best * 1e9);
    }
    for (name, ids) in [("light", &queries.light), ("medium", &queries.medium), ("heavy", &queries.heavy)] {
        let accounts: Vec<_> = ids.iter().map(account).collect();
        let mut best = f64::MAX;
        for _ in 0..50 {
            let (start, mut rows) = (now(), 0);
            for account in &accounts {
                rows += ledger.postings(account, &Scan::default()).expect("sound").take(100).count();
            }
            assert!(rows > 0);
            best = best.min((now() - start) / accounts.len() as f64);
        }
        println!("  page of 100, {name:<11} {:.2} us", best * 1e6);
    }
    let mut best = f64::MAX;
    for _ in 0..9 {
        let start = now();
        for account in &heavy {
            ledger.holdings(account).expect("sound");
        }
        best = best.min((now() - start) / heavy.len() as f64);
    }
    println!("  holdings of a heavy one  {:.2} us", best * 1e6);
}

/// Seconds since the first call: wall time, of which the least of many runs is taken.
fn now() -> f64 {
    static START: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
