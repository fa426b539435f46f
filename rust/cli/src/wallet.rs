//! `headwater wallet`: an address at a glance, in words.

use headwater_engine::Response;
use headwater_engine::endpoints::wallet_overview::{ENDPOINT, WalletOverview, WalletOverviewReport};
use serde_json::{Value, json};

use super::Settings;
use super::error::Failure;
use super::movement_filter::MovementFilter;
use super::output::{Output, grouped, standing};
use super::rows::table_of;
use super::session::Session;
use super::table::Layout;
use super::view::View;
use super::words::{counted, row, time, usd};

/// Arguments of `wallet`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    #[command(flatten)]
    filter: MovementFilter,
    #[command(flatten)]
    view: View,
}

/// Prints what an address holds, and what it received and sent.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { filter, view } = arguments;
    let session = Session::open(settings)?;
    let (_, request) = filter.request(&session, json!({}))?;
    if view.is_csv(output)? {
        return session.print_csv(&ENDPOINT, request, output);
    }
    let response = session.ask::<WalletOverview>(request)?;
    output.answer(&response, || lines(&response, view.layout(output)))
}

fn lines(response: &Response<WalletOverviewReport>, layout: Layout) -> Vec<String> {
    let report = &response.report;
    let is_whole = !response.warnings.iter().any(|warning| warning.code == "history_incomplete");
    let mut lines = vec![verdict(report, is_whole)];
    let mut facts = vec![row(["address", &report.address]), row(["chain", &report.blockchain])];
    if let Some(label) = &report.label {
        let codes: Vec<_> = label.labels.iter().map(|code| &**code).collect();
        let name = label.entity_name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
        facts.push(row(["labels", &format!("{name}{}", codes.join(", "))]));
    }
    if let Some((first, last)) = report.first_activity.zip(report.last_activity) {
        let transactions = counted(report.tx_count, "transaction", "transactions");
        facts.push(row(["active", &format!("{} to {}, {transactions}", time(first), time(last))]));
        let (received, sent) = (dollars(report.total_received_usd), dollars(report.total_sent_usd));
        facts.push(row([
            "received",
            &format!("{received} from {}", counted(report.received_address_count, "address", "addresses")),
        ]));
        facts.push(row(["sent", &format!("{sent} to {}", counted(report.sent_address_count, "address", "addresses"))]));
    }
    if let Some(funder) = &report.first_funder {
        facts.push(row(["first paid by", &format!("{} on {}", &*funder.address, time(funder.timestamp))]));
    }
    lines.extend(super::output::table(&facts).into_iter().map(|line| format!("  {line}")));
    let rows: Vec<Value> = report.balances.iter().filter_map(|asset| serde_json::to_value(asset).ok()).collect();
    if !rows.is_empty() {
        lines.push(String::new());
        lines.extend(table_of(&ENDPOINT, &rows).lines(layout));
    }
    lines.extend(standing(&response.warnings));
    lines
}

fn dollars(of: Option<f64>) -> String {
    of.map_or_else(|| "an amount without a price".to_owned(), |of| format!("{} US dollars", usd(Some(of))))
}

/// Describes what an address holds now.
fn verdict(report: &WalletOverviewReport, is_whole: bool) -> String {
    let held: Vec<_> =
        report.balances.iter().filter(|asset| asset.balance_raw.as_deref().is_none_or(|raw| raw != "0")).collect();
    let unpriced = held.iter().filter(|asset| asset.balance_usd.is_none()).count() as u64;
    let chain = &*report.blockchain;
    if report.transfer_count == 0 && held.is_empty() {
        return format!("no movement of this address is held on {chain}");
    }
    let assets = counted(held.len() as u64, "asset", "assets");
    if !is_whole {
        let movements = counted(report.transfer_count, "movement", "movements");
        return format!(
            "not enough data to say what it holds on {chain}: more went out than came in ({movements}); headwater ingest PATH \
             adds the missing history"
        );
    }
    match (held.len() as u64, report.total_balance_usd) {
        (0, _) => {
            format!("holds nothing on {chain}; {} in all", counted(report.transfer_count, "movement", "movements"))
        }
        (all, _) if unpriced == all => {
            format!("holds {assets} on {chain}, none with a price: headwater prices import FILE")
        }
        (_, worth) if unpriced == 0 => format!("holds {assets} on {chain} worth {} US dollars", usd(worth)),
        (_, worth) => {
            format!("holds {assets} on {chain} worth {} US dollars; {} without a price", usd(worth), grouped(unpriced))
        }
    }
}
