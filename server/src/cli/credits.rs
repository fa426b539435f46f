//! `headwater credits`.

use clap::Subcommand;
use serde_json::json;

use super::Shared;
use super::error::Failure;
use super::output::{Output, grouped};
use crate::state::{BackOffice, StateFolder};

/// What `credits` takes.
#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add credits to the account of a key.
    Add {
        /// Id of the key.
        id: String,
        /// How many.
        #[arg(value_parser = clap::value_parser!(i64).range(1..))]
        amount: i64,
    },
}

/// Adds credits.
pub(super) fn run(shared: &Shared, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Command::Add { id, amount } = &arguments.command;
    let mut office = BackOffice::open(StateFolder::open_or_create(&shared.state()?)?)?;
    let balance = office.add_credits(id, *amount)?;
    output.report(&json!({"id": id, "added": amount, "credits": balance}), || {
        vec![format!("{id} has {} credits", grouped(balance.unsigned_abs()))]
    })
}
