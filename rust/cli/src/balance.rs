//! `headwater balance`: the daily balances of an address.

use std::collections::BTreeMap;

use headwater_engine::endpoints::balance_history::{BalanceHistory, BalanceHistoryReport, ENDPOINT};
use serde_json::json;

use super::error::Failure;
use super::movement_filter::MovementFilter;
use super::output::{Output, standing};
use super::rows::table_of;
use super::session::Session;
use super::view::View;
use super::words::{counted, grouped_text, usd};
use super::{Settings, when};

/// Arguments of `balance`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: MovementFilter,
    /// First day or time, such as 2025-03-17 [default: 30 days in all].
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included [default: the last block held].
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    #[command(flatten)]
    view: View,
}

/// Prints what an address held at the end of each day.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { filter, from, to, view } = arguments;
    let session = Session::open(settings)?;
    let (_, request) = filter.request(&session, json!({"start_time": from, "end_time": to}))?;
    if view.is_csv(output)? {
        return session.print_csv(&ENDPOINT, request, output);
    }
    let response = session.ask::<BalanceHistory>(request.clone())?;
    let list = if output.is_json() { None } else { Some(session.list(&ENDPOINT, request)?) };
    output.answer(&response, || {
        let mut lines = vec![verdict(&response.report)];
        let rows = list.map(|list| list.rows).unwrap_or_default();
        if !rows.is_empty() {
            lines.extend(table_of(&ENDPOINT, &rows).lines(view.layout(output)));
        }
        lines.extend(standing(&response.warnings));
        lines
    })
}

/// Describes the last balance and the days.
fn verdict(report: &BalanceHistoryReport) -> String {
    let last = &report.final_balance;
    let days = counted(report.data_points.len() as u64, "day", "days");
    let first = report.data_points.first().zip(report.data_points.last());
    let span = first.map(|(first, last)| format!(", {} to {}", &*first.date, &*last.date)).unwrap_or_default();
    if report.warnings.iter().any(|warning| warning.starts_with("history_incomplete")) {
        return format!(
            "not enough data to say what it held: more went out than came in ({days}{span}); headwater ingest PATH adds the \
             missing history"
        );
    }
    let held: BTreeMap<&str, &str> = last
        .balances
        .iter()
        .filter_map(|item| Some((item.symbol.as_deref()?, &**item.balance.as_ref()?)))
        .filter(|(_, balance)| *balance != "0")
        .collect();
    let held: Vec<_> = held.iter().map(|(symbol, balance)| format!("{} {symbol}", grouped_text(balance))).collect();
    let worth = match (last.balances.is_empty(), last.total_usd) {
        (true, _) => "nothing at the end".to_owned(),
        (false, Some(worth)) => format!("{} US dollars at the end", usd(Some(worth))),
        (false, None) if held.len() <= 3 && !held.is_empty() => format!("{} at the end", held.join(", ")),
        (false, None) => {
            format!("{} without a price at the end", counted(last.balances.len() as u64, "asset", "assets"))
        }
    };
    format!("held {worth} ({days}{span})")
}
