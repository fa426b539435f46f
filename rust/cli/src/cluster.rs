//! `headwater cluster`: which Bitcoin addresses are one person's, in words.

use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, table};
use super::words::{list, text};
use super::{Settings, query};

/// The endpoint that answers.
const ENDPOINT: &str = "btc/cluster";

/// What `cluster` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The Bitcoin address.
    address: String,
    /// Also find the clusters that change links to it.
    #[arg(long)]
    include_change: bool,
    /// How many addresses are listed.
    #[arg(long, default_value_t = 20)]
    limit: u32,
    /// How many are left out before them.
    #[arg(long, default_value_t = 0)]
    offset: u32,
}

/// Lists the addresses that one person is taken to hold, and what links them.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { address, include_change, limit, offset } = arguments;
    let request = json!({"address": address, "include_change": include_change, "limit": limit, "offset": offset});
    let whole = query::ask_store(settings, (ENDPOINT, &request), output)?;
    output.report(&whole, || lines(&whole["data"]))
}

/// Explains the `data` of an answer.
fn lines(data: &Value) -> Vec<String> {
    let (address, size) = (text(&data["address"]), data["size"].as_u64().unwrap_or(0));
    if size == 0 {
        return vec![format!("{address} was never seen on bitcoin.")];
    }
    let mut lines = match size {
        1 => vec![format!("No transaction links {address} to another address.")],
        _ => vec![format!("{address} is one of {size} addresses of the cluster {}.", text(&data["cluster_id"]))],
    };
    let mut rows = vec![["address", "first block", "linked by"].map(str::to_owned).to_vec()];
    rows.extend(list(&data["members"]).iter().map(|member| {
        let joined = member["joined_tx"].as_str().unwrap_or_default();
        vec![text(&member["address"]).to_owned(), member["first_block"].to_string(), joined.to_owned()]
    }));
    lines.extend(table(&rows));
    let weakest = &data["weakest_link"];
    if !weakest.is_null() {
        let (addresses, txid) = (&weakest["addresses"], text(&weakest["txid"]));
        lines.push(format!("Without transaction {txid}, nothing links {addresses} of them to the others."));
    }
    lines.extend(with_change(&data["with_change"]));
    lines.push(
        "A cluster is an inference: one transaction spends from addresses that one person is taken to hold.".to_owned(),
    );
    lines
}

fn with_change(data: &Value) -> Vec<String> {
    if data.is_null() {
        return Vec::new();
    }
    let clusters = list(&data["clusters"]);
    let mut lines = vec![match clusters.len() {
        0 | 1 => "Change links it to no other cluster.".to_owned(),
        count => format!(
            "Change makes {count} clusters of {} addresses one, the oldest {}.",
            data["size"],
            text(&data["cluster_id"])
        ),
    }];
    lines.extend(list(&data["links"]).iter().map(|link| {
        let (txid, index, confidence) = (text(&link["txid"]), &link["index"], &link["confidence"]);
        format!("  {} -> {}: output {index} of {txid} ({confidence})", text(&link["payer"]), text(&link["owner"]))
    }));
    lines.extend(list(&data["refused"]).iter().map(|link| {
        let why = match text(&link["reason"]) {
            "different_entities" => "they are known as different entities",
            "payment_between" => "one paid the other and kept other change",
            other => other,
        };
        let (txid, index) = (text(&link["txid"]), &link["index"]);
        format!("  {} and {} stay apart: {why}; output {index} of {txid}", text(&link["payer"]), text(&link["owner"]))
    }));
    lines
}
