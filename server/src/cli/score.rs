//! `headwater score`.

use std::path::PathBuf;
use std::sync::Arc;

use headwater_engine::score::{Observed, ScoreColumns};
use headwater_engine::{Classifier, QueryEngine};
use headwater_ledger::{Cancel, Store};
use headwater_table::score::{Addresses, ScoreError, Scored, score_file};
use headwater_types::Chain;
use serde_json::json;

use super::Shared;
use super::error::Failure;
use super::intelligence::intelligence;
use super::interrupt::on_interrupt;
use super::output::{Output, grouped};
use super::progress::{Bar, Unit};
use crate::causes;

/// What `score` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The chain.
    #[arg(long, value_parser = super::chain(), ignore_case = true)]
    chain: Chain,
    /// Addresses: .parquet or .csv with a column `address`, or text with one per line [default: all that the store holds of
    /// the chain].
    #[arg(long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// The Parquet file that is written. Until it is whole, its parts lie in FILE.parts beside it.
    #[arg(long, value_name = "FILE")]
    output: PathBuf,
    /// What is computed, with commas between: risk, class, features.
    #[arg(long, value_name = "NAMES", default_value = "risk,class")]
    columns: ScoreColumns,
    /// Compute features as if only this share of all addresses had been observed, and an address only through them.
    #[arg(long, value_name = "SHARE", value_parser = share, hide = true)]
    observed_share: Option<f64>,
    /// Which addresses are observed.
    #[arg(long, value_name = "N", default_value_t = 0, hide = true, requires = "observed_share")]
    observed_seed: u64,
    /// A classifier in the place of that of the program.
    #[arg(long, value_name = "FILE")]
    model: Option<PathBuf>,
}

/// Scores addresses into a file.
pub(super) fn run(shared: &Shared, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    if arguments.output.extension().is_none_or(|ending| !ending.eq_ignore_ascii_case("parquet")) {
        let named = arguments.output.display();
        return Err(Failure::usage(format!(
            "--output: {named} does not end in .parquet; scores are written as Parquet"
        )));
    }
    let mut intelligence = intelligence(&shared.settings(&[])?)?;
    if let Some(file) = &arguments.model {
        let classifier = read(file, arguments.chain)?;
        intelligence.classifiers = Arc::new((*intelligence.classifiers).clone().with(classifier));
    }
    let store = Store::open(shared.store()?)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let engine = QueryEngine::new(Arc::new(store)).with_intelligence(intelligence);
    let scorer = engine.scorer(arguments.chain, arguments.columns).map_err(|error| Failure::from_engine(&error))?;
    let scorer =
        scorer.observed(arguments.observed_share.map(|share| Observed { share, seed: arguments.observed_seed }));
    let addresses = arguments.input.clone().map_or(Addresses::All, Addresses::File);
    let bar = Bar::new(Unit::Steps);
    let progress = |done, total| bar.update(done, total, "addresses");
    let scored = score_file(&scorer, &addresses, &arguments.output, &progress, &cancel);
    drop(bar);
    let Scored { rows, failed, resumed } = scored.map_err(|error| match &error {
        ScoreError::Engine(error) => Failure::from_engine(error),
        ScoreError::Input { .. } | ScoreError::OtherJob { .. } => Failure::usage(error.to_string()),
        ScoreError::File { .. } => Failure::failed(causes(&error)),
    })?;
    let file = arguments.output.display().to_string();
    let report = json!({"file": file, "rows": rows, "failed": failed, "resumed": resumed});
    output.report(&report, || {
        let mut lines = vec![format!("{} addresses in {file}", grouped(rows))];
        if resumed > 0 {
            lines.push(format!("{} of them were scored by an earlier run", grouped(resumed)));
        }
        if failed > 0 {
            lines.push(format!("{} of them have no class or features: the column `error` says why", grouped(failed)));
        }
        lines
    })
}

/// Reads a share of addresses.
fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| format!("{text:?} is no share; expected a number above 0 and at most 1"))
}

/// Reads a model of a chain.
fn read(file: &std::path::Path, chain: Chain) -> Result<Classifier, Failure> {
    let refused = |why: String| Failure::usage(format!("--model: {} cannot be used: {why}", file.display()));
    let bytes = std::fs::read(file).map_err(|error| refused(error.to_string()))?;
    let classifier = Classifier::parse(&bytes).map_err(|error| refused(causes(&error)))?;
    match classifier.model().chain() {
        of if of == chain => Ok(classifier),
        of => Err(refused(format!("it was trained for {of}, and {chain} is scored"))),
    }
}
