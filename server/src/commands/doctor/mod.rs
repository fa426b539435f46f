//! `headwater doctor`: everything that can be wrong with a set-up, each finding with what helps.

mod live;
mod market;
mod permissions;
mod service;
mod state;
mod store;
mod system;
mod unreadable;

use headwater_cli::output::{Output, table};
use headwater_cli::{Failure, check_secrets};
use headwater_state::{Home, StateLocation};
use serde::Serialize;
use serde_json::json;

use super::{GlobalOptions, serve};
use crate::config::Config;

/// Arguments of `doctor`.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// Read every file of the store against its checksums too, as `verify` does.
    #[arg(long)]
    deep: bool,
    /// One setting, as `serve` takes it; may be given more than once.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
}

/// The level of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
enum Level {
    /// As it should be.
    Good,
    /// It works, but not as well as it could, or answers leave something out.
    Warning,
    /// It does not work.
    Broken,
}

/// One thing that was looked at.
#[derive(Debug, Serialize)]
struct Finding {
    area: &'static str,
    level: Level,
    what: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

/// The findings so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn good(&mut self, area: &'static str, what: impl Into<String>) {
        self.0.push(Finding { area, level: Level::Good, what: what.into(), remedy: None });
    }

    fn warn(&mut self, area: &'static str, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Finding { area, level: Level::Warning, what: what.into(), remedy: Some(remedy.into()) });
    }

    fn broken(&mut self, area: &'static str, what: impl Into<String>, remedy: impl Into<String>) {
        self.0.push(Finding { area, level: Level::Broken, what: what.into(), remedy: Some(remedy.into()) });
    }

    fn worst(&self) -> Level {
        self.0.iter().map(|finding| finding.level).max().unwrap_or(Level::Good)
    }
}

/// Looks at everything; fails when something is broken.
pub(super) fn run(options: &GlobalOptions, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let mut findings = Findings::default();
    let config = configuration(options, &arguments.settings, &mut findings);
    let store = config.store.clone();
    match &store {
        Some(path) => {
            store::examine(path, arguments.deep, &mut findings);
            live::examine(path, &mut findings);
        }
        None => findings.broken(
            "store",
            "no store is named",
            "give --store DIR, set HEADWATER_STORE, or set store.path in the configuration",
        ),
    }
    let place = place(&config);
    permissions::examine(&config, place.as_ref().and_then(|place| place.as_ref().ok()), &mut findings);
    match place {
        Some(Ok(place)) => match check_secrets(&place, config.secrets_dir.as_deref()) {
            Ok(()) => state::examine(&place, config.secrets_dir.as_deref(), &mut findings),
            Err(failure) => findings.broken("state", failure.message, "name the folder: no command works without it"),
        },
        Some(Err(text)) => findings.broken("state", text, "name a folder, or postgres://user:password@host/database"),
        None => {}
    }
    service::examine(&config, &mut findings);
    system::examine(&config, &mut findings);
    let worst = findings.worst();
    let findings = findings.0;
    output.report(&json!({"worst": worst, "findings": findings}), || lines(&findings))?;
    let broken = findings.iter().filter(|finding| finding.level == Level::Broken).count();
    if broken == 0 { Ok(()) } else { Err(Failure::failed(format!("{broken} things are broken"))) }
}

/// The settings as `serve` would take them; as far as they can be read.
fn configuration(options: &GlobalOptions, settings: &[String], findings: &mut Findings) -> Config {
    match options.config(settings) {
        Ok(config) => {
            let from = options
                .config
                .as_ref()
                .map_or("defaults and environment".to_owned(), |file| format!("{}, environment", file.display()));
            findings.good("configuration", format!("every key is known ({from})"));
            if let Err(failure) = serve::check(&config) {
                findings.broken("configuration", failure.message, "correct it: `serve` refuses to start with it");
            }
            config
        }
        Err(error) => {
            let remedy = "correct or remove the key: `serve` refuses to start with it";
            findings.broken("configuration", headwater_state::causes(&error), remedy);
            Config { store: options.store.clone(), state: options.state.clone(), ..Config::default() }
        }
    }
}

fn place(config: &Config) -> Option<Result<StateLocation, String>> {
    match (&config.state, &config.store) {
        (Some(state), _) => Some(StateLocation::parse(state).map_err(|error| error.to_string())),
        (None, Some(store)) => Some(Ok(StateLocation::Folder(Home::beside(store)))),
        (None, None) => None,
    }
}

fn lines(findings: &[Finding]) -> Vec<String> {
    let mark = |level| match level {
        Level::Good => "good",
        Level::Warning => "warning",
        Level::Broken => "BROKEN",
    };
    let rows: Vec<Vec<String>> = findings
        .iter()
        .flat_map(|finding| {
            let first = vec![mark(finding.level).to_owned(), finding.area.to_owned(), finding.what.clone()];
            let remedy =
                finding.remedy.as_ref().map(|remedy| vec![String::new(), String::new(), format!("-> {remedy}")]);
            std::iter::once(first).chain(remedy)
        })
        .collect();
    table(&rows)
}
