//! `headwater keys`.

use clap::Subcommand;
use headwater_state::{Environment, Expiry, KeyListing, NewKey, now_ms};
use serde_json::json;

use super::error::Failure;
use super::output::{Output, date, grouped, table};
use super::{Settings, actor, name, when};

/// Arguments of `keys`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a key; it is shown only once.
    Create {
        /// Name of the key.
        #[arg(long, default_value = "default", value_parser = name)]
        name: String,
        /// Initial credits.
        #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(i64).range(0..))]
        credits: i64,
        /// Create a key with the prefix `hw_test_` for people; it is billed like any other.
        #[arg(long)]
        test: bool,
        /// Plan of the key, from `plans list` [default: default].
        #[arg(long)]
        plan: Option<String>,
        /// End of the key: a duration such as 90d, a day such as 2027-01-31 (its last one, in UTC), a time such as
        /// 2027-01-31T12:00:00Z, or never [default: never].
        #[arg(long, value_name = "WHEN", value_parser = expiry)]
        expires: Option<Expiry>,
    },
    /// List keys with their balances, and whether they are accepted.
    List,
    /// Revoke a key; the next request with it is refused.
    Revoke {
        /// Id of the key.
        id: String,
    },
    /// Create a key that replaces another, which stays valid for a grace period.
    Rotate {
        /// Id of the key.
        id: String,
        /// Grace period of the old key in hours; 0 ends it at once.
        #[arg(long, default_value_t = 24, value_parser = clap::value_parser!(u32).range(0..=8760))]
        grace_hours: u32,
        /// End of the new key, as `keys create` takes it [default: that of the old one].
        #[arg(long, value_name = "WHEN", value_parser = expiry)]
        expires: Option<Expiry>,
    },
}

/// Parses the end of a key.
fn expiry(text: &str) -> Result<Expiry, String> {
    if text == "never" { Ok(Expiry::Never) } else { when::expiry(text, now_ms() / 1000).map(Expiry::At) }
}

/// Creates, lists, revokes and rotates keys.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.command {
        Command::Create { name, credits, test, plan, expires } => {
            let environment = if test { Environment::Test } else { Environment::Live };
            let expires_at = match expires {
                Some(Expiry::At(end)) => Some(end),
                Some(Expiry::Never | Expiry::Inherited) | None => None,
            };
            let made = settings.state()?.admin(&actor(), |admin| {
                admin.create_expiring_key(&name, environment, credits, plan.as_deref(), expires_at)
            })?;
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
        Command::Rotate { id, grace_hours, expires } => {
            let expiry = expires.unwrap_or(Expiry::Inherited);
            let home = settings.existing()?;
            let made = home.admin(&actor(), |admin| admin.rotate_key(&id, grace_hours * 3600, expiry))?;
            show(output, &made)
        }
    }
}

/// Shows a new key, which is the only time.
fn show(output: Output, made: &NewKey) -> Result<(), Failure> {
    let key = made.key.expose();
    let value = json!({
        "id": made.id, "key": key, "name": made.name, "credits": made.credits, "expires_at": made.expires_at
    });
    output.report(&value, || {
        vec![
            format!("id       {}", made.id),
            format!("key      {key}"),
            format!("credits  {}", grouped(made.credits.unsigned_abs())),
            format!("expires  {}", made.expires_at.map_or_else(|| "never".to_owned(), date)),
            "Keep the key now: it is not stored and cannot be shown again.".to_owned(),
        ]
    })
}

fn listing(keys: &[KeyListing]) -> Vec<String> {
    if keys.is_empty() {
        return vec!["no keys yet: `headwater keys create` makes one".to_owned()];
    }
    let head = ["id", "name", "kind", "status", "plan", "credits", "created", "expires", "revoked"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(keys.iter().map(|key| {
        vec![
            key.id.clone(),
            key.name.clone(),
            key.environment.clone(),
            key.status.name().to_owned(),
            key.plan.clone(),
            grouped(key.credits.unsigned_abs()),
            date(key.created_at),
            key.expires_at.map(date).unwrap_or_default(),
            key.revoked_at.map(date).unwrap_or_default(),
        ]
    }));
    table(&rows)
}
