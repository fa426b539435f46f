//! `headwater cross-chain`: where transactions went over bridges, in words.

use serde_json::{Value, json};

use super::error::Failure;
use super::output::{Output, date};
use super::words::{list, text};
use super::{Settings, query};

/// What `cross-chain` takes.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The transactions: one, or up to 50.
    #[arg(required = true)]
    txhash: Vec<String>,
    /// Their chain; omitted: every chain that writes hashes in their form.
    #[arg(long)]
    chain: Option<String>,
}

/// Says where the money of transactions went, or came from, over bridges.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { txhash, chain } = arguments;
    let (endpoint, mut request) = match &txhash[..] {
        [one] => ("cross-chain", json!({"txhash": one})),
        many => {
            let queries: Vec<Value> = many.iter().map(|hash| json!({"txhash": hash})).collect();
            ("cross-chain/batch", json!({"queries": queries}))
        }
    };
    if let Some(chain) = chain {
        request["chain"] = json!(chain);
    }
    let whole = query::ask_store(settings, (endpoint, &request), output)?;
    output.report(&whole, || lines(&whole["data"]))
}

/// Explains the `data` of an answer.
fn lines(data: &Value) -> Vec<String> {
    let results = list(&data["results"]);
    if results.is_empty() {
        return vec!["The transaction is no leg of a transfer over a known bridge.".to_owned()];
    }
    results.iter().flat_map(transfer).collect()
}

fn transfer(item: &Value) -> Vec<String> {
    let (hash, result) = (text(&item["txhash"]), &item["result"]);
    if let Some(why) = item["error"].as_str() {
        return vec![format!("{hash}: {why}")];
    }
    if result["status"].is_null() {
        return vec![format!("{hash}: no leg of a transfer over a known bridge.")];
    }
    let status = text(&result["status"]);
    vec![
        format!("{hash}: {}, {status} (confidence {})", text(&result["bridge"]), result["confidence"]),
        side("from", &result["sender_address"], result, "source"),
        side("to", &result["receiver_address"], result, "destination"),
    ]
}

/// One side of a transfer in a line: who, where, how much, when, by which transaction.
fn side(word: &str, who: &Value, result: &Value, name: &str) -> String {
    let field = |field: &str| &result[format!("{name}_{field}").as_str()];
    let known = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let chain = known(field("chain")).unwrap_or_else(|| "an unknown chain".to_owned());
    let amount = match (known(field("amount")), known(field("amount_raw"))) {
        (Some(amount), _) => format!(", {amount} {}", known(field("symbol")).unwrap_or_default()),
        (None, Some(raw)) => {
            let token = known(field("token")).unwrap_or_else(|| "an unknown token".to_owned());
            format!(", {raw} of the smallest unit of {token}")
        }
        (None, None) => String::new(),
    };
    let time = field("timestamp").as_i64().map(|time| format!(", {}", date(time))).unwrap_or_default();
    let hash = known(field("tx_hash")).map(|hash| format!(", {hash}")).unwrap_or_default();
    let who = known(who).unwrap_or_else(|| "somebody".to_owned());
    format!("  {word} {who} on {chain}{}{time}{hash}", amount.trim_end())
}
