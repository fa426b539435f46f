//! The commands of `headwater` that need no gateway, one file each. `server` adds `serve` and `doctor` and reads the
//! configuration.
#![forbid(unsafe_code)]
// Its methods cannot be named as functions: they hold for two lifetimes that only a closure leaves open.
#![expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]

mod address_list;
mod admin;
mod audit;
mod backup;
mod balance;
mod batches;
mod cells;
mod change;
mod classify;
mod cluster;
mod compact;
mod counterparties;
mod credits;
mod cross_chain;
pub mod demo;
mod derived;
mod error;
mod export;
mod exposure;
mod follow;
mod generation;
mod holders;
mod ingest;
mod intelligence;
pub mod interrupt;
mod keys;
mod labels;
mod load_notes;
mod movement_filter;
mod nodes;
pub mod output;
mod path;
mod plans;
mod price_fetch;
mod prices;
mod progress;
mod providers;
mod query;
mod risk;
mod rows;
mod score;
mod session;
mod simulate;
mod state;
mod stats;
pub mod table;
mod tally;
mod tokens;
mod trace;
mod transactions;
mod usage;
mod verify;
mod versions;
mod view;
mod wallet;
mod when;
mod words;

use std::path::{Path, PathBuf};

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use headwater_engine::Endpoint;
use headwater_state::{AdminService, Home, LogSettings, Plan, StateLocation};
use headwater_types::Chain;

pub use error::{Failure, Refusal};
pub use follow::state_line as line_of_live_state;
pub use ingest::notes as notes_of_load;
pub use intelligence::intelligence;
pub use labels::notes as notes_of_labels;
pub use nodes::notes as notes_of_history;
use output::Output;
pub use price_fetch::notes as notes_of_prices;

/// Settings of the commands, merged from defaults, file, environment and flags.
#[derive(Debug, Clone, Default)]
pub struct Settings {
    /// The folder of the chain data.
    pub store: Option<PathBuf>,
    /// The folder of keys, credits and audit, or a `postgres://` URL; by default beside the store.
    pub state: Option<String>,
    /// The folder of the secrets of a state in `PostgreSQL`.
    pub secrets_dir: Option<PathBuf>,
    /// The file of risk parameters; built-in by default.
    pub risk_parameters: Option<PathBuf>,
    /// The files of classifiers; built-in by default.
    pub classifiers: Vec<PathBuf>,
    /// The plan of keys without one of their own.
    pub default_plan: Plan,
    /// The files of the audit log.
    pub log: LogSettings,
    /// The configuration file that was read.
    pub config_file: Option<PathBuf>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Write a synthetic economy on four chains into the store; the same seed gives the same economy.
    Simulate(simulate::Arguments),
    /// Read chain data from files into the store.
    Ingest(Box<ingest::Arguments>),
    /// Add each new block of live nodes to the store until stopped, and take back blocks that the nodes replaced.
    Follow(follow::Arguments),
    /// Import, list or roll back token registries.
    Tokens(tokens::Arguments),
    /// Import, fetch, list or roll back prices and exchange rates.
    Prices(prices::Arguments),
    /// Import, list, compare or roll back labels.
    Labels(labels::Arguments),
    /// Print what an address holds, and what it received and sent.
    Wallet(wallet::Arguments),
    /// Print what an address held at the end of each day.
    Balance(balance::Arguments),
    /// Rank the addresses that an address dealt with.
    Counterparties(counterparties::Arguments),
    /// List the movements of an address, newest first.
    Transactions(transactions::Arguments),
    /// Rank the holders of a token.
    Holders(holders::Arguments),
    /// Predict what kind of address it is, such as an exchange, by its transfers alone.
    Classify(classify::Arguments),
    /// Call any data endpoint, without HTTP or billing.
    Query(query::Arguments),
    /// Assess the risk of an address: score, floors, factors, evidence.
    Risk(risk::Arguments),
    /// Trace where money went and came from, hop by hop: as text, a graph file or a picture.
    Trace(trace::Arguments),
    /// Find the widest paths along which money can have moved from one address to others.
    Path(path::Arguments),
    /// Summarise the labelled sources and destinations of an address's money: exchanges, mixers, scams and others.
    Exposure(exposure::Arguments),
    /// Identify the change output of a Bitcoin transaction, and the rules that say so.
    Change(change::Arguments),
    /// Match the deposits and withdrawals of transactions over bridges.
    CrossChain(cross_chain::Arguments),
    /// List the Bitcoin addresses that probably have one owner, and what links them.
    Cluster(cluster::Arguments),
    /// Score millions of addresses (risk, class, features) into Parquet; resumes after an interruption.
    Score(score::Arguments),
    /// Write a table of the store as Parquet, for other engines.
    Export(export::Arguments),
    /// Create, list, revoke or rotate API keys.
    Keys(keys::Arguments),
    /// Add or refund credits of keys.
    Credits(credits::Arguments),
    /// Manage plans: the calls that keys may make, and how often.
    Plans(plans::Arguments),
    /// Create, list or revoke keys of the admin listener.
    Admin(admin::Arguments),
    /// Show the audit log: requests and administrative changes.
    Audit(audit::Arguments),
    /// Show calls and credits: of a key's account in this month, or of every key in any month.
    Usage(usage::Arguments),
    /// Create, back up, restore or check the state of the gateway.
    State(state::Arguments),
    /// Show the contents of the store.
    Stats,
    /// Copy the store as it is now into a new folder, verified, while others write to it.
    Backup(backup::Arguments),
    /// Merge the segments of the store into as few as possible; every commit already runs the merges that are due.
    Compact,
    /// Show what loads saw of the nodes that they asked: answers, times, gaps, wrong answers.
    Providers,
    /// Check every file of the store against its checksums, or balances against a node.
    Verify(verify::Arguments),
}

