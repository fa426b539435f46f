//! `headwater labels dispute`, `confirm` and `disputes`.

use headwater_engine::{ClaimDisputeRequest, DisputeRecord, list_disputes, record_dispute};
use headwater_ledger::Store;
use headwater_ledger::labels::{Code, DisputeAction};
use headwater_ledger::store::WriterOptions;
use headwater_types::Chain;
use serde_json::json;

use super::super::error::Failure;
use super::super::output::{Output, date, grouped, table};
use super::super::{Settings, actor};
use super::now;

/// Arguments of `labels dispute` and `labels confirm`.
#[derive(Debug, clap::Args)]
pub(super) struct Dispute {
    /// The address.
    address: String,
    /// Reason of the action; kept for ever, with its author and time.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    /// Only claims that hold on this chain [default: all chains].
    #[arg(long, value_parser = super::super::chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Only claims of this source or provenance group [default: all sources].
    #[arg(long)]
    source: Option<String>,
    /// Only claims of this code [default: all codes].
    #[arg(long, value_parser = super::import::code())]
    code: Option<Code>,
}

/// Records a dispute or a confirmation.
pub(super) fn record(
    settings: &Settings,
    action: DisputeAction,
    arguments: Dispute,
    output: Output,
) -> Result<(), Failure> {
    let Dispute { address, reason, chain, source, code } = arguments;
    let blockchain = chain.map(|chain| chain.name().to_owned());
    let code = code.map(|code| code.name().to_owned());
    let request = ClaimDisputeRequest { address, reason, blockchain, source, code };
    let recorded = record_dispute(&settings.store()?, action, &request, (&actor(), now()), WriterOptions::default());
    let recorded = recorded.map_err(|error| Failure::from_engine(&error))?;
    output.report(&json!({"recorded": recorded}), || {
        let what = match action {
            DisputeAction::Dispute => "disputed",
            DisputeAction::Confirm => "confirmed",
        };
        let count = grouped(recorded.len() as u64);
        let claims = if recorded.len() == 1 { "claim" } else { "claims" };
        std::iter::once(format!("{count} {claims} {what}")).chain(rows(&recorded)).collect()
    })
}

/// Prints the history.
pub(super) fn list(settings: &Settings, address: Option<&str>, output: Output) -> Result<(), Failure> {
    let ledger = Store::open(settings.store()?)?.snapshot()?;
    let disputes = list_disputes(&*ledger, address).map_err(|error| Failure::from_engine(&error))?;
    output.report(&json!({"disputes": disputes}), || {
        if disputes.is_empty() { vec!["no claim was ever disputed".to_owned()] } else { rows(&disputes) }
    })
}

fn rows(records: &[DisputeRecord]) -> Vec<String> {
    let head = ["date", "action", "address", "chain", "code", "source", "by", "reason", "in force"];
    let mut rows = vec![head.map(str::to_owned).to_vec()];
    rows.extend(records.iter().map(|record| {
        vec![
            date(i64::from(record.at)),
            record.action.to_owned(),
            record.address.to_string(),
            record.blockchain.to_string(),
            record.code.as_ref().map(|code| code.to_string()).unwrap_or_default(),
            record.source.clone(),
            record.by.clone(),
            record.reason.clone(),
            if record.in_force { "yes" } else { "" }.to_owned(),
        ]
    }));
    table(&rows)
}
