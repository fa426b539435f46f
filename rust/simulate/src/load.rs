//! The economy into a store.

use std::path::Path;
use std::sync::mpsc::{SyncSender, sync_channel};

use headwater_ledger::Cancel;
use headwater_ledger::facts::{Batch, MovementFact};
use headwater_ledger::read::{Generation, ScriptType};
use headwater_ledger::store::{ImportVersion, Writer};
use headwater_types::Chain;
use serde::Serialize;

use crate::error::SimulateError;
use crate::highlights::Highlight;
use crate::labels::{LabelList, write_lists};
use crate::preset::Preset;
use crate::production::{Outcome, Production, Slice, registry};
use crate::truth::TruthWriter;

/// The name of the imports of an economy; preset and seed follow.
const SOURCE: &str = "simulated economy";

/// The report of the economy that was made.
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
    /// The public lists, in the order in which they are to be imported; not part of the report's text.
    #[serde(skip)]
    pub lists: Vec<LabelList>,
}

/// The part of the economy on one chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainSummary {
    /// The chain.
    #[serde(rename = "blockchain")]
    pub chain: Chain,
    /// Blocks; most of those without transactions are covered, but have no header of their own.
    pub blocks: u64,
    /// Transactions.
    pub transactions: u64,
    /// Movements of value: native ones that are not zero, internal and token ones; on bitcoin outputs with an owner.
    pub transfers: u64,
    /// Addresses that occur.
    pub addresses: u64,
}

/// The destination of an economy.
pub struct Destination<'a> {
    /// The store.
    pub writer: &'a mut Writer,
    /// The folder of the truth, with the public lists in a folder `labels`; `None` to leave both out.
    pub truth: Option<&'a Path>,
}

/// Makes the economy of a seed and writes it to a store, and the truth to its folder, slice by slice: one thread makes
/// the next slice while the last one is written.
///
/// The same seed on the same store changes nothing, and continues where a stopped run ended. `progress` receives how many
/// of all days are written.
///
/// # Errors
/// When the store holds another economy or other data of these chains, the store or the truth cannot be written, or the
/// work was cancelled. What was committed before stays.
pub fn simulate(
    preset: Preset,
    seed: u64,
    destination: Destination<'_>,
    progress: &dyn Fn(u64, u64),
    cancel: &Cancel,
) -> Result<SimulateReport, SimulateError> {
    let Destination { writer, truth: folder } = destination;
    let source = format!("{SOURCE}, preset {preset}, seed {seed}");
    let other = |held: &&ImportVersion| held.source.starts_with(SOURCE) && held.source != source;
    if let Some(held) = writer.import_versions().iter().find(other) {
        return Err(SimulateError::OtherEconomy { held: held.source.clone() });
    }
    let mut truth = folder.map(TruthWriter::create).transpose()?;
    let mut report = SimulateReport {
        preset: preset.name(),
        seed,
        days: preset.days(),
        generation: 0,
        chains: Chain::all().map(ChainSummary::empty).collect(),
        transfers: 0,
        tokens: 0,
        prices: 0,
        highlights: Vec::new(),
        lists: Vec::new(),
    };
    // The registry and the prices first: they also mark the store as one of this economy.
    let (tokens, prices) = registry(preset, seed);
    (report.tokens, report.prices) = (tokens.len() as u64, prices.len() as u64);
    if !writer.import_versions().iter().any(|version| version.source == source) {
        writer.import_tokens(&source, tokens)?;
        writer.import_prices(&source, prices)?;
    }
    let days = preset.days().unsigned_abs();
    progress(0, days);
    std::thread::scope(|scope| {
        let (give, take) = sync_channel(1);
        let maker = scope.spawn(move || make(preset, seed, &give));
        for slice in take {
            cancel.check()?;
            let Slice { days: done, batches, truth: known } = slice;
            if let Some(truth) = &mut truth {
                truth.append(&known)?;
            }
            for address in &known.addresses {
                report.of(address.chain).addresses += 1;
            }
            for batch in batches {
                report.of(batch.chain).add(&batch);
                writer.commit(batch, cancel)?;
            }
            progress(done.unsigned_abs(), days);
        }
        let outcome = maker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        (report.highlights, report.lists) = (outcome.highlights, outcome.lists);
        Ok::<_, SimulateError>(())
    })?;
    if let Some((truth, folder)) = truth.zip(folder) {
        truth.finish()?;
        write_lists(&report.lists, &folder.join("labels"))?;
    }
    report.transfers = report.chains.iter().map(|chain| chain.transfers).sum();
    report.generation = writer.snapshot().generation();
    Ok(report)
}

/// Makes slice after slice until nobody takes them.
fn make(preset: Preset, seed: u64, give: &SyncSender<Slice>) -> Outcome {
    let mut production = Production::new(preset, seed);
    for slice in &mut production {
        if give.send(slice).is_err() {
            return Outcome::default();
        }
    }
    production.finish()
}

impl SimulateReport {
    fn of(&mut self, chain: Chain) -> &mut ChainSummary {
        let place = self.chains.iter().position(|summary| summary.chain == chain);
        &mut self.chains[place.expect("a report has all chains")]
    }
}

impl ChainSummary {
    const fn empty(chain: Chain) -> Self {
        Self { chain, blocks: 0, transactions: 0, transfers: 0, addresses: 0 }
    }

    fn add(&mut self, batch: &Batch) {
        self.blocks = batch.blocks.last().map_or(self.blocks, |block| block.number + 1);
        self.transactions += batch.transactions.len() as u64;
        self.transfers += transfers(batch);
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
