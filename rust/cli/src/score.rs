//! `headwater score`.

use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;

use headwater_engine::score::{
    ADDRESSES_PER_PART, Addresses, FolderLock, HUB_MOVEMENTS, ObservationSample, PartSize, ScoreColumns, ScoreError,
    ScoreJob, ScoreProgress, Scorer, Shard, join_parts,
};
use headwater_engine::{ErrorKind, Intelligence, QueryEngine};
use headwater_ledger::Cancel;
use headwater_table::score::{AddressSource, ParquetScores};
use headwater_types::Chain;

use super::Settings;
use super::address_list;
use super::error::Failure;
use super::generation::GenerationArgument;
use super::intelligence::{intelligence, with_models};
use super::interrupt::on_interrupt;
use super::output::{Output, grouped};
use super::progress::{Bar, Unit};

/// The arguments of `score`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = super::chain(), ignore_case = true, required_unless_present = "join")]
    chain: Option<Chain>,
    /// Addresses: .parquet or .csv with a column `address`, or text with one per line; `-` reads them from standard input
    /// [default: all that the store holds of the chain].
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The Parquet file. Until it is whole, its parts lie in FILE.parts beside it [default with --join: the name of the
    /// folder without `.parts`].
    #[arg(long, value_name = "FILE", required_unless_present = "join")]
    output: Option<PathBuf>,
    /// Make only these of the parts, such as 1/8 for the first of eight shards, for several processes or machines. --join
    /// makes the file.
    #[arg(long, value_name = "NUMBER/COUNT")]
    shard: Option<Shard>,
    /// Join the parts in this folder, which shards made, into the file. Needs no store.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["chain", "input", "columns", "shard", "model", "generation"])]
    join: Option<PathBuf>,
    /// Columns, separated by commas: risk, class, features.
    #[arg(long, value_name = "NAMES", default_value = "risk,class")]
    columns: ScoreColumns,
    /// A model file in place of the classifier of the chain.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
    #[command(flatten)]
    generation: GenerationArgument,
    /// Compute features as if only this share of all addresses had been observed, and an address only through them.
    #[arg(long, value_name = "SHARE", hide = true)]
    observed_share: Option<f64>,
    /// Seed of the choice of observed addresses.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true, requires = "observed_share")]
    observed_seed: u64,
    /// Addresses of a part; for tests.
    #[arg(long, value_name = "N", default_value_t = ADDRESSES_PER_PART, value_parser = at_least_one, hide = true)]
    addresses_per_part: usize,
    /// Movements from which an address is a part of its own; for tests.
    #[arg(long, value_name = "N", default_value_t = HUB_MOVEMENTS, value_parser = clap::value_parser!(u64).range(1..), hide = true)]
    hub_movements: u64,
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse::<usize>() {
        Ok(0) => Err("expected at least 1".to_owned()),
        Ok(number) => Ok(number),
        Err(error) => Err(error.to_string()),
    }
}

/// Scores addresses into a file, makes a shard of its parts, or joins them.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let file = file(arguments)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    if let Some(folder) = &arguments.join {
        return join(folder, &file, output, &cancel);
    }
    let chain = arguments.chain.ok_or_else(|| Failure::usage("--chain: name the chain".to_owned()))?;
    let scorer = scorer(settings, arguments, chain)?;
    output.warn(&scorer.warnings());
    let input = arguments.input.as_deref().map(source).transpose()?;
    let job = ScoreJob {
        scorer: &scorer,
        addresses: input.as_ref().map_or(Addresses::All, |list| Addresses::List(list)),
        output: &file,
        part_size: PartSize { addresses: arguments.addresses_per_part, hub_movements: arguments.hub_movements },
    };
    let bar = Bar::new(Unit::Steps);
    let progress = |ScoreProgress { done, total, resumed }| bar.update_from(resumed, (done, total), "addresses");
    if let Some(shard) = arguments.shard {
        let report = job.run_shard::<ParquetScores>(shard, &progress, &cancel);
        drop(bar);
        let report = report.map_err(|error| failure(&error))?;
        return output.report(&report, || {
            let (parts, total) = (grouped(report.parts), grouped(report.parts_total));
            let mut lines =
                vec![format!("{} addresses in {parts} of {total} parts in {}", grouped(report.rows), report.folder)];
            lines.extend(remarks(report.resumed, report.failed));
            lines.push(format!("when all shards are done: headwater score --join {}", report.folder));
            lines
        });
    }
    let report = job.run::<ParquetScores>(&progress, &cancel);
    drop(bar);
    let report = report.map_err(|error| failure(&error))?;
    output.report(&report, || {
        let mut lines = vec![format!("{} addresses in {}", grouped(report.rows), report.file)];
        lines.extend(remarks(report.resumed, report.failed));
        lines
    })
}

