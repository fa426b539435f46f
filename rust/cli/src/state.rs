//! `headwater state`.

use std::path::PathBuf;

use clap::Subcommand;
use headwater_state::{Home, StateLocation};
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::output::{Output, grouped};

/// Arguments of `state`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Create a state: its database and its secret files, for a shared state in --secrets-dir.
    Init,
    /// Copy the state with its secrets into a new folder, while a server may be running on it.
    Backup {
        /// Folder to create, private (mode 0700) because the backup contains every webhook secret.
        folder: PathBuf,
    },
    /// Restore a backup into a new state, after a check of its structure and of the chain of credits.
    Restore {
        /// Folder of the backup.
        folder: PathBuf,
    },
    /// Check the structure of the database, the MACs of keys, accounts and plans, the checksums of all other rows, and the
    /// chain of every account's credits.
    Check,
}

/// Creates, copies, restores and checks the state.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let (place, secrets) = (settings.place()?, settings.secrets_dir.as_deref());
    match &arguments.command {
        Command::Init => {
            Home::init(&place, secrets)?;
            let shown = shown(&place);
            output.report(&json!({"state": shown}), || vec![format!("{shown} is ready")])
        }
        Command::Backup { folder } => {
            let report = settings.existing()?.back_up(folder)?;
            output.report(&json!({"folder": folder, "entries": report.entries}), || {
                vec![format!(
                    "{} holds the state with its secrets: {} entries of the credit ledger, checked",
                    folder.display(),
                    grouped(report.entries)
                )]
            })
        }
        Command::Restore { folder } => {
            let report = Home::restore(folder, &place, secrets)?;
            let shown = shown(&place);
            output.report(&json!({"state": shown, "entries": report.entries}), || {
                vec![format!("{shown} is restored: {} entries of the credit ledger, checked", grouped(report.entries))]
            })
        }
        Command::Check => {
            let report = settings.existing()?.check()?;
            output.report(&json!({"sound": true, "entries": report.entries}), || {
                vec![format!("sound: {} entries of the credit ledger fit", grouped(report.entries))]
            })
        }
    }
}

/// Formats the place of a state, without a password.
fn shown(place: &StateLocation) -> String {
    match place {
        StateLocation::Folder(path) => path.display().to_string(),
        StateLocation::Postgres(address) => address.to_string(),
    }
}
