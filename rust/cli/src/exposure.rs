//! `headwater exposure`.

use headwater_types::Chain;
use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, table};
use super::words::{doubt, list, percent, row, section, text, usd};
use super::{Settings, chain, query};

/// What `exposure` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Chain,
    /// Where the money came from (in), where it went (out), or both (all) [default: all].
    #[arg(long)]
    direction: Option<String>,
    /// Payments to a named address at most, 1 to 5 [default: 1].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// First time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    from: Option<i64>,
    /// Last time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    to: Option<i64>,
    /// Whose money.
    address: String,
}

/// Says from whom the money of an address came, and to whom it went.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, direction, max_hops, from, to, address } = arguments;
    let request = query::without_nulls(json!({
        "blockchain": chain.name(), "address": address, "direction": direction, "max_hops": max_hops,
        "start_time": from, "end_time": to,
    }));
    let whole = query::ask_store(settings, ("exposure", &request), output)?;
    output.report(&whole, || lines(&whole["data"]))
}

fn lines(data: &Value) -> Vec<String> {
    let head = format!(
        "{} on {}: {} in all, {} without a name",
        text(&data["address"]),
        text(&data["blockchain"]),
        usd(&data["total_usd"]),
        usd(&data["unattributed_usd"])
    );
    let parts = [
        vec![head],
        section("Direct", shares(&data["direct"])),
        section("Through others that have no name", shares(&data["indirect"])),
        section("Without a name", nameless(data)),
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
}

fn shares(records: &Value) -> Vec<String> {
    if list(records).is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["category", "way", "US dollars", "share", "addresses", "hops", "largest"])];
    rows.extend(list(records).iter().map(|record| {
        let largest = &record["top"][0];
        let name = largest["entity_name"].as_str().unwrap_or_else(|| text(&largest["address"]));
        let name = format!("{name}{}", doubt(largest));
        row([
            text(&record["category"]),
            text(&record["direction"]),
            &usd(&record["amount_usd"]),
            &percent(&record["share"]),
            &record["addresses"].to_string(),
            &record["hops"].to_string(),
            &name,
        ])
    }));
    table(&rows)
}

fn nameless(data: &Value) -> Vec<String> {
    if list(&data["unattributed"]).is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["way", "US dollars", "why"])];
    rows.extend(list(&data["unattributed"]).iter().map(|record| {
        let why = match text(&record["reason"]) {
            "depth_limit" => "beyond the last hop: raise --max-hops",
            "hub" => "through an address that deals with too many",
            "kept" => "stayed at an address between, was there before the data begins, or paid fees",
            "again" => "came back to an address of the walk",
            "fanout_limit" => "small payments of busy addresses",
            "max_nodes" => "beyond the addresses that are looked through",
            "time_budget" => "would have taken more work than one answer may",
            "decay" => "5 % for each hop beyond the first",
            other => other,
        };
        row([text(&record["direction"]), &usd(&record["amount_usd"]), why])
    }));
    table(&rows)
}
