//! The commands of `headwater` that need no gateway, one file each. `server` adds `serve` and `doctor` and reads the
//! configuration.
#![forbid(unsafe_code)]
// Its methods cannot be named as functions: they hold for two lifetimes that only a closure leaves open.
#![expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]

mod admin;
mod audit;
mod change;
mod cluster;
mod compact;
mod credits;
mod cross_chain;
mod derived;
mod error;
mod export;
mod exposure;
mod ingest;
mod intelligence;
pub mod interrupt;
mod keys;
mod labels;
pub mod output;
mod path;
mod plans;
mod prices;
mod progress;
mod query;
mod risk;
mod score;
mod simulate;
mod state;
mod stats;
mod tokens;
mod trace;
mod usage;
mod verify;
mod versions;
mod words;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use headwater_engine::Endpoint;
use headwater_state::{AdminService, Home, Place, Plan};
use headwater_types::Chain;

pub use error::{Failure, Refusal};
pub use intelligence::intelligence;
use output::Output;

/// The settings that commands use, after defaults, file, environment and flags.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The folder of the chain data.
    pub store: Option<PathBuf>,
    /// The folder of keys, credits and audit, or a `postgres://` address; beside the store where none is named.
    pub state: Option<String>,
    /// The folder of the secrets of a state in `PostgreSQL`.
    pub secrets_dir: Option<PathBuf>,
    /// The file of the parameters of risk; the built-in ones where none is named.
    pub risk_parameters: Option<PathBuf>,
    /// The files of classifiers; the built-in ones where none is named.
    pub classifiers: Vec<PathBuf>,
    /// The plan of keys without one of their own.
    pub default_plan: Plan,
    /// The file that the settings were read from, besides the environment.
    pub config_file: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a made-up economy on four chains into the store, the same for the same seed: for looking around.
    Simulate(simulate::Arguments),
    /// Read chain data from files into the store.
    Ingest(ingest::Arguments),
    /// Token registries: imported, listed, rolled back.
    Tokens(tokens::Arguments),
    /// Prices and exchange rates: imported, listed, rolled back.
    Prices(prices::Arguments),
    /// Labels: imported, listed, compared, rolled back.
    Labels(labels::Arguments),
    /// Ask any data endpoint, without HTTP or billing.
    Query(query::Arguments),
    /// How risky an address is, and why: score, floors, factors, evidence.
    Risk(risk::Arguments),
    /// Where money went and came from, hop by hop: in words, as a file of a graph, or as a picture.
    Trace(trace::Arguments),
    /// The widest ways along which money can have gone from one address to others.
    Path(path::Arguments),
    /// From whom the money of an address came and to whom it went: exchanges, mixers, scams and others that have a name.
    Exposure(exposure::Arguments),
    /// Which output of a Bitcoin transaction is the change, and by which rules.
    Change(change::Arguments),
    /// Where transactions went, or came from, over bridges.
    CrossChain(cross_chain::Arguments),
    /// Which Bitcoin addresses one person is taken to hold, and what links them.
    Cluster(cluster::Arguments),
    /// Risk, class and features of millions of addresses, as Parquet; goes on where it was interrupted.
    Score(score::Arguments),
    /// Write a table of the store as Parquet, for other engines.
    Export(export::Arguments),
    /// API keys: made, listed, revoked, rotated.
    Keys(keys::Arguments),
    /// Credits of keys: added, given back.
    Credits(credits::Arguments),
    /// Plans: what keys may do, and how often.
    Plans(plans::Arguments),
    /// Keys of the admin listener: made, listed, revoked.
    Admin(admin::Arguments),
    /// What was requested, and what the back office changed.
    Audit(audit::Arguments),
    /// Calls and credits of a key's account in this month.
    Usage(usage::Arguments),
    /// The state of the gateway: made, copied, restored, checked.
    State(state::Arguments),
    /// What the store holds.
    Stats,
    /// Merge the segments of the store into as few as may be; merges that are due happen with every commit anyway.
    Compact,
    /// Read every file of the store and compare it with its checksums.
    Verify(verify::Arguments),
}

