//! `headwater credits`.

use clap::{ArgGroup, Subcommand};
use serde_json::json;

use super::error::Failure;
use super::output::{Output, date, grouped, table};
use super::{Settings, actor};

/// Arguments of `credits`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Add credits to the account of a key.
    Add {
        /// Id of the key.
        id: String,
        /// Number of credits.
        #[arg(value_parser = clap::value_parser!(i64).range(1..))]
        amount: i64,
    },
    /// Refund a request, or with --lost every charge of a killed server whose answer may not have arrived.
    #[command(group(ArgGroup::new("what").required(true).args(["request_id", "lost"])))]
    Refund {
        /// Id of the request, from `X-Request-Id` of its answer, `audit` or `credits lost`.
        request_id: Option<String>,
        /// Refund every charge that `credits lost` lists.
        #[arg(long)]
        lost: bool,
    },
    /// List charges whose answers may be lost.
    Lost,
}

/// Adds and refunds credits.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let home = settings.existing()?;
    match &arguments.command {
        Command::Add { id, amount } => {
            let balance = home.admin(&actor(), |admin| admin.add_credits(id, *amount))?;
            output.report(&json!({"id": id, "added": amount, "credits": balance}), || {
                vec![format!("{id} has {} credits", grouped(balance.unsigned_abs()))]
            })
        }
        Command::Refund { request_id: Some(request_id), .. } => {
            let (credits, balance) = home.admin(&actor(), |admin| admin.refund(request_id))?;
            output.report(&json!({"request_id": request_id, "refunded": credits, "credits": balance}), || {
                vec![format!("{credits} credits were given back: {} are there now", grouped(balance.unsigned_abs()))]
            })
        }
        Command::Refund { request_id: None, .. } => {
            let refunded = home.admin(&actor(), |admin| admin.refund_lost())?;
            output.report(&json!({"refunded_requests": refunded}), || {
                vec![format!(
                    "{} {} given back",
                    grouped(refunded),
                    if refunded == 1 { "charge was" } else { "charges were" }
                )]
            })
        }
        Command::Lost => {
            const MAX_LISTED: u32 = 10_000;
            let lost = home.consult(|admin| admin.lost_answers(MAX_LISTED))?;
            output.report(&json!({"lost": lost}), || {
                if lost.is_empty() {
                    return vec!["no answer was lost".to_owned()];
                }
                let mut rows =
                    vec![["request", "key", "endpoint", "credits", "time", "refunded"].map(str::to_owned).to_vec()];
                rows.extend(lost.iter().map(|one| {
                    vec![
                        one.request_id.clone(),
                        one.key_id.clone().unwrap_or_default(),
                        one.endpoint.clone().unwrap_or_default(),
                        one.credits.to_string(),
                        date(one.ts_ms / 1000),
                        one.refunded_at_ms.map(|at| date(at / 1000)).unwrap_or_default(),
                    ]
                }));
                table(&rows)
            })
        }
    }
}
