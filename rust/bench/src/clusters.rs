//! The cost of clusters of Bitcoin addresses: the table of a whole chain beside plain union-find, the blocks behind it.
//!
//! ```text
//! cargo run --release -p headwater-bench --bin clusters -- 10000000 FOLDER
//! ```
//!
//! Makes a chain of so many payments in FOLDER, unless it is there. Plain union-find has the input addresses of every
//! transaction as numbers in memory and joins all of each: it reads no store, keeps no evidence and leaves out nothing.
#![forbid(unsafe_code)]
#![expect(clippy::cast_precision_loss, reason = "figures for people need no more than 53 bits")]

use std::cell::RefCell;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use headwater_bench::generator::{BLOCK_TRANSACTIONS, Coins};
use headwater_bench::suite::counters::{Cost, cpu_ns, memory, timed, watched};
use headwater_ledger::read::{ClusterReader as _, Generation as _};
use headwater_ledger::store::Writer;
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain};
use rustc_hash::FxHashMap;

const SEED: u64 = 1;
/// Blocks of one commit.
const BLOCKS: u64 = 250;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let transactions: u64 = arguments.next().context("name a number of transactions")?.parse()?;
    let folder = arguments.next().context("name a folder")?;
    let cancel = Cancel::new();
    let mut coins = Coins::new(transactions, SEED);
    let blocks = transactions.div_ceil(BLOCK_TRANSACTIONS);
    let (mut sets, mut numbers) = (Vec::new(), FxHashMap::<Address, u32>::default());
    let mut writer = Writer::open_or_create(Path::new(&folder))?;
    let is_new = writer.snapshot().coverage().is_empty();
    if is_new {
        writer.begin_load();
    }
    let mut made = 0;
    while made < blocks {
        let batch = coins.blocks(BLOCKS.min(blocks - made));
        made += batch.blocks.len() as u64;
        for utxo in batch.transactions.iter().filter_map(|facts| facts.utxo.as_ref()) {
            let owners = utxo.inputs.iter().filter_map(|input| input.spent.as_ref()?.owner);
            for owner in owners {
                let next = u32::try_from(numbers.len())?;
                sets.push(*numbers.entry(owner).or_insert(next));
            }
            sets.push(u32::MAX);
        }
        if is_new {
            writer.commit(batch, &cancel)?;
            eprintln!("{made} of {blocks} blocks");
        }
    }
    let ((clusters, plain), plain_bytes) = watched(Duration::from_millis(5), || timed(|| plain(&sets, numbers.len())));
    println!("| | seconds | of the processor | anonymous memory | clusters |\n|---|---|---|---|---|");
    row("plain union-find over numbers in memory", plain, plain_bytes, clusters);
    let addresses: Vec<Address> = numbers.keys().take(1_000).copied().collect();
    drop((sets, numbers));

    writer.compact(Chain::BITCOIN, &|_, _| {}, &cancel)?;
    let began = RefCell::new(None);
    let spent = RefCell::new(Cost::default());
    let before = memory();
    let (built, bytes) = watched(Duration::from_millis(5), || {
        writer.rebuild_sidecars(
            &|kind, _, _| {
                let mut began = began.borrow_mut();
                if kind == "clusters" {
                    let (since, cpu) = *began.get_or_insert_with(|| (Instant::now(), cpu_ns()));
                    let wall_ns = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
                    *spent.borrow_mut() = Cost { wall_ns, cpu_ns: cpu_ns() - cpu };
                }
            },
            &cancel,
        )
    });
    built?;
    let reported = *spent.borrow();
    let [wall, cpu] = [reported.wall_ns, reported.cpu_ns].map(|ns| ns as f64 / 1e9);
    println!("| the table of the store | {wall:.2} | {cpu:.2} | {} MB, all sidecars | – |", bytes / 1_000_000);
    println!("\n{} MB of anonymous memory before.\n", before.anonymous / 1_000_000);

    let ask = |ledger: &dyn Ledger| -> Result<usize> {
        let clusters = ledger.clusters(Chain::BITCOIN, &cancel)?.context("a table is built")?;
        let mut found = 0;
        for address in &addresses {
            let account = ledger.account(Chain::BITCOIN, address)?.context("it paid")?;
            found += usize::from(clusters.of(&account)?.is_some());
        }
        Ok(found)
    };
    let (found, cost) = timed(|| ask(&*writer.snapshot()));
    println!("1,000 look-ups: {:.2} ms, {} in a cluster.\n", cost.wall_ns as f64 / 1e6, found?);
    println!("| block | first question, ms | of the processor |\n|---|---|---|");
    for block in 1..=5 {
        let batch = coins.blocks(1);
        writer.commit(batch, &cancel)?;
        let snapshot = writer.snapshot();
        let (asked, cost) = timed(|| snapshot.clusters(Chain::BITCOIN, &cancel).map(|found| found.is_some()));
        println!("| {block} | {:.2} | {:.2} |", cost.wall_ns as f64 / 1e6, cost.cpu_ns as f64 / 1e6);
        anyhow::ensure!(asked?, "a table is built");
    }
    Ok(())
}

fn row(name: &str, cost: Cost, bytes: u64, clusters: usize) {
    let [wall, cpu] = [cost.wall_ns, cost.cpu_ns].map(|ns| ns as f64 / 1e9);
    println!("| {name} | {wall:.2} | {cpu:.2} | {} MB | {clusters} |", bytes / 1_000_000);
}

/// Joins the members of each set, which ends with `u32::MAX`; gives the number of clusters of at least two.
fn plain(sets: &[u32], count: usize) -> usize {
    let mut parents: Vec<u32> = (0..u32::try_from(count).unwrap_or(u32::MAX)).collect();
    let mut first = None;
    for member in sets {
        match (*member, first) {
            (u32::MAX, _) => first = None,
            (member, None) => first = Some(member),
            (member, Some(of)) => {
                let (one, other) = (root(&mut parents, of), root(&mut parents, member));
                parents[one.max(other) as usize] = one.min(other);
            }
        }
    }
    let mut sizes = vec![0_u32; count];
    for member in 0..u32::try_from(count).unwrap_or(u32::MAX) {
        sizes[root(&mut parents, member) as usize] += 1;
    }
    sizes.iter().filter(|size| **size > 1).count()
}

fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        parents[node as usize] = parents[parents[node as usize] as usize];
        node = parents[node as usize];
    }
    node
}
