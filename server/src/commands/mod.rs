//! The `headwater` program: reads its arguments and the configuration, and runs one command.
//!
//! The commands are those of `headwater-cli`, and three that know the gateway: `demo`, `serve` and `doctor`.

mod claim_provider;
mod demo;
mod doctor;
mod panics;
mod serve;
mod writing;

use std::ffi::OsString;
use std::iter::{once, successors};
use std::path::PathBuf;

use clap::{ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};
use headwater_cli::output::Output;
use headwater_cli::{Failure, Settings};
use headwater_engine::{ENDPOINTS, Endpoint};
use headwater_state::Plan;

use crate::config::{Config, ConfigError};

/// Blockchain data in, answers out: exact, offline, on this machine.
#[derive(Debug, Parser)]
#[command(name = "headwater", version, propagate_version = true, max_term_width = 110)]
struct Arguments {
    #[command(flatten)]
    options: GlobalOptions,
    #[command(subcommand)]
    command: Command,
}

/// The heading in help of the options that every command takes, apart from its own.
const EVERYWHERE: &str = "Options of every command";

/// The options that every command takes.
#[derive(Debug, Clone, clap::Args)]
struct GlobalOptions {
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
    /// Seconds to wait for another process that writes to the store, before the command fails [default: 600].
    #[arg(long, global = true, help_heading = EVERYWHERE, value_name = "SECONDS")]
    writer_wait: Option<u32>,
    /// Print JSON in place of tables, for scripts.
    #[arg(long, global = true, help_heading = EVERYWHERE)]
    json: bool,
}

#[derive(Debug, Subcommand)]
enum Command {
    #[command(flatten)]
    Other(headwater_cli::Command),
    /// Load a small economy once, print its story of a theft, and serve it.
    Demo(demo::Arguments),
    /// Run the HTTP gateway.
    Serve(serve::Arguments),
    /// Diagnose the installation.
    Doctor(doctor::Arguments),
}

/// Runs the program; `arguments` begin with its name.
///
/// Gives the code to exit with: 0, 1 (failed) or 2 (wrong usage).
pub fn run(arguments: impl IntoIterator<Item: Into<OsString> + Clone>) -> u8 {
    run_with(arguments, ENDPOINTS)
}

/// The same with these data endpoints for `query` and `serve`.
pub fn run_with(arguments: impl IntoIterator<Item: Into<OsString> + Clone>, endpoints: &'static [Endpoint]) -> u8 {
    let arguments: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    // The demo prints commands as people call the program.
    let program = arguments.first().map_or_else(|| "headwater".to_owned(), |name| name.to_string_lossy().into_owned());
    let matches = Arguments::command().try_get_matches_from(arguments);
    let parsed = matches.and_then(|matches| Ok((called(&matches), Arguments::from_arg_matches(&matches)?)));
    let (called, Arguments { options, command }) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = error.print();
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    writing::describe(called, options.writer_wait);
    let output = Output::new(options.json);
    let result = match command {
        Command::Other(command) => options
            .config(&[])
            .map_err(|error| refused(&error))
            .map(|config| Settings { config_file: options.config.clone(), ..config.for_commands() })
            .and_then(|settings| headwater_cli::run(command, &settings, endpoints, output)),
        Command::Demo(arguments) => demo::run(&options, endpoints, &arguments, (&program, output)),
        Command::Serve(arguments) => serve::run(&options, endpoints, &arguments, (output, None)),
        Command::Doctor(arguments) => doctor::run(&options, &arguments, output),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => output.failure(&failure),
    }
}

/// Returns the program with the names of the command, such as `headwater labels import`.
fn called(matches: &ArgMatches) -> String {
    let subcommands = successors(matches.subcommand(), |(_, matches)| matches.subcommand());
    once("headwater").chain(subcommands.map(|(name, _)| name)).collect::<Vec<_>>().join(" ")
}

/// A configuration that cannot be used is wrong usage.
fn refused(error: &ConfigError) -> Failure {
    Failure { code: 2, ..Failure::from_error(error) }
}

impl GlobalOptions {
    /// The configuration: defaults, file, environment, flags.
    fn config(&self, assignments: &[String]) -> Result<Config, ConfigError> {
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
}

impl Config {
    /// The part of the configuration that commands use.
    fn for_commands(&self) -> Settings {
        Settings {
            store: self.store.clone(),
            state: self.state.clone(),
            secrets_dir: self.secrets_dir.clone(),
            risk_parameters: self.risk_parameters.clone(),
            classifiers: self.classifiers.clone(),
            default_plan: Plan::clone(&self.gateway.limits.plan),
            log: self.log_settings(),
            config_file: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_of_a_call_has_all_subcommands() {
        let matches = Arguments::command().get_matches_from(["/bin/hw", "labels", "--store", "x", "import", "file"]);
        assert_eq!(called(&matches), "headwater labels import");
    }

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }
}
