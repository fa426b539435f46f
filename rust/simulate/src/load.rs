//! The economy into a store.

use std::path::Path;

use headwater_ledger::facts::{Batch, MovementFact};
use headwater_ledger::read::ScriptType;
use headwater_ledger::store::{ImportVersion, Writer};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::Chain;
use serde::Serialize;

use crate::economy::{Economy, economy};
use crate::error::SimulateError;
use crate::highlights::{Highlight, highlights};
use crate::preset::Preset;

/// How the imports of an economy are named; preset and seed follow.
const SOURCE: &str = "simulated economy";

/// What was made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SimulateReport {
    /// The preset.
    pub preset: &'static str,
    /// The seed.
    pub seed: u64,
    /// Length of the period in days.
    pub days: i64,
    /// Generation of the store that holds it.
    pub generation: u64,
    /// By chain, in order of chain.
    pub chains: Vec<ChainSummary>,
    /// Transfers of all chains together.
    pub transfers: u64,
    /// Tokens of the registry.
    pub tokens: u64,
    /// Daily prices.
    pub prices: u64,
    /// Addresses worth looking at.
    pub highlights: Vec<Highlight>,
}

/// What was made of one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainSummary {
    /// The chain.
    #[serde(rename = "blockchain")]
    pub chain: Chain,
    /// Blocks.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Movements of value: native ones that are not zero, internal and token ones; on bitcoin outputs with an owner.
    pub transfers: u64,
    /// Addresses that occur.
    pub addresses: u64,
}

/// Makes the economy of a seed and writes it to a store, and the truth to `truth_dir`.
///
/// The same seed on the same store changes nothing. `progress` is told how many of all transactions are committed.
///
/// # Errors
/// When the store holds other data of these chains, or the store or the truth cannot be written.
pub fn simulate(
    preset: Preset,
    seed: u64,
    writer: &mut Writer,
    truth_dir: Option<&Path>,
    progress: &dyn Fn(u64, u64),
) -> Result<SimulateReport, SimulateError> {
    let source = format!("{SOURCE}, preset {preset}, seed {seed}");
    let other = |held: &&ImportVersion| held.source.starts_with(SOURCE) && held.source != source;
    if let Some(held) = writer.import_versions().iter().find(other) {
        return Err(SimulateError::OtherEconomy { held: held.source.clone() });
    }
    let mut economy = economy(preset, seed);
    let mut report = report(preset, seed, &economy);
    let total = economy.batches.iter().map(|batch| batch.transactions.len() as u64).sum();
    let mut done = 0;
    progress(done, total);
    for batch in std::mem::take(&mut economy.batches) {
        done += batch.transactions.len() as u64;
        report.generation = writer.commit(batch, &Cancel::new())?.generation;
        progress(done, total);
    }
    if !writer.import_versions().iter().any(|version| version.source == source) {
        writer.import_tokens(&source, economy.tokens)?;
        writer.import_prices(&source, economy.prices)?;
        report.generation = writer.snapshot().generation();
    }
    if let Some(folder) = truth_dir {
        economy.truth.write(folder)?;
    }
    Ok(report)
}

fn report(preset: Preset, seed: u64, economy: &Economy) -> SimulateReport {
    let chains: Vec<_> = Chain::all().map(|chain| summary(economy, chain)).collect();
    SimulateReport {
        preset: preset.name(),
        seed,
        days: preset.days(),
        generation: 0,
        transfers: chains.iter().map(|chain| chain.transfers).sum(),
        chains,
        tokens: economy.tokens.len() as u64,
        prices: economy.prices.len() as u64,
        highlights: highlights(economy),
    }
}

fn summary(economy: &Economy, chain: Chain) -> ChainSummary {
    let batches = economy.batches.iter().filter(|batch| batch.chain == chain);
    ChainSummary {
        chain,
        blocks: batches.clone().map(|batch| batch.blocks.len() as u64).sum(),
        transactions: batches.clone().map(|batch| batch.transactions.len() as u64).sum(),
        transfers: batches.map(transfers).sum(),
        addresses: economy.truth.addresses.iter().filter(|truth| truth.chain == chain).count() as u64,
    }
}

fn transfers(batch: &Batch) -> u64 {
    let of_transaction = |transaction: &headwater_ledger::facts::TransactionFacts| {
        let native = transaction.body.iter().filter(|body| !body.value.is_zero()).count();
        let inside = transaction.movements.iter().filter(|movement| movement.kind != MovementFact::NonFungible).count();
        let outputs = transaction.utxo.iter().flat_map(|utxo| &utxo.outputs);
        native + inside + outputs.filter(|output| output.script != ScriptType::OpReturn).count()
    };
    batch.transactions.iter().map(|transaction| of_transaction(transaction) as u64).sum()
}
