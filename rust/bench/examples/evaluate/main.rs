//! Evaluation of the judgements: behaviours, risk, bitcoin rules and traces on economies whose truth is known.
//!
//! ```text
//! for seed in 1 2 3 4 5 6 7 8 9 10; do headwater simulate --preset s --seed $seed --store s$seed --truth s$seed-truth; done
//! cargo run --release -p headwater-bench --example evaluate -- s1 s2 s3 s4 s5 s6 s7 s8 s9 s10
//! ```
//!
//! Each argument is a store with its truth in a folder beside it. With `--bitcoin` before them only the rules of bitcoin are
//! judged, with `--bridges` only transfers over bridges, with `--risk` only scores, with `--traces` only traces. With
//! `--classified STORE TABLE [MODEL]` real addresses are scored instead: TABLE is a CSV of address and class, MODEL a classifier
//! in place of the one of the program. Writes Markdown to standard output.

mod auc;
mod behaviours;
mod bitcoin;
mod bridges;
mod classified;
mod clusters;
mod interval;
mod risk;
mod sweep;
mod traces;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use headwater_ledger::read::Generations;
use headwater_ledger::{Ledger, Store};
use headwater_simulate::truth::Truth;

/// An economy and its truth.
pub struct Economy {
    /// Its store.
    pub store: Arc<Store>,
    /// The ledger of the store.
    pub ledger: Arc<dyn Ledger>,
    /// The ground truth.
    pub truth: Truth,
}

fn open(folder: &Path) -> Result<Economy> {
    let mut truth = folder.as_os_str().to_owned();
    truth.push("-truth");
    let store = Arc::new(Store::open(folder).with_context(|| folder.display().to_string())?);
    let truth = Truth::read(Path::new(&truth)).with_context(|| format!("{}", Path::new(&truth).display()))?;
    Ok(Economy { ledger: store.current()?, store, truth })
}

fn main() -> Result<()> {
    let folders: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    if let [mode, store, table, model @ ..] = &folders[..]
        && mode == Path::new("--classified")
    {
        return classified::print(store, table, model.first().map(PathBuf::as_path));
    }
    if let [mode, stores @ ..] = &folders[..]
        && mode == Path::new("--bitcoin")
    {
        let mut bitcoin = bitcoin::Tally::default();
        let mut clusters = clusters::Tally::default();
        for folder in stores {
            let economy = open(folder)?;
            bitcoin.add(&economy)?;
            clusters.add(&economy)?;
        }
        println!("{} economies.\n", stores.len());
        bitcoin.print();
        clusters.print();
        return Ok(());
    }
    if let [mode, folders @ ..] = &folders[..]
        && mode == Path::new("--bridges")
    {
        let mut bridges = bridges::Tally::default();
        for folder in folders {
            bridges.add(&open(folder)?)?;
        }
        bridges.print();
        return Ok(());
    }
    if let [mode, folders @ ..] = &folders[..]
        && mode == Path::new("--risk")
    {
        let mut risk = risk::Tally::default();
        for folder in folders {
            eprintln!("{}", folder.display());
            risk.add(&open(folder)?)?;
        }
        println!("{} economies.\n", folders.len());
        risk.print();
        return Ok(());
    }
    if let [mode, folders @ ..] = &folders[..]
        && mode == Path::new("--traces")
    {
        let mut traces = traces::Tally::default();
        for folder in folders {
            eprintln!("{}", folder.display());
            traces.add(&open(folder)?)?;
        }
        traces.print();
        return Ok(());
    }
    if folders.is_empty() {
        bail!("name the stores of economies, each with its truth in the folder STORE-truth");
    }
    let mut behaviours = behaviours::Tally::default();
    let mut risk = risk::Tally::default();
    let mut traces = traces::Tally::default();
    let mut sweeps = sweep::Tally::default();
    let mut bitcoin = bitcoin::Tally::default();
    let mut clusters = clusters::Tally::default();
    let mut bridges = bridges::Tally::default();
    for folder in &folders {
        eprintln!("{}", folder.display());
        let economy = open(folder)?;
        let found = sweep::sweep(&economy, &mut sweeps)?;
        behaviours.add(&economy, &found);
        risk.add(&economy)?;
        bitcoin.add(&economy)?;
        clusters.add(&economy)?;
        bridges.add(&economy)?;
        traces.add(&economy)?;
    }
    println!("{} economies.\n", folders.len());
    behaviours.print();
    risk.print();
    traces.print();
    sweeps.print();
    bitcoin.print();
    clusters.print();
    bridges.print();
    Ok(())
}
