//! `headwater score`.

use std::path::PathBuf;
use std::slice;
use std::sync::Arc;

use headwater_engine::score::{
    ADDRESSES_PER_PART, Addresses, ObservationSample, ScoreColumns, ScoreError, ScoreJob, ScoreProgress, Scorer,
};
use headwater_engine::{ErrorKind, Intelligence, QueryEngine};
use headwater_ledger::Cancel;
use headwater_table::score::{AddressSource, ParquetScores};
use headwater_types::Chain;

use super::Settings;
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
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Chain,
    /// Addresses: .parquet or .csv with a column `address`, or text with one per line [default: all that the store holds of
    /// the chain].
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The Parquet file. Until it is whole, its parts lie in FILE.parts beside it.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
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
    #[arg(long, value_name = "N", default_value_t = ADDRESSES_PER_PART, hide = true)]
    addresses_per_part: usize,
}

/// Scores addresses into a file.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    if arguments.output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("parquet")) {
        let named = arguments.output.display();
        return Err(Failure::usage(format!(
            "--output: {named} does not end in .parquet; scores are written as Parquet"
        )));
    }
    let scorer = scorer(settings, arguments)?;
    output.warn(&scorer.warnings());
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Steps);
    let progress = |ScoreProgress { done, total, resumed }| bar.update_from(resumed, (done, total), "addresses");
    let input = arguments.input.clone().map(AddressSource::File);
    let job = ScoreJob {
        scorer: &scorer,
        addresses: input.as_ref().map_or(Addresses::All, |list| Addresses::List(list)),
        output: &arguments.output,
        addresses_per_part: arguments.addresses_per_part.max(1),
    };
    let report = job.run::<ParquetScores>(&progress, &cancel);
    drop(bar);
    let report = report.map_err(|error| failure(&error))?;
    output.report(&report, || {
        let mut lines = vec![format!("{} addresses in {}", grouped(report.rows), report.file)];
        if report.resumed > 0 {
            lines.push(format!("{} of them were scored by an earlier run", grouped(report.resumed)));
        }
        if report.failed > 0 {
            lines.push(format!("{} of them lack something: the column `error` says what", grouped(report.failed)));
        }
        lines
    })
}

fn scorer(settings: &Settings, arguments: &Arguments) -> Result<Scorer, Failure> {
    let mut intelligence = intelligence(settings)?;
    if let Some(file) = &arguments.model {
        let none = Intelligence { classifiers: Arc::default(), ..intelligence };
        intelligence = with_models(none, "--model", slice::from_ref(file))?;
        if intelligence.classifiers.of(arguments.chain).is_none() {
            let (file, chain) = (file.display(), arguments.chain);
            return Err(Failure::usage(format!("--model: {file} is a model of another chain than {chain}")));
        }
    }
    let store = arguments.generation.open(settings)?;
    let engine = QueryEngine::new(store).with_intelligence(intelligence);
    let observed = arguments.observed_share.map(|share| ObservationSample { share, seed: arguments.observed_seed });
    let scorer = engine.scorer(arguments.chain, arguments.columns);
    let scorer = scorer.and_then(|scorer| scorer.observed(observed));
    scorer.map_err(|error| Failure::from_engine(&error))
}

fn failure(error: &ScoreError) -> Failure {
    match error {
        ScoreError::Engine(error) if error.kind == ErrorKind::Cancelled => {
            Failure::failed("stopped before the file was whole: the same command resumes with the first missing part")
        }
        ScoreError::Engine(error) => Failure::from_engine(error),
        ScoreError::Input { .. } | ScoreError::OtherJob { .. } => Failure::usage(error.to_string()),
        ScoreError::File { .. } | ScoreError::Busy { .. } | ScoreError::Columns(_) => {
            Failure::failed(error.to_string())
        }
    }
}