/// Runs a command; `query` knows these data endpoints.
///
/// # Errors
/// When the command fails or is used wrongly.
pub fn run(
    command: Command,
    settings: &Settings,
    endpoints: &'static [Endpoint],
    output: Output,
) -> Result<(), Failure> {
    match command {
        Command::Simulate(arguments) => simulate::run(settings, &arguments, output),
        Command::Ingest(arguments) => ingest::run(settings, arguments, output),
        Command::Tokens(arguments) => tokens::run(settings, arguments, output),
        Command::Prices(arguments) => prices::run(settings, arguments, output),
        Command::Labels(arguments) => labels::run(settings, arguments, output),
        Command::Query(arguments) => query::run(settings, endpoints, arguments, output),
        Command::Risk(arguments) => risk::run(settings, &arguments, output),
        Command::Trace(arguments) => trace::run(settings, &arguments, output),
        Command::Path(arguments) => path::run(settings, &arguments, output),
        Command::Exposure(arguments) => exposure::run(settings, &arguments, output),
        Command::Change(arguments) => change::run(settings, &arguments, output),
        Command::CrossChain(arguments) => cross_chain::run(settings, &arguments, output),
        Command::Cluster(arguments) => cluster::run(settings, &arguments, output),
        Command::Score(arguments) => score::run(settings, &arguments, output),
        Command::Export(arguments) => export::run(settings, &arguments, output),
        Command::Keys(arguments) => keys::run(settings, arguments, output),
        Command::Credits(arguments) => credits::run(settings, &arguments, output),
        Command::Plans(arguments) => plans::run(settings, arguments, output),
        Command::Admin(arguments) => admin::run(settings, arguments, output),
        Command::Audit(arguments) => audit::run(settings, arguments, output),
        Command::Usage(arguments) => usage::run(settings, &arguments, output),
        Command::State(arguments) => state::run(settings, &arguments, output),
        Command::Stats => stats::run(settings, output),
        Command::Compact => compact::run(settings, output),
        Command::Verify(arguments) => verify::run(settings, &arguments, output),
    }
}

impl Settings {
    fn store(&self) -> Result<PathBuf, Failure> {
        self.store.clone().ok_or_else(|| {
            Failure::usage("no store is named: give --store DIR or --config FILE, or set HEADWATER_STORE")
        })
    }

    /// The state of commands that need no store but for its name.
    fn place(&self) -> Result<Place, Failure> {
        let place = match (&self.state, &self.store) {
            (Some(state), _) => Place::parse(state)?,
            (None, Some(store)) => Place::Folder(Home::beside(store)),
            (None, None) => {
                return Err(Failure::usage(
                    "neither a state nor a store is named: give --state DIR, --store DIR or --config FILE, or set \
                     HEADWATER_STATE or HEADWATER_STORE",
                ));
            }
        };
        check_secrets(&place, self.secrets_dir.as_deref())?;
        Ok(place)
    }

    /// The state of commands that make the first of something: made where there is none.
    fn state(&self) -> Result<Home, Failure> {
        Ok(Home::open(&self.place()?, self.secrets_dir.as_deref())?)
    }

    /// The state of all others, which is there already.
    fn existing(&self) -> Result<Home, Failure> {
        Ok(Home::open_existing(&self.place()?, self.secrets_dir.as_deref())?)
    }
}

/// Checks that a state in `PostgreSQL` has a folder for its secrets.
///
/// # Errors
/// When none is named.
pub fn check_secrets(place: &Place, secrets: Option<&Path>) -> Result<(), Failure> {
    match (place, secrets) {
        (Place::Postgres(_), None) => Err(Failure::usage(
            "a state in PostgreSQL has its secrets in a folder of their own, and none is named: give --secrets-dir DIR, \
             or set auth.secrets_dir in the configuration; `headwater state init` makes the files of a new state there",
        )),
        (Place::Folder(_), _) | (Place::Postgres(_), Some(_)) => Ok(()),
    }
}

/// Reads the name of a chain or an alias of it; help shows the names. Goes with `ignore_case`.
fn chain() -> impl TypedValueParser<Value = Chain> {
    let value =
        |chain: Chain| PossibleValue::new(chain.name()).aliases(chain.aliases().iter().copied()).alias(chain.caip2());
    PossibleValuesParser::new(Chain::all().map(value)).try_map(|name| name.parse::<Chain>())
}

/// Reads the name of a key.
fn name(text: &str) -> Result<String, String> {
    AdminService::check_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// Reads the id of the row that a list goes on behind.
fn cursor(text: &str) -> Result<String, String> {
    AdminService::check_cursor(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// Who changes of the command line are made by: the user that the system runs it as, whatever the environment says.
fn actor() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then_some(name)
    });
    format!("cli:{}", name.unwrap_or(&id))
}
