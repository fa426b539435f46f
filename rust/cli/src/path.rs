//! `headwater path`.

use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, table};
use super::words::{amount, count, list, row, section, text, time, usd};
use super::{Settings, chain, query};

/// What `path` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Chain,
    /// Payments of a path at most, 1 to 7 [default: 4].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// Paths at most, 1 to 20 [default: 3].
    #[arg(long, value_name = "N")]
    k: Option<u64>,
    /// US dollars that every hop has to carry at least.
    #[arg(long, value_name = "USD")]
    min_usd: Option<f64>,
    /// First time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    from: Option<i64>,
    /// Last time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    to: Option<i64>,
    /// Where the money was.
    source: String,
    /// Where it may have gone, 1 to 20 addresses.
    #[arg(required = true)]
    targets: Vec<String>,
}

/// Says along which ways money can have gone.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let whole = query::ask_store(settings, ("path", &request(arguments)), output)?;
    output.report(&whole, || lines(&whole["data"]))
}

/// The request, without what was not given.
fn request(arguments: &Arguments) -> Value {
    let Arguments { chain, max_hops, k, min_usd, from, to, source, targets } = arguments;
    query::without_nulls(json!({
        "blockchain": chain.name(), "source": source, "targets": targets, "max_hops": max_hops, "k": k,
        "min_amount_usd": min_usd, "start_time": from, "end_time": to,
    }))
}

fn lines(data: &Value) -> Vec<String> {
    let mut lines = vec![format!(
        "{} on {}: {} paths, {} addresses looked through",
        text(&data["source"]),
        text(&data["blockchain"]),
        list(&data["paths"]).len(),
        count(&data["explored_nodes"])
    )];
    for (number, path) in (1..).zip(list(&data["paths"])) {
        let title = format!("Path {number} to {}, bottleneck {}", text(&path["target"]), usd(&path["bottleneck_usd"]));
        let mut rows = vec![row(["hop", "from", "to", "amount", "US dollars", "first", "last"])];
        rows.extend(list(&path["edges"]).iter().map(|edge| {
            row([
                &if edge["is_change"] == true {
                    format!("{} (change)", edge["depth"])
                } else {
                    edge["depth"].to_string()
                },
                text(&edge["from_address"]),
                text(&edge["to_address"]),
                &amount(edge),
                &usd(&edge["amount_usd"]),
                &time(&edge["first_activity"]),
                &time(&edge["last_activity"]),
            ])
        }));
        lines.extend(section(&title, table(&rows)));
    }
    let cuts = list(&data["truncation_reasons"]).iter().map(|reason| match text(reason) {
        "fanout_limit" => "  small payments of very busy addresses".to_owned(),
        "max_nodes" => "  addresses beyond those looked through: ask for fewer hops".to_owned(),
        "time_budget" => "  what would have taken more work than one search may: ask for fewer hops".to_owned(),
        other => format!("  {other}"),
    });
    lines.extend(section("What was left out, so that there may be further paths", cuts.collect()));
    lines.push("A path is a possibility: coins in one account cannot be told apart.".to_owned());
    lines
}
