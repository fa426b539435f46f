//! The `headwater` program: reads its arguments and the configuration, and runs one command.
//!
//! The commands are those of `headwater-cli`, and three that know the gateway: `demo`, `serve` and `doctor`.

mod claim_provider;
mod demo;
mod doctor;
mod log;
mod outside_access;
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

use crate::config::{Config, ConfigError, LogFormat};

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
#[derive(Debug, Clone, Default, clap::Args)]
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
    let matches = Arguments::command().try_get_matches_from(&arguments);
    let parsed = matches.and_then(|matches| Ok((called(&matches), Arguments::from_arg_matches(&matches)?)));
    let (called, Arguments { options, command }) = match parsed {
        Ok(parsed) => parsed,
        Err(error) => {
            // Nobody may be there to read it.
            let _ = log_misuse(&error, &arguments).map_or_else(|| error.print(), Ok);
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    writing::describe(called, options.writer_wait);
    let output = Output::new(options.json);
    if let Command::Serve(arguments) = &command {
        let served = serve::run(&options, endpoints, arguments, (output, None));
        return served.map_or_else(|failure| log_failure(&failure, &options, &arguments.settings, output), |()| 0);
    }
    let result = match command {
        Command::Other(command) => options
            .config(&[])
            .map_err(|error| refused(&error))
            .map(|config| Settings { config_file: options.config.clone(), ..config.for_commands() })
            .and_then(|settings| headwater_cli::run(command, &settings, endpoints, output)),
        Command::Demo(arguments) => demo::run(&options, endpoints, &arguments, (&program, output)),
        Command::Serve(_) => Ok(()),
        Command::Doctor(arguments) => doctor::run(&options, &arguments, output),
    };
    match result {
        Ok(()) => 0,
        Err(failure) => output.failure(&failure),
    }
}

/// Logs the failure of `serve`, and gives the code to exit with. A script that asked for JSON gets it where the log is text.
fn log_failure(failure: &Failure, options: &GlobalOptions, settings: &[String], output: Output) -> u8 {
    let format = options.log_format(settings);
    if format == LogFormat::Text && output.is_json() {
        return output.failure(failure);
    }
    // The configuration may be what is refused.
    if !log::is_started() {
        log::start(format, "info");
    }
    if !tracing::enabled!(tracing::Level::ERROR) {
        return output.failure(failure);
    }
    tracing::error!("{}", failure.message);
    failure.code
}

/// Logs wrong usage of `serve` where its log is JSON; `None` for any other command and format.
fn log_misuse(error: &clap::Error, arguments: &[OsString]) -> Option<()> {
    let matches = Arguments::command().ignore_errors(true).try_get_matches_from(arguments).ok()?;
    let serve = matches.subcommand_matches("serve").filter(|_| error.use_stderr())?;
    let settings = serve.try_get_many::<String>("settings").ok()?.into_iter().flatten().cloned().collect::<Vec<_>>();
    let config = serve.try_get_one::<PathBuf>("config").ok()?.cloned();
    let options = GlobalOptions { config, ..GlobalOptions::default() };
    if options.log_format(&settings) == LogFormat::Text {
        return None;
    }
    log::start(LogFormat::Json, "info");
    let text = error.render().to_string();
    tracing::error!("{}", text.strip_prefix("error: ").unwrap_or(&text).trim_end());
    Some(())
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
    /// The format of log lines, also where the configuration as a whole is refused.
    fn log_format(&self, assignments: &[String]) -> LogFormat {
        let mut config = Config::default();
        let in_file = || {
            let file: toml::Table = std::fs::read_to_string(self.config.as_ref()?).ok()?.parse().ok()?;
            file.get("log")?.get("format")?.as_str().map(str::to_owned)
        };
        let sources = [in_file(), std::env::var("HEADWATER_LOG_FORMAT").ok()].into_iter().flatten();
        let assigned = sources.map(|format| format!("log.format={format}"));
        let flags = assignments.iter().filter(|flag| flag.starts_with("log.format")).cloned();
        for assignment in assigned.chain(flags) {
            // What is wrong with it is said by the refusal.
            let _ = config.assign(&assignment);
        }
        config.log_format
    }

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
