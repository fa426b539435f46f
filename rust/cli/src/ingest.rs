//! `headwater ingest`.

use std::path::{Path, PathBuf};

use headwater_ingest::{Bounds, FORMATS, IngestReport, OnError, Options, Progress, ProgressState, SnapshotOptions};
use headwater_ledger::Cancel;
use headwater_ledger::store::{CommitReport, DoubleSpend, ImportKind, ImportVersion, Writer};
use headwater_types::{Chain, Network, Timestamp};

use super::Settings;
use super::derived;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::labels;
use super::output::{Output, grouped, say, table};
use super::progress::{Bar, Unit};

/// What `ingest` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain, for files that do not name one. Files that cannot be of it are refused. Without it, such a file is of the
    /// chain that its name or the files beside it tell, else of Ethereum.
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// The format, where it shall not be detected.
    #[arg(long, value_parser = format)]
    format: Option<String>,
    /// The network of a UTXO chain, where the files do not tell it: mainnet, testnet, signet or regtest.
    #[arg(long)]
    network: Option<Network>,
    /// Of a list of holders, or of token transfers exported by a web page: the contract of the token.
    #[arg(long, value_name = "ADDRESS")]
    contract: Option<String>,
    /// Of a list of holders: the block at whose end its balances were held.
    #[arg(long, value_name = "BLOCK")]
    at_block: Option<u64>,
    /// Of a list of holders: the time of that block in epoch seconds, where the store does not hold it.
    #[arg(long, value_name = "SECONDS")]
    at_time: Option<i64>,
    /// Of a list of holders, or of token transfers exported by a web page: decimals of the token, where amounts are in
    /// whole units.
    #[arg(long, value_name = "N")]
    decimals: Option<u8>,
    /// What to do with rows that cannot be understood, or that contradict the store or earlier rows.
    #[arg(long, value_enum, default_value_t = Broken::Stop)]
    on_error: Broken,
    /// Commit once so many transactions are gathered [default: 500000]. Fewer take less memory and more time.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    batch_transactions: Option<u32>,
    #[command(flatten)]
    bounds: BoundArguments,
    /// Make events of what is new: webhooks and streams hear of it as of followed blocks. Without it, loading history
    /// is silent.
    #[arg(long)]
    events: bool,
    /// Tell of each commit, once it is durable, by a line of JSON on standard error.
    #[arg(long)]
    report_commits: bool,
    /// Files, folders or patterns.
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
}

/// How large parts of files may be that are held in memory as a whole.
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
    /// How deep the values of a JSON document may be nested [default: 2560, call trees of 1024 calls].
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

/// Double spends that are named.
const MAX_NAMED: usize = 5;

/// `--on-error`.
#[derive(Debug, Clone, Copy, clap::ValueEnum)]
enum Broken {
    /// End with an error that names file, row, column and value.
    Stop,
    /// Leave the row out and count it.
    Skip,
}

/// What is told while the files are read.
#[derive(Debug, Clone, Copy)]
enum Told {
    /// How far it is, to people.
    Progress,
    /// Each commit too, to programs.
    Commits,
}

/// Hears how the ingest goes.
struct Listener {
    bar: Bar,
    told: Told,
}

impl Progress for Listener {
    fn update(&self, state: ProgressState<'_>) {
        Progress::update(&self.bar, state);
    }

    fn committed(&self, report: &CommitReport) {
        match self.told {
            Told::Progress => {}
            Told::Commits => say(&serde_json::json!({ "commit": report }).to_string()),
        }
    }
}

