//! `headwater transactions`: the movements of an address.

use headwater_engine::endpoints::counterparty_transfer_between::{self, TransferBetween};
use headwater_engine::endpoints::transactions::{self, Transactions};
use headwater_engine::{PageInfo, TransferRow};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::movement_filter::MovementFilter;
use super::output::{Output, grouped};
use super::rows::table_of;
use super::session::{Session, without_nulls};
use super::view::View;
use super::words::{counted, time};
use super::{Settings, when};

/// Arguments of `transactions`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: MovementFilter,
    /// Only movements between the address and this one.
    #[arg(long, value_name = "ADDRESS")]
    with: Option<String>,
    /// Received (in), sent (out), or both (all) [default: all].
    #[arg(long)]
    direction: Option<String>,
    /// First day or time, such as 2025-03-17.
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included.
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    /// Order of the rows: `timestamp` or `amount_usd`, the highest first [default: `timestamp`].
    #[arg(long)]
    sort: Option<String>,
    /// Maximum number of rows [default: 20; with --csv all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    view: View,
}

/// Lists the movements of an address.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { filter, with, direction, from, to, sort, limit, view } = arguments;
    let session = Session::open(settings)?;
    let further = json!({
        "counterparty": with, "direction": direction, "start_time": from, "end_time": to, "sort": sort, "limit": limit,
    });
    let (chain, mut request) = filter.request(&session, further)?;
    let endpoint = if with.is_some() {
        // Between two addresses the first is the target.
        request["target"] = request["address"].take();
        request = without_nulls(request);
        &counterparty_transfer_between::ENDPOINT
    } else {
        &transactions::ENDPOINT
    };
    if view.is_csv(output)? {
        return session.print_csv(endpoint, request, output);
    }
    let lines = |rows: &[TransferRow], page: &PageInfo| {
        let mut lines = vec![verdict(rows, page, chain, sort.as_deref())];
        let values: Vec<Value> = rows.iter().map(|row| json!(row)).collect();
        if !values.is_empty() {
            lines.extend(table_of(endpoint, &values).lines(view.layout(output)));
        }
        lines
    };
    if with.is_some() {
        let response = session.ask::<TransferBetween>(request)?;
        let report = &response.report;
        output.answer(&response, || lines(&report.datas, &report.pagination))
    } else {
        let response = session.ask::<Transactions>(request)?;
        let report = &response.report;
        output.answer(&response, || lines(&report.datas, &report.pagination))
    }
}

/// Describes how many movements there are, and which are shown.
fn verdict(rows: &[TransferRow], page: &PageInfo, chain: Chain, sort: Option<&str>) -> String {
    let shown = rows.len() as u64;
    if shown == 0 {
        return format!("no such movement of this address is held on {chain}");
    }
    let first = rows.iter().min_by_key(|row| *row.timestamp).zip(rows.iter().max_by_key(|row| *row.timestamp));
    let span = first.map(|(first, last)| format!(", {} to {}", time(first.timestamp), time(last.timestamp)));
    let span = span.unwrap_or_default();
    if !page.has_more {
        return format!("{} on {chain}{span}", counted(shown, "movement", "movements"));
    }
    let order = if sort == Some("amount_usd") { "largest" } else { "newest" };
    let all = page.total.map(|total| format!(" of {}", grouped(total))).unwrap_or_default();
    format!("the {} {order}{all} movements on {chain}{span} (--limit shows more)", grouped(shown))
}
