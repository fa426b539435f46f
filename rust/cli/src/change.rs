//! `headwater change`: which output of a Bitcoin transaction is the change, in words.

use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, date, table};
use super::words::{list, text};
use super::{Settings, query};

/// The endpoint that answers.
const ENDPOINT: &str = "btc/change-address";

/// What `change` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The transaction: 64 hex digits.
    txid: String,
}

/// Says which output went back to whoever paid, and by which rules.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let whole = query::ask_store(settings, (ENDPOINT, &json!({"txid": arguments.txid})), output)?;
    output.report(&whole, || lines(&whole["data"]))
}

/// Explains the `data` of an answer.
fn lines(data: &Value) -> Vec<String> {
    let block = data["block_number"].as_u64().map(|block| format!(", block {block}")).unwrap_or_default();
    let time = data["timestamp"].as_i64().map(|time| format!(", {}", date(time))).unwrap_or_default();
    let mut lines = vec![format!("{}{block}{time}", text(&data["txid"])), verdict(data)];
    let coinjoin = &data["coinjoin"];
    if let Some(kind) = coinjoin["type"].as_str() {
        let confidence = &coinjoin["confidence"];
        lines.push(if coinjoin["possible_coinjoin"] == true {
            format!("It may be a CoinJoin ({kind}, confidence {confidence}), so its inputs link nobody.")
        } else {
            format!("It has the shape of {kind} (confidence {confidence}).")
        });
    }
    let mut rows = vec![["output", "amount", "script", "confidence", "rules", "address"].map(str::to_owned).to_vec()];
    rows.extend(list(&data["outputs"]).iter().map(|output| {
        let rules: Vec<&str> = list(&output["heuristics"]).iter().map(text).collect();
        vec![
            output["index"].to_string(),
            format!("{} btc", text(&output["amount"])),
            text(&output["script_type"]).to_owned(),
            output["confidence"].to_string(),
            rules.join(" "),
            text(&output["address"]).to_owned(),
        ]
    }));
    lines.extend(table(&rows));
    lines.push("An answer is a probability: the chain does not say whose an output is.".to_owned());
    lines
}

fn verdict(data: &Value) -> String {
    let change = &data["change"];
    if change.is_null() {
        return format!("No change is named: {}.", reason(text(&data["reason"])));
    }
    format!("Output {} is the change, with a confidence of {}.", change["index"], change["confidence"])
}

fn reason(code: &str) -> &str {
    match code {
        "coinbase" => "the transaction mints coins",
        "single_output" => "fewer than two outputs can be spent and have an owner",
        "coinjoin" => "several people made the transaction together",
        "batch" => "it pays too many at once",
        "no_consensus" => "the rules do not agree enough",
        "all_outputs_to_inputs" => "all of it went back to whoever paid",
        other => other,
    }
}
