//! `headwater counterparties`: whom an address dealt with.

use headwater_engine::CounterpartyRow;
use headwater_engine::endpoints::counterparty::{Counterparty, ENDPOINT};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::movement_filter::MovementFilter;
use super::output::Output;
use super::rows::table_of;
use super::session::Session;
use super::view::View;
use super::words::{counted, usd};
use super::{Settings, when};

/// Arguments of `counterparties`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: MovementFilter,
    /// Payers (in), payees (out), or both (all) [default: all].
    #[arg(long)]
    direction: Option<String>,
    /// First day or time, such as 2025-03-17.
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included.
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    /// Order of the rows, such as `total_amount`, `total_count` or `last_activity` [default: `total_amount`].
    #[arg(long)]
    sort: Option<String>,
    /// Maximum number of rows [default: 20; with --csv all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    view: View,
}

/// Ranks the counterparties of an address.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { filter, direction, from, to, sort, limit, view } = arguments;
    let session = Session::open(settings)?;
    let further = json!({"direction": direction, "start_time": from, "end_time": to, "sort": sort, "limit": limit});
    let (chain, request) = filter.request(&session, further)?;
    if view.is_csv(output)? {
        return session.print_csv(&ENDPOINT, request, output);
    }
    let response = session.ask::<Counterparty>(request)?;
    let report = &response.report;
    output.answer(&response, || {
        let total = report.pagination.total.unwrap_or(report.datas.len() as u64);
        let mut lines = vec![verdict(total, report.datas.first(), chain)];
        let rows: Vec<Value> = report.datas.iter().map(|row| json!(row)).collect();
        if !rows.is_empty() {
            lines.extend(table_of(&ENDPOINT, &rows).lines(view.layout(output)));
        }
        lines
    })
}

/// Describes how many counterparties there are, and the first of them.
fn verdict(total: u64, first: Option<&CounterpartyRow>, chain: Chain) -> String {
    let Some(first) = first else { return format!("no counterparty of this address is held on {chain}") };
    let name = first.entity_name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let is_unpriced = first.unpriced_fields.contains(&"total_amount_usd");
    let worth =
        if is_unpriced { String::new() } else { format!(" for {} US dollars", usd(Some(first.total_amount_usd))) };
    let times = counted(first.total_count, "transaction", "transactions");
    let all = counted(total, "address", "addresses");
    format!("dealt with {all} on {chain}; first {}{name}, in {times}{worth}", &*first.address)
}
