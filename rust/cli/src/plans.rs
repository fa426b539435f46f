//! `headwater plans`.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Subcommand};
use headwater_state::{DEFAULT_PLAN, Plan, Rate, StateError};
use serde::Deserialize;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, table};
use super::{Settings, actor};

/// Arguments of `plans`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List the stored plans, and the default plan of the settings.
    List,
    /// Create or change a plan; fields that its definition omits have the built-in defaults, whatever limits.* say.
    #[command(group(ArgGroup::new("plan").required(true).args(["file", "definition"])))]
    Set {
        /// Name of the plan; `default` is the plan of every key without another.
        name: String,
        /// File with the definition as JSON.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// Definition as JSON, such as `{"heavy": {"per_second": 10, "burst": 20}}`.
        #[arg(long, value_name = "JSON")]
        definition: Option<String>,
    },
    /// Remove a plan; its keys get the default plan. Without a stored `default`, limits.* of the settings apply.
    Remove {
        /// Name of the plan.
        name: String,
    },
    /// Assign a plan to the account of a key, and so to all keys of that account.
    Assign {
        /// Id of the key.
        key: String,
        /// Name of the plan.
        name: String,
    },
}

/// Lists, creates, removes and assigns plans.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.command {
        Command::List => list(settings, output),
        Command::Set { name, file, definition } => {
            let definition = match (definition, file) {
                (Some(definition), _) => definition,
                (None, Some(file)) => std::fs::read_to_string(&file)
                    .map_err(|error| Failure::failed(format!("cannot read {}: {error}", file.display())))?,
                (None, None) => return Err(Failure::usage("give the plan with --file or --definition")),
            };
            check_name(&name, &definition)?;
            let plan = settings.state()?.admin(&actor(), |admin| admin.set_plan(&name, &definition)).map_err(unfit)?;
            output.report(&plan, || listing(std::slice::from_ref(&plan)))
        }
        Command::Remove { name } => {
            settings.existing()?.admin(&actor(), |admin| admin.remove_plan(&name))?;
            let left = match name.as_str() {
                DEFAULT_PLAN => "its keys go by limits.* of the configuration",
                _ => "its keys have the plan default",
            };
            let lines = || vec![format!("the plan {name} is removed: {left}")];
            output.report(&json!({"name": name, "removed": true}), lines)
        }
        Command::Assign { key, name } => {
            settings.existing()?.admin(&actor(), |admin| admin.assign_plan(&key, &name))?;
            output.report(&json!({"id": key, "plan": name}), || vec![format!("{key} has the plan {name}")])
        }
    }
}

/// Lists plans as the admin listener does, with the default plan of the settings of this command.
fn list(settings: &Settings, output: Output) -> Result<(), Failure> {
    let mut plans = settings.existing()?.consult(|admin| admin.plans())?;
    let default = &settings.default_plan;
    let is_stored = plans.iter().any(|plan| plan.name == default.name);
    if !is_stored {
        plans.insert(0, default.clone());
    }
    output.report(&json!({"plans": plans, "default_stored": is_stored}), || {
        let mut lines = listing(&plans);
        if !is_stored {
            lines.push(unstored(settings.config_file.as_deref()));
        }
        lines
    })
}

fn unstored(config: Option<&Path>) -> String {
    let file = config.map_or("the environment".to_owned(), |file| format!("{} and the environment", file.display()));
    format!(
        "default is not stored: it is what limits.* of {file} say here, and a server that was started otherwise goes by its \
         own"
    )
}

/// The name in a definition.
#[derive(Deserialize)]
struct NamedDefinition {
    name: String,
}

/// Checks that a definition has no other name than that of the command; lists contain names.
fn check_name(name: &str, definition: &str) -> Result<(), Failure> {
    // The parser of plans refuses any other defect.
    match serde_json::from_str(definition) {
        Ok(NamedDefinition { name: other }) if other != name => Err(Failure::usage(format!(
            "the definition has the name {other:?} and the command says {name:?}: leave the name out of the definition"
        ))),
        _ => Ok(()),
    }
}

/// Classifies an invalid definition as wrong usage.
fn unfit(error: StateError) -> Failure {
    match error {
        StateError::BadPlan { .. } => Failure::usage(error.to_string()),
        error => error.into(),
    }
}

fn listing(plans: &[Plan]) -> Vec<String> {
    let head = ["name", "free", "light", "medium", "heavy", "at once", "endpoints", "chains"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    let rate = |rate: Rate| format!("{}/s (burst {})", rate.per_second, rate.burst);
    let list = |names: &Option<Vec<String>>| names.as_ref().map_or("all".to_owned(), |names| names.join(" "));
    rows.extend(plans.iter().map(|plan| {
        vec![
            plan.name.clone(),
            rate(plan.free),
            rate(plan.light),
            rate(plan.medium),
            rate(plan.heavy),
            plan.concurrency.to_string(),
            list(&plan.endpoints),
            list(&plan.chains),
        ]
    }));
    table(&rows)
}