/// Returns the addresses of a file, or of standard input.
fn source(file: &Path) -> Result<AddressSource, Failure> {
    if file.as_os_str() != "-" {
        return Ok(AddressSource::File(file.to_owned()));
    }
    let given = address_list::of_standard_input()?;
    Ok(AddressSource::of_texts(given.into_iter().map(|one| one.text)))
}

fn join(folder: &Path, file: &Path, output: Output, cancel: &Cancel) -> Result<(), Failure> {
    let bar = Bar::new(Unit::Steps);
    let progress = |ScoreProgress { done, total, .. }| bar.update(done, total, "addresses");
    let joined =
        FolderLock::existing(folder).and_then(|lock| join_parts::<ParquetScores>(&lock, file, &progress, cancel));
    drop(bar);
    let report = joined.map_err(|error| failure(&error))?;
    output.report(&report, || {
        let mut lines = vec![format!("{} addresses in {}", grouped(report.rows), report.file)];
        lines.extend(remarks(0, report.failed));
        lines
    })
}

/// Returns the file to write.
fn file(arguments: &Arguments) -> Result<PathBuf, Failure> {
    let is_parts = |folder: &&PathBuf| folder.extension().is_some_and(|ending| ending == "parts");
    let of_folder = || arguments.join.as_ref().filter(is_parts).map(|folder| folder.with_extension(""));
    let file = arguments.output.clone().or_else(of_folder).unwrap_or_default();
    if file.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("parquet")) {
        return Ok(file);
    }
    let named = match (&arguments.output, &arguments.join) {
        (None, Some(folder)) => {
            format!("--join: {} does not end in .parquet.parts; name the file with --output", folder.display())
        }
        _ => format!("--output: {} does not end in .parquet; scores are written as Parquet", file.display()),
    };
    Err(Failure::usage(named))
}

fn remarks(resumed: u64, failed: u64) -> Vec<String> {
    let mut lines = Vec::new();
    if resumed > 0 {
        lines.push(format!("{} of them were scored by an earlier run", grouped(resumed)));
    }
    if failed > 0 {
        lines.push(format!("{} of them lack something: the column `error` says what", grouped(failed)));
    }
    lines
}

fn scorer(settings: &Settings, arguments: &Arguments, chain: Chain) -> Result<Scorer, Failure> {
    let mut intelligence = intelligence(settings)?;
    if let Some(file) = &arguments.model {
        let none = Intelligence { classifiers: Arc::default(), ..intelligence };
        intelligence = with_models(none, "--model", slice::from_ref(file))?;
        if intelligence.classifiers.of(chain).is_none() {
            let file = file.display();
            return Err(Failure::usage(format!("--model: {file} is a model of another chain than {chain}")));
        }
    }
    let store = arguments.generation.open(settings)?;
    let engine = QueryEngine::new(store).with_intelligence(intelligence);
    let observed = arguments.observed_share.map(|share| ObservationSample { share, seed: arguments.observed_seed });
    let scorer = engine.scorer(chain, arguments.columns);
    let scorer = scorer.and_then(|scorer| scorer.observed(observed));
    scorer.map_err(|error| Failure::from_engine(&error))
}

fn failure(error: &ScoreError) -> Failure {
    match error {
        ScoreError::Engine(error) if error.kind == ErrorKind::Cancelled => {
            Failure::failed("stopped before the file was whole: the same command resumes with the first missing part")
        }
        ScoreError::Engine(error) => Failure::from_engine(error),
        ScoreError::Input { .. }
        | ScoreError::OtherJob { .. }
        | ScoreError::OtherRows { .. }
        | ScoreError::Job { .. } => Failure::usage(error.to_string()),
        ScoreError::File { .. }
        | ScoreError::Busy { .. }
        | ScoreError::FolderGone { .. }
        | ScoreError::PartsMissing { .. }
        | ScoreError::Columns(_) => Failure::failed(error.to_string()),
    }
}
