//! `headwater ingest`.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use headwater_ingest::{
    Bounds, FORMATS, FeedItems, IngestReport, LoadOptions, LoadReport, OnError, Options, Progress, ProgressState,
    SnapshotOptions, load,
};
use headwater_ledger::Cancel;
use headwater_ledger::store::{CommitReport, DoubleSpend};
use headwater_types::{Chain, Network, Timestamp};

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::labels;
use super::load_notes::notes_of_store;
use super::nodes::{self, NodeArguments};
use super::output::{Output, grouped, say, table};
use super::progress::{Bar, Unit};

/// The arguments of `ingest`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Chain of files that do not name one; files of other chains are refused [default: as the name of the file or the
    /// files beside it show, else Ethereum].
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Input format; detected if omitted.
    #[arg(long, value_parser = format)]
    format: Option<String>,
    /// Network of a UTXO chain, for files that do not state it: mainnet, testnet, signet or regtest.
    #[arg(long)]
    network: Option<Network>,
    /// Token contract of a list of holders, or of token transfers exported by a web page.
    #[arg(long, value_name = "ADDRESS")]
    contract: Option<String>,
    /// Block at whose end the balances of a list of holders were held.
    #[arg(long, value_name = "BLOCK")]
    at_block: Option<u64>,
    /// Time of that block in epoch seconds, if the store does not contain the block.
    #[arg(long, value_name = "SECONDS")]
    at_time: Option<i64>,
    /// Decimals of the token of a list of holders, or of token transfers exported by a web page, if amounts are in whole
    /// units.
    #[arg(long, value_name = "N")]
    decimals: Option<u8>,
    /// Treatment of rows that cannot be understood, or that contradict the store or earlier rows.
    #[arg(long, value_enum, default_value_t = Broken::Stop)]
    on_error: Broken,
    /// Transactions per commit [default: 500000]. Fewer take less memory and more time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_transactions: Option<u32>,
    #[command(flatten)]
    bounds: BoundArguments,
    /// Emit events for new data to webhooks and streams, as for followed blocks.
    #[arg(long)]
    events: bool,
    /// Print one JSON line per durable commit on standard error.
    #[arg(long)]
    report_commits: bool,
    #[command(flatten)]
    nodes: NodeArguments,
    /// Files, folders or patterns.
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// The maximum sizes of parts of files that are in memory as a whole.
#[derive(Debug, clap::Args)]
#[command(next_help_heading = "Bounds on hostile or very large files")]
struct BoundArguments {
    /// Bytes of a line, a row of a table or an item of a list of rows [default: 64 MiB].
    #[arg(long = "max-line-bytes", value_name = "BYTES")]
    line_bytes: Option<usize>,
    /// Bytes of a JSON document, such as an answer of a node [default: 512 MiB].
    #[arg(long = "max-document-bytes", value_name = "BYTES")]
    document_bytes: Option<usize>,
    /// Values of a JSON document, each of 32 to 56 bytes in memory [default: 32000000].
    #[arg(long = "max-document-values", value_name = "N")]
    document_values: Option<usize>,
    /// Nesting of the values of a JSON document [default: 2560, call trees of 1024 calls].
    #[arg(long = "max-document-depth", value_name = "N", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    document_depth: Option<u16>,
    /// Bytes of one column of a row group of a Parquet file, decompressed [default: 2 GiB].
    #[arg(long = "max-column-bytes", value_name = "BYTES")]
    column_bytes: Option<usize>,
}

impl BoundArguments {
    fn bounds(&self) -> Bounds {
        let defaults = Bounds::default();
        Bounds {
            line_bytes: self.line_bytes.unwrap_or(defaults.line_bytes),
            document_bytes: self.document_bytes.unwrap_or(defaults.document_bytes),
            document_values: self.document_values.unwrap_or(defaults.document_values),
            document_depth: self.document_depth.map_or(defaults.document_depth, usize::from),
            column_bytes: self.column_bytes.unwrap_or(defaults.column_bytes),
        }
    }
}

/// Reads the name of a format, or its part before the slash.
fn format(text: &str) -> Result<String, String> {
    let is_known = |name: &str| name == text || name.split('/').next() == Some(text);
    if FORMATS.iter().any(|format| is_known(format.name())) {
        return Ok(text.to_owned());
    }
    let names: Vec<&str> = FORMATS.iter().map(|format| format.name()).collect();
    Err(format!("expected one of {}", names.join(", ")))
}

/// The maximum number of double spends that are named.
const MAX_NAMED: usize = 5;

/// `--on-error`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Broken {
    /// End with an error that names file, row, column and value.
    Stop,
    /// Leave the row out and count it.
    Skip,
}

/// Shows the progress of a load.
struct LoadProgress {
    reading: Bar,
    building: OnceCell<Bar>,
    commits: CommitLines,
}

/// `--report-commits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CommitLines {
    Omitted,
    Printed,
}

impl Progress for LoadProgress {
    fn update(&self, state: ProgressState<'_>) {
        Progress::update(&self.reading, state);
    }

    fn committed(&self, report: &CommitReport) {
        if self.commits == CommitLines::Printed {
            say(&serde_json::json!({ "commit": report }).to_string());
        }
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.reading.clear();
        self.building.get_or_init(|| Bar::new(Unit::Steps)).building(kind, done, total);
    }
}

