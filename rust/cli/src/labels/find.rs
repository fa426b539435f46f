//! `headwater labels find`: the addresses with a name.

use headwater_engine::endpoints::labels_search::{ENDPOINT, LabelSearch, LabelSearchReport};
use headwater_types::Chain;
use serde_json::{Value, json};

use super::super::error::Failure;
use super::super::output::Output;
use super::super::rows::table_of;
use super::super::session::Session;
use super::super::view::View;
use super::super::words::counted;
use super::super::{Settings, chain};

/// Arguments of `labels find`.
#[derive(Debug, clap::Args)]
pub(super) struct Find {
    /// Only addresses of this chain [default: all chains].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Maximum number of rows [default: 20; with --csv all].
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
    #[command(flatten)]
    view: View,
    /// The name, or the beginnings of its words, such as `binance` or `tornado cash`.
    #[arg(required = true, value_name = "NAME")]
    name: Vec<String>,
}

/// Prints the addresses to which lists give a name.
pub(super) fn run(settings: &Settings, arguments: &Find, output: Output) -> Result<(), Failure> {
    let Find { chain, limit, view, name } = arguments;
    let name = name.join(" ");
    let session = Session::open(settings)?;
    let request = json!({"q": name, "chain": chain.map(Chain::name), "limit": limit});
    if view.is_csv(output)? {
        return session.print_csv(&ENDPOINT, request, output);
    }
    let response = session.ask::<LabelSearch>(request)?;
    let report = &response.report;
    output.answer(&response, || {
        let mut lines = vec![verdict(report, &name)];
        let rows: Vec<Value> = report.results.iter().map(|row| json!(row)).collect();
        if !rows.is_empty() {
            lines.extend(table_of(&ENDPOINT, &rows).lines(view.layout(output)));
        }
        lines
    })
}

/// Describes how many addresses have the name.
fn verdict(report: &LabelSearchReport, name: &str) -> String {
    let shown = report.results.len() as u64;
    let total = report.pagination.total.unwrap_or(shown);
    if total == 0 {
        return format!("no list gives an address the name {name:?}");
    }
    let (addresses, verb) = (counted(total, "address", "addresses"), if total == 1 { "has" } else { "have" });
    let first = if shown < total { format!("; the first {shown} are shown") } else { String::new() };
    format!("{addresses} {verb} the name {name:?}{first}")
}
