//! `headwater ingest`.

use std::path::PathBuf;

use headwater_ingest::{IngestReport, OnError, Options};
use headwater_ledger::Cancel;
use headwater_ledger::store::Writer;
use headwater_types::{Chain, Network};

use super::Shared;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped, table};
use super::progress::{Bar, Unit};

/// What `ingest` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The chain, for files that do not name one.
    #[arg(long)]
    chain: Option<Chain>,
    /// The format, where it shall not be detected.
    #[arg(long)]
    format: Option<String>,
    /// The network of a UTXO chain, where the files do not tell it: mainnet, testnet, signet or regtest.
    #[arg(long)]
    network: Option<Network>,
    /// What to do with rows that cannot be understood.
    #[arg(long, value_enum, default_value_t = Broken::Stop)]
    on_error: Broken,
    /// Files, folders or patterns.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// `--on-error`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Broken {
    /// End with an error that names file, row, column and value.
    Stop,
    /// Leave the row out and count it.
    Skip,
}

/// Reads files into the store.
pub(super) fn run(shared: &Shared, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let options = Options {
        chain: arguments.chain,
        format: arguments.format,
        network: arguments.network,
        on_error: match arguments.on_error {
            Broken::Stop => OnError::Stop,
            Broken::Skip => OnError::Skip,
        },
        ..Options::default()
    };
    let store = shared.store()?;
    // So that a path that names nothing leaves no empty store behind.
    headwater_ingest::source::discover(&arguments.paths)?;
    let mut writer = Writer::open_or_create(store)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Bytes);
    let report = headwater_ingest::ingest(&arguments.paths, &options, &mut writer, &bar, &cancel);
    drop(bar);
    let report = report?;
    output.report(&report, || lines(&report))
}

fn lines(report: &IngestReport) -> Vec<String> {
    let mut rows = vec![["file", "format", "chain", "rows", "left out"].map(str::to_owned).to_vec()];
    let mut notes = Vec::new();
    for file in &report.files {
        let path = file.path.display().to_string();
        rows.push(vec![
            path.clone(),
            file.format.clone(),
            file.chain.clone(),
            grouped(file.rows),
            grouped(file.skipped),
        ]);
        let reasons = file.skipped_reasons.iter().map(|reason| format!("  left out: {reason}"));
        notes.extend(reasons.chain(file.warnings.iter().map(|warning| format!("  note: {path}: {warning}"))));
    }
    let mut lines = table(&rows);
    lines.extend(notes);
    lines.push(format!(
        "{} transactions new, {} completed, {} known; {} blocks; {} rows left out{}",
        grouped(report.added),
        grouped(report.enriched),
        grouped(report.unchanged),
        grouped(report.blocks),
        grouped(report.skipped),
        report.generation.map(|generation| format!("; generation {generation}")).unwrap_or_default(),
    ));
    lines
}
