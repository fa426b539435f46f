//! `headwater admin`.

use clap::Subcommand;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, date, table};
use super::{Settings, actor, name};

/// Arguments of `admin`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a key for the admin listener; it is shown only once.
    Create {
        /// Name of the key; the audit of the back office records its id.
        #[arg(long, default_value = "admin", value_parser = name)]
        name: String,
    },
    /// List admin keys.
    List,
    /// Revoke an admin key.
    Revoke {
        /// Id of the key.
        id: String,
    },
}

/// Creates, lists and revokes the keys of the admin listener.
pub(super) fn run(settings: &Settings, arguments: Arguments, output: Output) -> Result<(), Failure> {
    match arguments.command {
        Command::Create { name } => {
            let made = settings.state()?.admin(&actor(), |admin| admin.create_admin(&name))?;
            let key = made.key.expose();
            output.report(&json!({"id": made.id, "key": key, "name": name}), || {
                vec![
                    format!("id   {}", made.id),
                    format!("key  {key}"),
                    "Send it as X-Admin-Key. Keep it now: it is not stored and cannot be shown again.".to_owned(),
                ]
            })
        }
        Command::List => {
            let admins = settings.existing()?.consult(|admin| admin.list_admins())?;
            output.report(&json!({"admins": admins}), || {
                if admins.is_empty() {
                    return vec!["no admin keys yet: `headwater admin create` makes one".to_owned()];
                }
                let mut rows = vec![["id", "name", "created", "revoked"].map(str::to_owned).to_vec()];
                rows.extend(admins.iter().map(|admin| {
                    let revoked = admin.revoked_at.map(date).unwrap_or_default();
                    vec![admin.id.clone(), admin.name.clone(), date(admin.created_at), revoked]
                }));
                table(&rows)
            })
        }
        Command::Revoke { id } => {
            settings.existing()?.admin(&actor(), |admin| admin.revoke_admin(&id))?;
            output.report(&json!({"id": id, "revoked": true}), || vec![format!("{id} is revoked")])
        }
    }
}
