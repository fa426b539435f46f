//! `headwater plans`.

use std::path::PathBuf;

use clap::Subcommand;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, table};
use super::{Shared, actor};
use crate::gateway::{Plan, Rate};

/// What `plans` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// List plans.
    List,
    /// Make a plan or change it; what its definition leaves out is as in the default plan.
    Set {
        /// Its name; `default` is the plan of every key that has no other.
        name: String,
        /// A file with the definition as JSON.
        #[arg(long, value_name = "FILE", required_unless_present = "definition", conflicts_with = "definition")]
        file: Option<PathBuf>,
        /// The definition, such as {"heavy": {"per_second": 10, "burst": 20}, "chains": ["ethereum"]}.
        #[arg(long, value_name = "JSON")]
        definition: Option<String>,
    },
    /// Remove a plan; its keys are left with the default one.
    Remove {
        /// Its name.
        name: String,
    },
    /// Give the account of a key another plan.
    Assign {
        /// Id of the key.
        key: String,
        /// Name of the plan.
        name: String,
    },
}

/// Lists, makes, removes and assigns plans.
pub(super) fn run(shared: &Shared, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let home = shared.state()?;
    match arguments.command {
        Command::List => {
            let plans = home.office(&actor(), |office| office.plans())?;
            output.report(&json!({"plans": plans}), || listing(&plans))
        }
        Command::Set { name, file, definition } => {
            let definition = match (definition, file) {
                (Some(definition), _) => definition,
                (None, Some(file)) => std::fs::read_to_string(&file)
                    .map_err(|error| Failure::failed(format!("cannot read {}: {error}", file.display())))?,
                (None, None) => return Err(Failure::usage("give the plan with --file or --definition")),
            };
            let plan = home.office(&actor(), |office| office.set_plan(&name, &definition))?;
            output.report(&plan, || listing(std::slice::from_ref(&plan)))
        }
        Command::Remove { name } => {
            home.office(&actor(), |office| office.remove_plan(&name))?;
            output.report(&json!({"name": name, "removed": true}), || vec![format!("the plan {name} is removed")])
        }
        Command::Assign { key, name } => {
            home.office(&actor(), |office| office.assign_plan(&key, &name))?;
            output.report(&json!({"id": key, "plan": name}), || vec![format!("{key} has the plan {name}")])
        }
    }
}

fn listing(plans: &[Plan]) -> Vec<String> {
    if plans.is_empty() {
        return vec!["no plan is stored: every key goes by limits.* of the configuration".to_owned()];
    }
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
