//! `headwater path`.

use headwater_engine::endpoints::path::{MoneyPath, PathAnalysis, PathReport};
use headwater_engine::trace::{TraceEdge, TruncationName};
use headwater_types::Chain;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, grouped, table};
use super::words::{amount, row, section, time, usd};
use super::{Settings, chain, query};

/// Arguments of `path`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Chain,
    /// Maximum number of payments of a path, 1 to 7 [default: 4].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// Maximum number of paths, 1 to 20 [default: 3].
    #[arg(long, value_name = "N")]
    k: Option<u64>,
    /// Minimum amount of every hop in US dollars.
    #[arg(long, value_name = "USD")]
    min_usd: Option<f64>,
    /// First time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    from: Option<i64>,
    /// Last time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    to: Option<i64>,
    /// Address at which the paths begin.
    source: String,
    /// Addresses at which they may end, 1 to 20.
    #[arg(required = true)]
    targets: Vec<String>,
}

/// Prints the paths along which money can have moved.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, max_hops, k, min_usd, from, to, source, targets } = arguments;
    let request = json!({
        "blockchain": chain.name(), "source": source, "targets": targets, "max_hops": max_hops, "k": k,
        "min_amount_usd": min_usd, "start_time": from, "end_time": to,
    });
    let response = query::ask_store::<PathAnalysis>(settings, request, output)?;
    output.report(&response, || lines(&response.report))
}

fn lines(report: &PathReport) -> Vec<String> {
    let mut lines = vec![format!(
        "{} on {}: {} paths, {} addresses looked through",
        &*report.source,
        &*report.blockchain,
        report.paths.len(),
        grouped(report.explored_nodes)
    )];
    for (number, MoneyPath { target, bottleneck_usd, edges, .. }) in (1..).zip(&report.paths) {
        let title = format!("Path {number} to {}, bottleneck {}", &**target, usd(*bottleneck_usd));
        let head = row(["hop", "from", "to", "amount", "US dollars", "first", "last"]);
        let rows: Vec<_> = std::iter::once(head).chain(edges.iter().map(hop)).collect();
        lines.extend(section(&title, table(&rows)));
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
