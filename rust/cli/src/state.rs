//! `headwater state`.

use std::path::PathBuf;

use clap::Subcommand;
use headwater_state::{Home, StateLocation};
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::output::{Output, grouped};

/// What `state` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Make a state: its database, and its secret files, also those of a shared state in --secrets-dir.
    Init,
    /// Copy the state with its secrets into a new folder, while a server may be running on it.
    Backup {
        /// The folder to make; whoever reads it can read every webhook secret, so it is private (mode 0700).
        folder: PathBuf,
    },
    /// Make a state out of a backup, once its structure and the chain of credits are checked; overwrites nothing.
    Restore {
        /// The folder of the backup.
        folder: PathBuf,
    },
    /// Check the structure of the database, the MACs of keys, accounts and plans, the checksums of all other rows, and the
    /// chain of every account's credits.
    Check,
}

/// Makes, copies, restores and checks the state.
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

/// A state as people see it, without a password.
fn shown(place: &StateLocation) -> String {
    match place {
        StateLocation::Folder(path) => path.display().to_string(),
        StateLocation::Postgres(address) => address.to_string(),
    }
}
