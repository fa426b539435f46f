//! The cost and the contents of an economy: `cargo run --release -p headwater-simulate --example measure s`.

use std::collections::BTreeMap;
use std::time::Instant;

use headwater_ledger::facts::Batch;
use headwater_simulate::{Preset, Production};
use headwater_types::Chain;

#[derive(Default)]
struct Counts {
    transactions: usize,
    transfers: usize,
    addresses: usize,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let preset: Preset = std::env::args().nth(1).as_deref().unwrap_or("demo").parse()?;
    let seed: u64 = std::env::args().nth(2).as_deref().unwrap_or("1").parse()?;
    let started = Instant::now();
    let mut chains: BTreeMap<Chain, Counts> = BTreeMap::new();
    let mut roles: BTreeMap<(Chain, &str), usize> = BTreeMap::new();
    let mut behaviours: BTreeMap<&str, usize> = BTreeMap::new();
    let mut cases = 0;
    let mut labels: BTreeMap<(String, String, bool), usize> = BTreeMap::new();
    let mut production = Production::new(preset, seed);
    for slice in &mut production {
        for batch in &slice.batches {
            let counts = chains.entry(batch.chain).or_default();
            counts.transactions += batch.transactions.len();
            counts.transfers += transfers(batch);
        }
        for truth in &slice.truth.addresses {
            chains.entry(truth.chain).or_default().addresses += 1;
            *roles.entry((truth.chain, truth.role.name())).or_default() += 1;
        }
        for planted in &slice.truth.behaviours {
            *behaviours.entry(planted.behaviour.code()).or_default() += 1;
        }
        for label in &slice.truth.labels {
            *labels.entry((label.list.clone(), label.code.clone(), label.correct)).or_default() += 1;
        }
        cases += slice.truth.cases.len();
        if !slice.batches.is_empty() {
            eprintln!("day {}: {:.1} s", slice.days, started.elapsed().as_secs_f64());
        }
    }
    for (chain, counts) in &chains {
        println!(
            "{chain}: {} transactions, {} transfers, {} addresses",
            counts.transactions, counts.transfers, counts.addresses
        );
    }
    let transfers: usize = chains.values().map(|counts| counts.transfers).sum();
    let addresses: usize = chains.values().map(|counts| counts.addresses).sum();
    println!("{transfers} transfers, {addresses} addresses, {cases} steps of cases");
    println!("{behaviours:?}\n{roles:?}");
    for ((list, code, correct), count) in labels {
        println!("{list} {code} {}: {count}", if correct { "right" } else { "wrong" });
    }
    for list in production.finish().lists {
        let files: Vec<_> = list.files.iter().map(|file| (&file.name, file.bytes.len())).collect();
        println!("{} {:?} {files:?}", list.name, list.edition);
    }
    let status = std::fs::read_to_string("/proc/self/status")?;
    let peak = status.lines().find(|line| line.starts_with("VmHWM")).unwrap_or("memory unknown");
    println!("{:.1} s of wall time, {peak}", started.elapsed().as_secs_f64());
    Ok(())
}

fn transfers(batch: &Batch) -> usize {
    let of = |facts: &headwater_ledger::facts::TransactionFacts| {
        usize::from(facts.body.as_ref().is_some_and(|body| !body.value.is_zero()))
            + facts.movements.len()
            + facts.utxo.iter().flat_map(|utxo| &utxo.outputs).filter(|output| output.owner.is_some()).count()
    };
    batch.transactions.iter().map(of).sum()
}
