//! `headwater plans`.

use std::path::{Path, PathBuf};

use clap::{ArgGroup, Subcommand};
use headwater_state::{DEFAULT_PLAN, Plan, Rate, StateError};
use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, table};
use super::{Settings, actor};

/// What `plans` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List plans: those that are stored, and the default one as `serve` would take it from its settings.
    List,
    /// Make a plan or change it; what its definition leaves out is as the built-in default has it, whatever limits.* say.
    #[command(group(ArgGroup::new("plan").required(true).args(["file", "definition"])))]
    Set {
        /// Its name; `default` is the plan of every key that has no other.
        name: String,
        /// A file with the definition as JSON.
        #[arg(long, value_name = "FILE")]
        file: Option<PathBuf>,
        /// The definition, such as `{"heavy": {"per_second": 10, "burst": 20}}`.
        #[arg(long, value_name = "JSON")]
        definition: Option<String>,
    },
    /// Remove a plan; its keys are left with the default one. A stored `default` gives way to limits.* of the settings.
    Remove {
        /// Its name.
        name: String,
    },
    /// Give the account of a key another plan; it holds for all keys of that account.
    Assign {
        /// Id of the key.
        key: String,
        /// Name of the plan.
        name: String,
    },
}

/// Lists, makes, removes and assigns plans.
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

/// Lists plans as the admin listener does, as far as that can be known without it.
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

/// A definition may say its name as lists show it, but no other.
fn check_name(name: &str, definition: &str) -> Result<(), Failure> {
    // What is no JSON is refused where it is read.
    let said = serde_json::from_str::<Value>(definition).ok().and_then(|definition| definition.get("name").cloned());
    match said {
        Some(Value::String(other)) if other != name => Err(Failure::usage(format!(
            "the definition has the name {other:?} and the command says {name:?}: leave the name out of the definition"
        ))),
        _ => Ok(()),
    }
}

/// A definition that cannot be is wrong usage.
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
