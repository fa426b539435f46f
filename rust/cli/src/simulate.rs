//! `headwater simulate`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headwater_ledger::Cancel;
use headwater_simulate::{BuildStep, Preset, SimulateReport, build_store};

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, table};
use super::progress::{Bar, Unit};

/// The arguments of `simulate`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Size of the economy: about 50 thousand transfers, 1 million, 20 million or 200 million.
    #[arg(long, default_value_t = Preset::Demo, value_parser = preset())]
    preset: Preset,
    /// Seed of all chance: the same seed gives the same economy.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Folder for the ground truth.
    #[arg(long, value_name = "DIR")]
    truth: Option<PathBuf>,
}

/// Reads the name of a size; help shows all of them.
fn preset() -> impl TypedValueParser<Value = Preset> {
    PossibleValuesParser::new(Preset::ALL.map(Preset::name)).try_map(|name| name.parse::<Preset>())
}

/// Writes the economy of a seed into the store.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let &Arguments { preset, seed, .. } = arguments;
    let bar = Bar::new(Unit::Steps);
    let progress = |step: BuildStep, done, total| match step {
        BuildStep::Days => bar.update(done, total, "days"),
        BuildStep::Sidecar(kind) => bar.update(done, total, &format!("building {kind}")),
    };
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let report = build_store(&settings.store()?, (preset, seed), arguments.truth.as_deref(), &progress, &cancel);
    drop(bar);
    let report = report.map_err(|error| Failure::from_error(&error))?;
    output.report(&report, || lines(&report))
}

fn lines(report: &SimulateReport) -> Vec<String> {
    let mut rows = vec![["chain", "blocks", "transactions", "transfers", "addresses"].map(str::to_owned).to_vec()];
    rows.extend(report.chains.iter().map(|chain| {
        let counts = [chain.blocks, chain.transactions, chain.transfers, chain.addresses].map(grouped);
        std::iter::once(chain.chain.to_string()).chain(counts).collect()
    }));
    let mut lines = table(&rows);
    lines.push(format!(
        "{} days, {} transfers, {} tokens, {} prices; generation {}",
        report.days,
        grouped(report.transfers),
        grouped(report.tokens),
        grouped(report.prices),
        report.generation
    ));
    lines.push("worth looking at:".to_owned());
    let shown = report
        .highlights
        .iter()
        .map(|one| vec![format!("  {}", one.chain), one.title.to_owned(), one.address.clone(), one.why.clone()]);
    lines.extend(table(&shown.collect::<Vec<_>>()));
    lines
}
