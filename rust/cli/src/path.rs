//! `headwater path`.

use headwater_engine::endpoints::path::{MoneyPath, PathAnalysis, PathReport};
use headwater_engine::trace::{TraceEdge, TruncationName};
use headwater_types::Chain;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, grouped};
use super::session::Session;
use super::table::{Layout, fitted};
use super::view::WideFlag;
use super::words::{amount, counted, row, section, time, usd};
use super::{Settings, chain, when};

/// Arguments of `path`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Maximum number of payments of a path, 1 to 7 [default: 4].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// Maximum number of paths, 1 to 20 [default: 3].
    #[arg(long, value_name = "N")]
    k: Option<u64>,
    /// Minimum amount of every hop in US dollars.
    #[arg(long, value_name = "USD")]
    min_usd: Option<f64>,
    /// First day or time, such as 2025-03-17.
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included.
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    #[command(flatten)]
    wide: WideFlag,
    /// Address at which the paths begin.
    source: String,
    /// Addresses at which they may end, 1 to 20.
    #[arg(required = true)]
    targets: Vec<String>,
}

/// Prints the paths along which money can have moved.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, max_hops, k, min_usd, from, to, wide, source, targets } = arguments;
    let session = Session::open(settings)?;
    let chain = session.chain(*chain, source)?;
    let request = json!({
        "blockchain": chain.name(), "source": source, "targets": targets, "max_hops": max_hops, "k": k,
        "min_amount_usd": min_usd, "start_time": from, "end_time": to,
    });
    let response = session.ask::<PathAnalysis>(request)?;
    output.answer(&response, || lines(&response.report, wide.layout(output)))
}

fn lines(report: &PathReport, layout: Layout) -> Vec<String> {
    let explored = grouped(report.explored_nodes);
    let from = format!("  from {} on {}; {explored} addresses looked through", &*report.source, &*report.blockchain);
    let mut lines = vec![verdict(report), from];
    for (number, MoneyPath { target, bottleneck_usd, edges, .. }) in (1..).zip(&report.paths) {
        let title = format!("Path {number} to {}, bottleneck {}", &**target, usd(*bottleneck_usd));
        let head = row(["hop", "from", "to", "amount", "US dollars", "first", "last"]);
        let rows: Vec<_> = std::iter::once(head).chain(edges.iter().map(hop)).collect();
        lines.extend(section(&title, fitted(&rows, layout)));
    }
    let cuts = report.truncation_reasons.iter().map(|reason| match reason {
        TruncationName::FanoutLimit => "  small payments of very busy addresses",
        TruncationName::MaxNodes => "  addresses beyond those looked through: ask for fewer hops",
        TruncationName::TimeBudget => "  what would have taken more work than one search may: ask for fewer hops",
        TruncationName::DepthLimit => "  depth_limit",
    });
    let cuts = cuts.map(str::to_owned).collect();
    lines.extend(section("What was left out, so that there may be further paths", cuts));
    lines.push("A path is a possibility: coins in one account cannot be told apart.".to_owned());
    lines
}

/// Describes how many paths there are, and the widest of them.
fn verdict(report: &PathReport) -> String {
    let widest = report.paths.iter().reduce(|widest, path| {
        if path.bottleneck_usd.unwrap_or(-1.0) > widest.bottleneck_usd.unwrap_or(-1.0) { path } else { widest }
    });
    let Some(widest) = widest else { return "no path is found".to_owned() };
    let hops = counted(widest.edges.len() as u64, "payment", "payments");
    let most = match widest.bottleneck_usd {
        Some(usd_of_path) => format!("at most {} US dollars can have moved along the widest", usd(Some(usd_of_path))),
        None => "no payment of them has a price; the first".to_owned(),
    };
    let paths = counted(report.paths.len() as u64, "path", "paths");
    format!("{paths}: {most}, to {} in {hops}", &*widest.target)
}

fn hop(edge: &TraceEdge) -> Vec<String> {
    let change = if edge.is_change { " (change)" } else { "" };
    row([
        &format!("{}{change}", edge.depth),
        &edge.from_address,
        &edge.to_address,
        &amount(edge.amount.as_ref(), &edge.amount_raw, &edge.symbol),
        &usd(edge.amount_usd),
        &time(edge.first_activity),
        &time(edge.last_activity),
    ])
}
