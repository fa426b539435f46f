//! `headwater simulate`.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use headwater_ingest::finish_load;
use headwater_ingest::labels::{LabelOptions, read_labels};
use headwater_ledger::Cancel;
use headwater_ledger::read::Generation;
use headwater_ledger::store::{LabelImport, ShrinkPolicy, Writer};
use headwater_simulate::{Destination, LabelList, Preset, SimulateReport, simulate};
use headwater_types::Timestamp;

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
    let mut writer = Writer::open_or_create(settings.store()?)?;
    writer.begin_load();
    let bar = Bar::new(Unit::Steps);
    let truth = arguments.truth.as_deref();
    let destination = Destination { writer: &mut writer, truth };
    let progress = |done, total| bar.update(done, total, "days");
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let report = simulate(arguments.preset, arguments.seed, destination, &progress, &cancel);
    drop(bar);
    let report = report.map_err(|error| Failure::from_error(&error))?;
    // Dated by the last block: the same seed gives the same store.
    let head = writer.snapshot().coverage().values().filter_map(|coverage| coverage.last_time).max();
    let head = head.unwrap_or(Timestamp::new(0));
    import_lists(&mut writer, &report.lists, head)?;
    finish_load(&mut writer, head, &Bar::new(Unit::Steps), &cancel)?;
    output.report(&report, || lines(&report))
}

/// Imports the public lists of the economy.
fn import_lists(writer: &mut Writer, lists: &[LabelList], imported_at: Timestamp) -> Result<(), Failure> {
    for list in lists {
        let folder = tempfile::tempdir()?;
        let mut paths = Vec::new();
        for file in &list.files {
            let path = folder.path().join(&file.name);
            std::fs::write(&path, &file.bytes)?;
            paths.push(path);
        }
        let options = LabelOptions {
            source: Some(list.source.clone()),
            list: Some(list.name.clone()),
            ..LabelOptions::default()
        };
        let labels = read_labels(&paths, &options)?;
        let import = labels.into_import(list.edition.unwrap_or(imported_at), ShrinkPolicy::Accepted);
        // The dates are those of the economy: by the calendar its lists are not old.
        writer.import_labels(LabelImport { sanctions_of: Vec::new(), ..import })?;
    }
    Ok(())
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
