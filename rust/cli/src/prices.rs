//! `headwater prices`.

use std::path::PathBuf;

use clap::Subcommand;
use headwater_ingest::{import_exchange_rates, import_prices, list_exchange_rates, list_prices, read_sources};
use headwater_ledger::Cancel;
use headwater_ledger::store::ImportKind;

use super::Settings;
use super::error::Failure;
use super::interrupt::on_interrupt;
use super::output::Output;
use super::price_fetch::{self, FetchArguments};
use super::progress::{Bar, Unit};
use super::tokens::report;
use super::versions;

/// Arguments of `prices`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Read prices in US dollars, or exchange rates; each path becomes a version that can be rolled back.
    Import {
        /// The rate symbol, for files that do not name one.
        #[arg(long)]
        symbol: Option<String>,
        /// Read exchange rates: date, currency, units per US dollar; or a column per currency, as the European Central
        /// Bank publishes them.
        #[arg(long, conflicts_with = "symbol")]
        fx: bool,
        /// Name of the source [default: the name of the file or folder].
        #[arg(long)]
        source: Option<String>,
        /// Files, folders or patterns.
        #[arg(required = true, value_name = "PATH")]
        paths: Vec<PathBuf>,
    },
    /// Fetch prices in US dollars from CoinGecko or DefiLlama: those that the store does not have, as a version that can be
    /// rolled back.
    Fetch(Box<FetchArguments>),
    /// List the versions of prices and exchange rates.
    List,
    /// Take a version out of force.
    Rollback {
        /// Number of the version, from `list`.
        // `version` is the name of the flag that every command has.
        #[arg(id = "number", value_name = "VERSION")]
        version: u64,
    },
}

/// The kinds of versions of this command.
const KINDS: [ImportKind; 2] = [ImportKind::Prices, ImportKind::Fx];

/// Imports prices and exchange rates, and manages their versions.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let (symbol, fx, source, paths) = match arguments.command {
        Command::Import { symbol, fx, source, paths } => (symbol, fx, source, paths),
        Command::Fetch(arguments) => return price_fetch::run(settings, *arguments, output),
        Command::List => return versions::list(settings, &KINDS, output),
        Command::Rollback { version } => return versions::roll_back(settings, version, &KINDS, output),
    };
    let cancel = Cancel::new();
    on_interrupt(&cancel);
    let bar = Bar::new(Unit::Steps);
    let (what, imports) = if fx {
        let sources = read_sources(&paths, source.as_deref(), list_exchange_rates)?;
        ("exchange rates", import_exchange_rates(&settings.store()?, sources, &bar, &cancel)?)
    } else {
        let sources = read_sources(&paths, source.as_deref(), |file| list_prices(file, symbol.as_deref()))?;
        ("prices", import_prices(&settings.store()?, sources, &bar, &cancel)?)
    };
    drop(bar);
    report(what, &imports, output)
}