/// Runs a command; `query` offers these data endpoints.
///
/// # Errors
/// When the command fails or its arguments are invalid.
pub fn run(
    command: Command,
    settings: &Settings,
    endpoints: &'static [Endpoint],
    output: Output,
) -> Result<(), Failure> {
    match command {
        Command::Simulate(arguments) => simulate::run(settings, &arguments, output),
        Command::Ingest(arguments) => ingest::run(settings, &arguments, output),
        Command::Follow(arguments) => follow::run(settings, &arguments, output),
        Command::Tokens(arguments) => tokens::run(settings, arguments, output),
        Command::Prices(arguments) => prices::run(settings, arguments, output),
        Command::Labels(arguments) => labels::run(settings, arguments, output),
        Command::Wallet(arguments) => wallet::run(settings, &arguments, output),
        Command::Balance(arguments) => balance::run(settings, &arguments, output),
        Command::Counterparties(arguments) => counterparties::run(settings, &arguments, output),
        Command::Transactions(arguments) => transactions::run(settings, &arguments, output),
        Command::Holders(arguments) => holders::run(settings, &arguments, output),
        Command::Classify(arguments) => classify::run(settings, &arguments, output),
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
        Command::Backup(arguments) => backup::run(settings, &arguments, output),
        Command::Compact => compact::run(settings, output),
        Command::Providers => providers::run(settings, output),
        Command::Verify(arguments) => verify::run(settings, &arguments, output),
    }
}

impl Settings {
    fn store(&self) -> Result<PathBuf, Failure> {
        self.store.clone().ok_or_else(|| {
            Failure::usage("no store is named: give --store DIR or --config FILE, or set HEADWATER_STORE")
        })
    }

    /// Returns the state for commands that use the store only to locate it.
    fn place(&self) -> Result<StateLocation, Failure> {
        let place = match (&self.state, &self.store) {
            (Some(state), _) => StateLocation::parse(state)?,
            (None, Some(store)) => StateLocation::Folder(Home::beside(store)),
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

    /// Returns the state for commands that create something, and creates it if it is missing.
    fn state(&self) -> Result<Home, Failure> {
        Ok(Home::open(&self.place()?, self.secrets_dir.as_deref())?)
    }

    /// Returns the existing state.
    fn existing(&self) -> Result<Home, Failure> {
        Ok(Home::open_existing(&self.place()?, self.secrets_dir.as_deref())?)
    }
}

/// Checks that a folder for secrets is set where the state is in `PostgreSQL`.
///
/// # Errors
/// When it is not set.
pub fn check_secrets(place: &StateLocation, secrets: Option<&Path>) -> Result<(), Failure> {
    match (place, secrets) {
        (StateLocation::Postgres(_), None) => Err(Failure::usage(
            "a state in PostgreSQL has its secrets in a folder of their own, and none is named: give --secrets-dir DIR, \
             or set auth.secrets_dir in the configuration; `headwater state init` makes the files of a new state there",
        )),
        (StateLocation::Folder(_), _) | (StateLocation::Postgres(_), Some(_)) => Ok(()),
    }
}

/// Parses the name or alias of a chain; help shows the names. Use with `ignore_case`.
fn chain() -> impl TypedValueParser<Value = Chain> {
    let value =
        |chain: Chain| PossibleValue::new(chain.name()).aliases(chain.aliases().iter().copied()).alias(chain.caip2());
    PossibleValuesParser::new(Chain::all().map(value)).try_map(|name| name.parse::<Chain>())
}

/// Parses the name of a key.
fn name(text: &str) -> Result<String, String> {
    AdminService::check_name(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// Parses the id of the row after which a list continues.
fn cursor(text: &str) -> Result<String, String> {
    AdminService::check_cursor(text).map(|()| text.to_owned()).map_err(|error| error.to_string())
}

/// Returns the actor recorded for changes from the command line.
fn actor() -> String {
    format!("cli:{}", user())
}

/// Returns the user of the process, whatever the environment says: a name, or the number of one without a name.
#[must_use]
pub fn user() -> String {
    let id = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let name = users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)? == id).then_some(name)
    });
    name.unwrap_or(&id).to_owned()
}
