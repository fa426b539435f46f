//! `headwater prices fetch`: prices from a service.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use headwater_ledger::Cancel;
use headwater_node::prices::{
    CurrentPrices, FetchMode, KeyType, KnownGaps, PriceOptions, PriceProgress, PriceReport, PriceService, RefusedPrice,
    ServiceOptions, Step, SymbolReport, fetch_prices,
};

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::labels;
use super::output::{Output, date, grouped, table};
use super::progress::{Bar, Unit};
use super::when;

/// The variable of the environment that has the key, unless another one is named.
const KEY_VARIABLE: &str = "HEADWATER_PRICES_KEY";

/// Arguments of `prices fetch`.
#[derive(Debug, clap::Args)]
pub(super) struct FetchArguments {
    /// The service, by the form of its interface: coingecko or defillama.
    #[arg(long, value_name = "SERVICE", value_parser = str::parse::<PriceService>)]
    source: PriceService,
    /// Symbols, separated by commas; SYMBOL=ID also names the id at the service [default: native coins and verified tokens of
    /// the store, without pegged ones of which no price was imported].
    #[arg(long, value_name = "SYMBOL", value_delimiter = ',')]
    symbols: Vec<String>,
    /// First day or time [default: the day before the first block].
    #[arg(long, value_name = "TIME", value_parser = when::from, allow_hyphen_values = true)]
    from: Option<i64>,
    /// Last day or time [default: now].
    #[arg(long, value_name = "TIME", value_parser = when::until, allow_hyphen_values = true)]
    to: Option<i64>,
    /// Length of a period that has one price: 1d or 1h.
    #[arg(long, value_name = "STEP", default_value = "1d", value_parser = str::parse::<Step>)]
    step: Step,
    /// Address of a proxy or of a copy of the service; {key} in it becomes the key [default: that of the service].
    #[arg(long, env = "HEADWATER_PRICES_URL", hide_env_values = true)]
    url: Option<String>,
    /// Environment variable that has the key [default: `HEADWATER_PRICES_KEY`, where it is set].
    #[arg(long, value_name = "NAME", conflicts_with = "key_file")]
    key_env: Option<String>,
    /// File that has the key.
    #[arg(long, value_name = "PATH")]
    key_file: Option<PathBuf>,
    /// Plan of the key: demo, which reaches 365 days back at CoinGecko, or pro.
    #[arg(long, value_name = "PLAN", default_value = "demo", value_parser = str::parse::<KeyType>)]
    key_type: KeyType,
    /// Requests a second [default: what the service allows; of another address as many as it answers].
    #[arg(long, value_name = "N", value_parser = rate)]
    requests_per_second: Option<f64>,
    /// Store the current prices too.
    #[arg(long)]
    current: bool,
    /// Also ask for periods of which the service had no price, or one that was set aside.
    #[arg(long)]
    ask_again: bool,
    /// Print what would be asked for, and ask for nothing.
    #[arg(long)]
    plan: bool,
}

fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "expected a number above zero".to_owned())
}

/// Shows the progress of a fetch.
struct FetchProgress {
    periods: Bar,
    sidecars: Mutex<Option<Bar>>,
}

impl PriceProgress for FetchProgress {
    fn update(&self, done: u64, total: u64) {
        self.periods.update(done, total, "prices");
    }

    fn building(&self, kind: &'static str, done: u64, total: u64) {
        self.periods.clear();
        let mut bar = self.sidecars.lock().unwrap_or_else(PoisonError::into_inner);
        bar.get_or_insert_with(|| Bar::new(Unit::Steps)).update(done, total, &format!("building {kind}"));
    }
}

/// Fetches the missing prices of a service.
pub(super) fn run(settings: &Settings, arguments: FetchArguments, output: Output) -> Result<(), Failure> {
    let store = settings.store()?;
    let options = options(arguments)?;
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let progress = FetchProgress { periods: Bar::new(Unit::Steps), sidecars: Mutex::default() };
    let report = fetch_prices(&store, &options, &progress, &cancel);
    drop(progress);
    let report = report.map_err(|error| Failure::from_error(&error))?;
    output.report(&report, || lines(&report, options.mode))?;
    report.failure.map_or(Ok(()), |failure| Err(Failure::failed(failure)))
}

