//! `headwater keys`.

use clap::Subcommand;
use serde_json::json;

use super::Shared;
use super::error::Failure;
use super::output::{Output, date, grouped, table};
use crate::state::{BackOffice, Environment, StateFolder};

/// What `keys` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a key; it is shown this once.
    Create {
        /// Whose it is.
        #[arg(long, default_value = "default")]
        name: String,
        /// Credits to begin with.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        credits: i64,
        /// Make a `hw_test_` key.
        #[arg(long)]
        test: bool,
    },
    /// List keys with what is left of their credits.
    List,
    /// Revoke a key: the next request with it is refused.
    Revoke {
        /// Id of the key.
        id: String,
    },
}

/// Makes, lists and revokes keys.
pub(super) fn run(shared: &Shared, arguments: Arguments, output: Output) -> Result<(), Failure> {
    let mut office = BackOffice::open(StateFolder::open_or_create(&shared.state()?)?)?;
    match arguments.command {
        Command::Create { name, credits, test } => {
            let environment = if test { Environment::Test } else { Environment::Live };
            let made = office.create_key(&name, environment, credits)?;
            let key = made.key.expose();
            output.report(&json!({"id": made.id, "key": key, "name": name, "credits": credits}), || {
                vec![
                    format!("id       {}", made.id),
                    format!("key      {key}"),
                    format!("credits  {}", grouped(credits.unsigned_abs())),
                    "Keep the key now: it is not stored and cannot be shown again.".to_owned(),
                ]
            })
        }
        Command::List => {
            let keys = office.list_keys()?;
            output.report(&json!({"keys": keys}), || {
                if keys.is_empty() {
                    return vec!["no keys yet: `headwater keys create` makes one".to_owned()];
                }
                let mut rows =
                    vec![["id", "name", "kind", "credits", "created", "revoked"].map(str::to_owned).to_vec()];
                rows.extend(keys.iter().map(|key| {
                    let revoked = key.revoked_at.map(date).unwrap_or_default();
                    let credits = grouped(key.credits.unsigned_abs());
                    vec![
                        key.id.clone(),
                        key.name.clone(),
                        key.environment.clone(),
                        credits,
                        date(key.created_at),
                        revoked,
                    ]
                }));
                table(&rows)
            })
        }
        Command::Revoke { id } => {
            office.revoke_key(&id)?;
            output.report(&json!({"id": id, "revoked": true}), || vec![format!("{id} is revoked")])
        }
    }
}
