//! `headwater keys`.

use clap::Subcommand;
use headwater_state::{Environment, KeyListing, NewKey};
use serde_json::json;

use super::error::Failure;
use super::output::{Output, date, grouped, table};
use super::{Settings, actor, name};

/// What `keys` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key; it is shown this once.
    Create {
        /// Whose it is.
        #[arg(long, default_value = "default", value_parser = name)]
        name: String,
        /// Credits to begin with.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        credits: i64,
        /// Make a `hw_test_` key, which is billed like any other: the prefix tells people what it is for.
        #[arg(long)]
        test: bool,
        /// Its plan, one that `plans list` shows [default: default].
        #[arg(long)]
        plan: Option<String>,
    },
    /// List keys with what is left of their credits.
    List,
    /// Revoke a key: the next request with it is refused.
    Revoke {
        /// Id of the key.
        id: String,
    },
    /// Make a key that takes the place of another, which stays good for a while.
    Rotate {
        /// Id of the key.
        id: String,
        /// How long the old key stays good, in hours; 0 ends it at once.
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=8760))]
        grace_hours: u32,
    },
}

/// Makes, lists, revokes and rotates keys.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.command {
        Command::Create { name, credits, test, plan } => {
            let environment = if test { Environment::Test } else { Environment::Live };
            let made = settings
                .state()?
                .admin(&actor(), |admin| admin.create_key(&name, environment, credits, plan.as_deref()))?;
            show(output, &made)
        }
        Command::List => {
            let keys = settings.existing()?.consult(|admin| admin.list_keys())?;
            output.report(&json!({"keys": keys}), || listing(&keys))
        }
        Command::Revoke { id } => {
            settings.existing()?.admin(&actor(), |admin| admin.revoke_key(&id))?;
            output.report(&json!({"id": id, "revoked": true}), || vec![format!("{id} is revoked")])
        }
        Command::Rotate { id, grace_hours } => {
            let made = settings.existing()?.admin(&actor(), |admin| admin.rotate_key(&id, grace_hours * 3600))?;
            show(output, &made)
        }
    }
}

/// Shows a new key, this once.
fn show(output: Output, made: &NewKey) -> Result<(), Failure> {
    let key = made.key.expose();
    output.report(&json!({"id": made.id, "key": key, "name": made.name, "credits": made.credits}), || {
        vec![
            format!("id       {}", made.id),
            format!("key      {key}"),
            format!("credits  {}", grouped(made.credits.unsigned_abs())),
            "Keep the key now: it is not stored and cannot be shown again.".to_owned(),
        ]
    })
}

fn listing(keys: &[KeyListing]) -> Vec<String> {
    if keys.is_empty() {
        return vec!["no keys yet: `headwater keys create` makes one".to_owned()];
    }
    let head = ["id", "name", "kind", "plan", "credits", "created", "expires", "revoked"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(keys.iter().map(|key| {
        vec![
            key.id.clone(),
            key.name.clone(),
            key.environment.clone(),
            key.plan.clone(),
            grouped(key.credits.unsigned_abs()),
            date(key.created_at),
            key.expires_at.map(date).unwrap_or_default(),
            key.revoked_at.map(date).unwrap_or_default(),
        ]
    }));
    table(&rows)
}
