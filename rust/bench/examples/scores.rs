//! The cost of scores of very many addresses: risk, class and features of every address of a chain on one thread.
//!
//! ```text
//! cargo run --release -p headwater-bench --example scores -- STORE [CHAIN [ADDRESSES]]
//! ```
//!
//! Writes Markdown to standard output. Times are those of the processor; the pages of the store are in memory.

use std::hint::black_box;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result};
use headwater_bench::suite::counters::timed;
use headwater_engine::QueryEngine;
use headwater_engine::score::ScoreColumns;
use headwater_intel::classify::Classifiers;
use headwater_ledger::read::{Generations, Ledger};
use headwater_ledger::{Cancel, Store};
use headwater_metrics::features::{BaseGather, features_of, values};
use headwater_types::{Address, Chain};

/// Addresses of one call, as the command line asks for them.
const BATCH: usize = 8192;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let store = arguments.first().context("name a store")?;
    let chain: Chain = arguments.get(1).map_or(Ok(Chain::ETHEREUM), |chain| chain.parse())?;
    let most = arguments.get(2).map_or(Ok(usize::MAX), |most| most.parse())?;
    let generations: Arc<dyn Generations> = Arc::new(Store::open(Path::new(store))?);
    let ledger = generations.current()?;
    let addresses = ledger.addresses(chain, None, most)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build()?;
    let engine = QueryEngine::new(generations);
    pool.install(|| report(&engine, &*ledger, chain, &addresses))
}

#[expect(clippy::cast_precision_loss, reason = "rates for people")]
fn report(engine: &QueryEngine, ledger: &dyn Ledger, chain: Chain, addresses: &[Address]) -> Result<()> {
    let mut transfers = 0;
    for address in addresses {
        transfers += ledger.account(chain, address)?.map_or(0, |account| account.postings);
    }
    println!("{} addresses of {chain} with {transfers} transfers, on one thread\n", addresses.len());
    println!("| columns | addresses per core-second | transfers per core-second |\n|---|---|---|");
    for columns in ["features", "class", "risk", "risk,class"] {
        let columns: ScoreColumns = columns.parse().map_err(anyhow::Error::msg)?;
        let scorer = match engine.scorer(chain, columns) {
            Ok(scorer) => scorer,
            Err(error) => {
                println!("| {columns} | {} | |", error.message);
                continue;
            }
        };
        let run = || -> Result<()> {
            for batch in addresses.chunks(BATCH) {
                black_box(scorer.score(batch, &Cancel::new())?);
            }
            Ok(())
        };
        run()?;
        let (ran, cost) = timed(run);
        ran?;
        let secs = cost.cpu_ns as f64 / 1e9;
        println!("| {columns} | {:.0} | {:.0} |", addresses.len() as f64 / secs, transfers as f64 / secs);
    }
    println!();
    classify_one(ledger, chain, addresses)
}

/// The class of addresses whose aggregates are known, and a checksum of all values of features.
#[expect(clippy::cast_precision_loss, reason = "rates for people")]
fn classify_one(ledger: &dyn Ledger, chain: Chain, addresses: &[Address]) -> Result<()> {
    let cancel = Cancel::new();
    let mut gather = BaseGather::new(chain);
    let (mut bases, mut row, mut checksum) = (Vec::new(), Vec::new(), 0_u64);
    for address in addresses {
        let account = ledger.account(chain, address)?.context("an address of the ledger")?;
        let base = gather.read(ledger, &account, &cancel)?;
        values(base, features_of(chain.family()), &mut row);
        for value in &row {
            checksum = checksum.rotate_left(5).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ value.to_bits();
        }
        if bases.len() < 1000 {
            bases.push(base.clone());
        }
    }
    println!("Checksum of the features: {checksum:016x}.");
    let Some(classifier) = Classifiers::standard().of(chain) else { return Ok(()) };
    let run = || bases.iter().filter_map(|base| classifier.classify(base)).map(black_box).count();
    run();
    let (count, cost) = timed(run);
    println!("One class after its features: {:.1} µs.", cost.cpu_ns as f64 / 1e3 / count.max(1) as f64);
    Ok(())
}
