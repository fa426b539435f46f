//! The command line: one file per command.

mod admin;
mod audit;
mod change;
mod cluster;
mod compact;
mod credits;
mod cross_chain;
mod derived;
mod doctor;
mod error;
mod export;
mod exposure;
mod ingest;
mod intelligence;
mod interrupt;
mod keys;
mod labels;
mod output;
mod panics;
mod path;
mod plans;
mod prices;
mod progress;
mod query;
mod risk;
mod score;
mod serve;
mod simulate;
mod state;
mod stats;
mod tokens;
mod trace;
mod usage;
mod verify;
mod versions;
mod words;

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Parser, Subcommand};
use headwater_engine::{ENDPOINTS, Endpoint};
use headwater_types::Chain;

use crate::config::{Config, ConfigError};
use crate::state::{AdminService, Home, Place};
use error::Failure;
use output::Output;

/// Blockchain data in, answers out: exact, offline, on this machine.
#[derive(Debug, Parser)]
#[command(name = "headwater", version, propagate_version = true, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    shared: Shared,
    #[command(subcommand)]
    command: Command,
}

/// Where help shows what every command takes, apart from what it takes itself.
const EVERYWHERE: &str = "Options of every command";

/// What every command takes.
#[derive(Debug, clap::Args)]
struct Shared {
    /// Folder of the chain data.
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "HEADWATER_STORE", value_name = "DIR")]
    store: Option<PathBuf>,
    /// Folder of keys, credits and audit, or a postgres:// address [default: DIR.state beside the store].
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "HEADWATER_STATE", hide_env_values = true)]
    #[arg(value_name = "DIR|ADDRESS")]
    state: Option<String>,
    /// Folder of the secrets of a state in PostgreSQL, equal on all replicas.
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "HEADWATER_AUTH_SECRETS_DIR", value_name = "DIR")]
    secrets_dir: Option<PathBuf>,
    /// The TOML file of settings that `serve` is started with, which says where the above are too.
    #[arg(long, global = true, help_heading = EVERYWHERE, env = "HEADWATER_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// Print JSON in place of tables, for scripts.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
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
    /// Run the HTTP gateway.
    Serve(serve::Arguments),
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
    /// What is wrong with this set-up, and what helps.
    Doctor(doctor::Arguments),
    /// What the store holds.
    Stats,
    /// Merge the segments of the store into as few as may be; merges that are due happen with every commit anyway.
    Compact,
    /// Read every file of the store and compare it with its checksums.
    Verify(verify::Arguments),
}

/// Runs the command line; `arguments` begin with the name of the program.
///
/// Gives the code to exit with: 0, 1 (failed) or 2 (wrong usage).
pub fn run(arguments: impl IntoIterator<Item: Into<OsString> + Clone>) -> u8 {
    run_with(arguments, ENDPOINTS)
}

/// The same with these data endpoints for `query` and `serve`.
pub fn run_with(arguments: impl IntoIterator<Item: Into<OsString> + Clone>, endpoints: &'static [Endpoint]) -> u8 {
    let arguments = match Arguments::try_parse_from(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    let Arguments { shared, command } = arguments;
    let output = Output::new(shared.json);
    let result = match command {
        Command::Simulate(arguments) => simulate::run(&shared, &arguments, output),
        Command::Ingest(arguments) => ingest::run(&shared, arguments, output),
        Command::Tokens(arguments) => tokens::run(&shared, arguments, output),
        Command::Prices(arguments) => prices::run(&shared, arguments, output),
        Command::Labels(arguments) => labels::run(&shared, arguments, output),
        Command::Query(arguments) => query::run(&shared, endpoints, arguments, output),
        Command::Risk(arguments) => risk::run(&shared, &arguments, output),
        Command::Trace(arguments) => trace::run(&shared, &arguments, output),
        Command::Path(arguments) => path::run(&shared, &arguments, output),
        Command::Exposure(arguments) => exposure::run(&shared, &arguments, output),
        Command::Change(arguments) => change::run(&shared, &arguments, output),
        Command::CrossChain(arguments) => cross_chain::run(&shared, &arguments, output),
        Command::Cluster(arguments) => cluster::run(&shared, &arguments, output),
        Command::Score(arguments) => score::run(&shared, &arguments, output),
        Command::Export(arguments) => export::run(&shared, &arguments, output),
        Command::Serve(arguments) => serve::run(&shared, endpoints, &arguments, output),
        Command::Keys(arguments) => keys::run(&shared, arguments, output),
        Command::Credits(arguments) => credits::run(&shared, &arguments, output),
        Command::Plans(arguments) => plans::run(&shared, arguments, output),
        Command::Admin(arguments) => admin::run(&shared, arguments, output),
        Command::Audit(arguments) => audit::run(&shared, arguments, output),
        Command::Usage(arguments) => usage::run(&shared, &arguments, output),
        Command::State(arguments) => state::run(&shared, &arguments, output),
        Command::Doctor(arguments) => doctor::run(&shared, &arguments, output),
        Command::Stats => stats::run(&shared, output),
        Command::Compact => compact::run(&shared, output),
        Command::Verify(arguments) => verify::run(&shared, &arguments, output),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => output.failure(&failure),
    }
}

impl Shared {
    /// Settings as `serve` has them: defaults, file, environment, flags.
    fn settings(&self, assignments: &[String]) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        if let Some(file) = &self.config {
            config.read_file(file)?;
        }
        config.read_environment(
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
        )?;
        // Which may come from the environment as well.
        if let Some(store) = &self.store {
            config.store = Some(store.clone());
        }
        if let Some(state) = &self.state {
            config.state = Some(state.clone());
        }
        if let Some(folder) = &self.secrets_dir {
            config.secrets_dir = Some(folder.clone());
        }
        for setting in assignments {
            config.assign(setting)?;
        }
        Ok(config)
    }

    fn store(&self) -> Result<PathBuf, Failure> {
        let named = self.settings(&[])?.store;
        named.ok_or_else(|| {
            Failure::usage("no store is named: give --store DIR or --config FILE, or set HEADWATER_STORE")
        })
    }

    /// Where the state of commands is that need no store but for its name, and its secrets where they stand elsewhere.
    fn place(&self) -> Result<(Place, Option<PathBuf>), Failure> {
        let config = self.settings(&[])?;
        let place = match (&config.state, &config.store) {
            (Some(state), _) => Place::parse(state)?,
            (None, Some(store)) => Place::Folder(Home::beside(store)),
            (None, None) => {
                return Err(Failure::usage(
                    "neither a state nor a store is named: give --state DIR, --store DIR or --config FILE, or set \
                     HEADWATER_STATE or HEADWATER_STORE",
                ));
            }
        };
        check_secrets(&place, config.secrets_dir.as_deref())?;
        Ok((place, config.secrets_dir))
    }

    /// The state of commands that make the first of something: made where there is none.
    fn state(&self) -> Result<Home, Failure> {
        let (place, secrets) = self.place()?;
        Ok(Home::open(&place, secrets.as_deref())?)
    }

    /// The state of all others, which is there already.
    fn existing(&self) -> Result<Home, Failure> {
        let (place, secrets) = self.place()?;
        Ok(Home::open_existing(&place, secrets.as_deref())?)
    }
}

/// The secrets of a state in PostgreSQL stand in a folder, which nobody can guess.
fn check_secrets(place: &Place, secrets: Option<&Path>) -> Result<(), Failure> {
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

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