impl Arguments {
    fn options(&self) -> LoadOptions {
        let defaults = Options::default();
        let reading = Options {
            batch_transactions: self.batch_transactions.map_or(defaults.batch_transactions, |number| number as usize),
            bounds: self.bounds.bounds(),
            chain: self.chain,
            format: self.format.clone(),
            network: self.network,
            snapshot: SnapshotOptions {
                contract: self.contract.clone(),
                at_block: self.at_block,
                at_time: self.at_time.map(Timestamp::new),
                decimals: self.decimals,
            },
            on_error: match self.on_error {
                Broken::Stop => OnError::Stop,
                Broken::Skip => OnError::Skip,
            },
            ..defaults
        };
        let feed = if self.events { FeedItems::PerBlock } else { FeedItems::None };
        LoadOptions { reading, feed, imported_at: labels::now() }
    }
}

/// Reads files into the store.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let addresses = arguments.nodes.addresses(!arguments.paths.is_empty())?;
    match (arguments.chain, addresses) {
        (Some(chain), [_, ..]) => return nodes::run(settings, chain, addresses, &arguments.nodes, output),
        (None, [_, ..]) => return Err(Failure::usage("a load from nodes needs --chain")),
        (_, []) if arguments.paths.is_empty() => {
            return Err(Failure::usage("nothing to load: name files or folders, or a node with --chain and --rpc URL"));
        }
        (_, []) => {}
    }
    let options = arguments.options();
    let store = settings.store()?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let commits = if arguments.report_commits { CommitLines::Printed } else { CommitLines::Omitted };
    let progress = LoadProgress { reading: Bar::new(Unit::Bytes), building: OnceCell::new(), commits };
    let report = load(&store, &arguments.paths, &options, &progress, &cancel);
    drop(progress);
    let report = report?;
    output.report(&report, || lines(&report))
}

/// Returns a reason with the file that it is about.
fn of_file(path: &str, reason: &str) -> String {
    if reason.contains(path) { reason.to_owned() } else { format!("{path}, {reason}") }
}

/// Returns the warnings of files, each once with the first file that it is about.
fn warnings(report: &IngestReport) -> impl Iterator<Item = String> {
    let mut files_of: Vec<(&str, Vec<&Path>)> = Vec::new();
    for file in &report.files {
        for warning in &file.warnings {
            match files_of.iter_mut().find(|(known, _)| known == warning) {
                Some((_, files)) => files.push(&file.path),
                None => files_of.push((warning, vec![&file.path])),
            }
        }
    }
    files_of.into_iter().map(|(warning, files)| {
        let first = files[0].display();
        match files.len() - 1 {
            0 => format!("note: {first}: {warning}"),
            1 => format!("note: {first} and 1 more file: {warning}"),
            more => {
                format!("note: {first} and {} more files: {warning}", grouped(u64::try_from(more).unwrap_or(u64::MAX)))
            }
        }
    })
}

/// Names the first transactions that are left out, and counts the others.
fn double_spends(found: &[DoubleSpend]) -> impl Iterator<Item = String> {
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = (more > 0).then(|| format!("left out: {} more double spends", grouped(more as u64)));
    found.iter().take(MAX_NAMED).map(|double| format!("left out: {double}")).chain(more)
}

/// Describes a load.
fn lines(report: &LoadReport) -> Vec<String> {
    let mut lines = table(&rows_of_files(&report.ingest));
    lines.extend(notes_of_files(&report.ingest).into_iter().map(|note| format!("  {note}")));
    lines.push(summary(&report.ingest));
    lines.extend(notes_of_store(&report.store).into_iter().map(|note| format!("note: {note}")));
    lines
}

/// Returns what a reader of the answers should know about a load, in sentences: rows and files that were left out, warnings
/// about files, and advice about the store.
#[must_use]
pub fn notes(report: &LoadReport) -> Vec<String> {
    notes_of_files(&report.ingest).into_iter().chain(notes_of_store(&report.store)).collect()
}

fn rows_of_files(report: &IngestReport) -> Vec<Vec<String>> {
    let mut rows = vec![["file", "format", "chain", "rows", "left out"].map(str::to_owned).to_vec()];
    rows.extend(report.files.iter().map(|file| {
        let (path, rows, skipped) = (file.path.display().to_string(), grouped(file.rows), grouped(file.skipped));
        vec![path, file.format.clone(), file.chain.clone(), rows, skipped]
    }));
    rows
}

fn notes_of_files(report: &IngestReport) -> Vec<String> {
    let mut notes = Vec::new();
    for file in &report.files {
        let path = file.path.display().to_string();
        let reasons = file.skipped_reasons.iter().map(|reason| format!("left out: {}", of_file(&path, reason)));
        let omitted = file.omitted.iter().map(|omitted| {
            let rows = if omitted.rows == 1 { "row" } else { "rows" };
            let (count, first, reason) = (grouped(omitted.rows), &omitted.first, &omitted.reason);
            format!("not counted: {path}: {count} {rows} (first: {first}): {reason}")
        });
        notes.extend(reasons.chain(omitted));
    }
    notes.extend(warnings(report));
    notes.extend(report.left_out.iter().map(|left| {
        let path = left.path.display().to_string();
        format!("not read: {}", of_file(&path, &left.reason))
    }));
    notes.extend(double_spends(&report.double_spends));
    notes
}

fn summary(report: &IngestReport) -> String {
    format!(
        "{} transactions new, {} completed, {} known; {} blocks; {} rows left out{}",
        grouped(report.added),
        grouped(report.enriched),
        grouped(report.unchanged),
        grouped(report.blocks),
        grouped(report.skipped),
        report.generation.map(|generation| format!("; generation {generation}")).unwrap_or_default(),
    )
}