/// Reads files into the store.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let defaults = Options::default();
    let options = Options {
        batch_transactions: arguments.batch_transactions.map_or(defaults.batch_transactions, |number| number as usize),
        bounds: arguments.bounds.bounds(),
        chain: arguments.chain,
        format: arguments.format,
        network: arguments.network,
        snapshot: SnapshotOptions {
            contract: arguments.contract,
            at_block: arguments.at_block,
            at_time: arguments.at_time.map(Timestamp::new),
            decimals: arguments.decimals,
        },
        on_error: match arguments.on_error {
            Broken::Stop => OnError::Stop,
            Broken::Skip => OnError::Skip,
        },
        ..defaults
    };
    let store = settings.store()?;
    // So that a path that names nothing leaves no empty store behind.
    headwater_ingest::source::discover(&arguments.paths)?;
    let mut writer = Writer::open_or_create(store)?;
    let knew_all_tokens = writer.snapshot().unlisted_tokens()?.is_empty();
    writer.begin_load();
    if arguments.events {
        writer.begin_events();
    }
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let told = if arguments.report_commits { Told::Commits } else { Told::Progress };
    let listener = Listener { bar: Bar::new(Unit::Bytes), told };
    let report = headwater_ingest::ingest(&arguments.paths, &options, &mut writer, &listener, &cancel);
    drop(listener);
    let report = report?;
    writer.end_load(&cancel)?;
    derived::rebuild(&mut writer, &cancel)?;
    let (freezes, found) = labels::refresh_freezes(&mut writer, labels::now(), &cancel)?;
    let unlisted_tokens = if knew_all_tokens { new_tokens(&writer)? } else { None };
    let said = Said { report: &report, unlisted_tokens };
    output.report(&said, || {
        let note = unlisted_tokens.map(|count| {
            let tokens = if count == 1 { "token is" } else { "tokens are" };
            format!(
                "note: {} {tokens} in no registry, hidden from answers and without a price: `headwater tokens import \
                 FILE` adds a registry",
                grouped(count)
            )
        });
        let frozen = freezes.map(|version| {
            let count = grouped(found.counts.claims);
            format!("note: {count} freezes of token issuers are labels now, version {version}")
        });
        lines(&report).into_iter().chain(frozen).chain(note).collect()
    })
}

/// What is printed of an ingest.
#[derive(Debug, serde::Serialize)]
struct Said<'a> {
    #[serde(flatten)]
    report: &'a IngestReport,
    /// Tokens that the core registry does not know, where the first ones came in and nothing was imported.
    #[serde(skip_serializing_if = "Option::is_none")]
    unlisted_tokens: Option<u64>,
}

/// How many tokens are in no registry, where none was imported.
fn new_tokens(writer: &Writer) -> Result<Option<u64>, Failure> {
    let is_registry = |version: &ImportVersion| version.kind == ImportKind::Tokens && version.in_force;
    if writer.import_versions().iter().any(is_registry) {
        return Ok(None);
    }
    let count = writer.snapshot().unlisted_tokens()?.len() as u64;
    Ok(Some(count).filter(|count| *count > 0))
}

/// A reason with the file that it is about, where it does not name it itself.
fn of_file(path: &str, reason: &str) -> String {
    if reason.contains(path) { reason.to_owned() } else { format!("{path}, {reason}") }
}

/// The warnings of files, each once with the first file that it is about.
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
            0 => format!("  note: {first}: {warning}"),
            1 => format!("  note: {first} and 1 more file: {warning}"),
            more => format!(
                "  note: {first} and {} more files: {warning}",
                grouped(u64::try_from(more).unwrap_or(u64::MAX))
            ),
        }
    })
}

/// The first transactions that are left out, and how many more there are.
fn double_spends(found: &[DoubleSpend]) -> impl Iterator<Item = String> {
    let more = found.len().saturating_sub(MAX_NAMED);
    let more = (more > 0).then(|| format!("  left out: {} more double spends", grouped(more as u64)));
    found.iter().take(MAX_NAMED).map(|double| format!("  left out: {double}")).chain(more)
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
        let reasons = file.skipped_reasons.iter().map(|reason| format!("  left out: {}", of_file(&path, reason)));
        let omitted = file.omitted.iter().map(|omitted| {
            let rows = if omitted.rows == 1 { "row" } else { "rows" };
            let (count, first, reason) = (grouped(omitted.rows), &omitted.first, &omitted.reason);
            format!("  not counted: {path}: {count} {rows} (first: {first}): {reason}")
        });
        notes.extend(reasons.chain(omitted));
    }
    notes.extend(warnings(report));
    notes.extend(report.left_out.iter().map(|left| {
        let path = left.path.display().to_string();
        format!("  not read: {}", of_file(&path, &left.reason))
    }));
    notes.extend(double_spends(&report.double_spends));
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