fn options(arguments: FetchArguments) -> Result<PriceOptions, Failure> {
    let key = match (&arguments.key_env, &arguments.key_file) {
        (None, None) => variable(KEY_VARIABLE),
        (Some(name), _) => Some(variable(name).ok_or_else(|| {
            Failure::usage(format!("--key-env {name}: the environment has no such variable; set it to the key"))
        })?),
        (None, Some(path)) => Some(key_in(path)?),
    };
    let service = ServiceOptions {
        service: arguments.source,
        url: arguments.url.filter(|url| !url.is_empty()),
        key,
        key_type: arguments.key_type,
        requests_per_second: arguments.requests_per_second,
    };
    Ok(PriceOptions {
        symbols: arguments.symbols,
        from: arguments.from,
        to: arguments.to,
        step: arguments.step,
        gaps: if arguments.ask_again { KnownGaps::AskAgain } else { KnownGaps::Skip },
        current: if arguments.current { CurrentPrices::Stored } else { CurrentPrices::Omitted },
        mode: if arguments.plan { FetchMode::Plan } else { FetchMode::Fetch },
        ..PriceOptions::new(service, labels::now())
    })
}

#[expect(clippy::disallowed_methods, reason = "the user names the variable that has the key")]
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads a key from a file.
fn key_in(path: &Path) -> Result<String, Failure> {
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::failed(format!("cannot read the key in {}: {error}", path.display())))?;
    Ok(text.trim().to_owned())
}

fn lines(report: &PriceReport, mode: FetchMode) -> Vec<String> {
    let PriceReport { source, step, requests, stored, version, symbols, .. } = report;
    let first = match (mode, version) {
        (FetchMode::Plan, _) => {
            let open = symbols.iter().map(|row| row.open).sum();
            format!("{source}, {step}: {} prices to ask for; requests: {requests}", grouped(open))
        }
        (FetchMode::Fetch, Some(version)) => {
            format!("{source}, {step}: {} prices stored as version {version}; requests: {requests}", grouped(*stored))
        }
        (FetchMode::Fetch, None) => format!("{source}, {step}: no new price; requests: {requests}"),
    };
    let head =
        ["symbol", "id", "from", "to", "held", "asked", "stored", "set aside", "missing", "out of reach", "open"];
    let rows: Vec<_> = std::iter::once(head.map(str::to_owned).to_vec()).chain(symbols.iter().map(row)).collect();
    let mut lines = vec![first];
    lines.extend(table(&rows));
    lines.extend(notes(report).into_iter().map(|note| format!("note: {note}")));
    lines
}

fn row(row: &SymbolReport) -> Vec<String> {
    let counts = [row.held, row.asked, row.stored, row.set_aside, row.missing, row.out_of_reach, row.open];
    let day = |secs: i64| date(secs).chars().take(10).collect();
    let mut cells = vec![row.symbol.clone(), row.id.clone().unwrap_or_default(), day(row.first), day(row.last)];
    cells.extend(counts.map(grouped));
    cells
}

/// Returns the notes of a fetch in sentences: refused prices, problems of symbols, and days that lost their price.
#[must_use]
pub fn notes(report: &PriceReport) -> Vec<String> {
    let mut notes = Vec::new();
    for row in &report.symbols {
        notes.extend(row.problem.iter().map(|problem| format!("{}: not fetched: {problem}", row.symbol)));
        notes.extend(row.refused.iter().map(|price| format!("{}: {}", row.symbol, refused(price))));
        if row.out_of_reach > 0 {
            notes.push(format!(
                "{}: {} are older than the 365 days that the free plan of CoinGecko reaches; a key of a paid plan reaches \
                 them (--key-type)",
                row.symbol,
                grouped(row.out_of_reach)
            ));
        }
    }
    notes.extend(report.notes.iter().cloned());
    notes
}

fn refused(price: &RefusedPrice) -> String {
    let usd = price.usd.map(|usd| format!("{usd} US dollars ")).unwrap_or_default();
    format!("{usd}of {} not stored: {}", date(price.time.secs()), price.why)
}
