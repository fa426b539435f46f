//! `headwater cross-chain`: the transfers of transactions over bridges, in words.

use headwater_engine::CrossChainTransfer;
use headwater_engine::endpoints::cross_chain::{CrossChain, CrossChainItem};
use headwater_engine::endpoints::cross_chain_batch::CrossChainBatch;
use headwater_engine::fields::{DecimalText, RawAmountText, Time};
use serde_json::{Value, json};

use super::Settings;
use super::error::Failure;
use super::output::Output;
use super::session::Session;
use super::words::{number, time};

/// Arguments of `cross-chain`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The transactions: one, or up to 50.
    #[arg(required = true)]
    txhash: Vec<String>,
    /// Their chain [default: every chain whose hashes have their form].
    #[arg(long)]
    chain: Option<String>,
}

/// Prints the sources and destinations of transactions over bridges.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { txhash, chain } = arguments;
    let session = Session::open(settings)?;
    if let [one] = &txhash[..] {
        let request = json!({"txhash": one, "chain": chain});
        let response = session.ask::<CrossChain>(request)?;
        return output.answer(&response, || lines(&response.report.results));
    }
    let queries: Vec<Value> = txhash.iter().map(|hash| json!({"txhash": hash})).collect();
    let request = json!({"queries": queries, "chain": chain});
    let response = session.ask::<CrossChainBatch>(request)?;
    output.answer(&response, || lines(&response.report.results))
}

fn lines(results: &[CrossChainItem]) -> Vec<String> {
    if results.is_empty() {
        return vec!["The transaction is no leg of a transfer over a known bridge.".to_owned()];
    }
    let found = results.iter().filter(|item| item.result.status.is_some()).count();
    let head = match results.len() {
        1 => None,
        all => Some(format!("{found} of {all} transactions are legs of transfers over known bridges")),
    };
    head.into_iter().chain(results.iter().flat_map(transfer)).collect()
}

fn transfer(item: &CrossChainItem) -> Vec<String> {
    let CrossChainItem { txhash, result, error, .. } = item;
    if let Some(why) = error {
        return vec![format!("{txhash}: {why}")];
    }
    let Some(status) = result.status else {
        return vec![format!("{txhash}: no leg of a transfer over a known bridge.")];
    };
    let bridge = result.bridge.as_deref().unwrap_or_default();
    vec![
        format!("{txhash}: {bridge}, {} (confidence {})", status.name(), number(result.confidence)),
        Side::source(result).line("from"),
        Side::destination(result).line("to"),
    ]
}

/// One side of a transfer; texts are empty where nothing is known.
struct Side<'r> {
    address: &'r str,
    chain: &'r str,
    symbol: Option<&'r str>,
    token: Option<&'r str>,
    amount: Option<&'r DecimalText>,
    amount_raw: Option<&'r RawAmountText>,
    timestamp: Option<Time>,
    tx_hash: &'r str,
}

impl<'r> Side<'r> {
    fn source(of: &'r CrossChainTransfer) -> Self {
        Self {
            address: &of.sender_address,
            chain: &of.source_chain,
            symbol: of.source_symbol.as_deref(),
            token: of.source_token.as_deref(),
            amount: of.source_amount.as_ref(),
            amount_raw: of.source_amount_raw.as_ref(),
            timestamp: of.source_timestamp,
            tx_hash: &of.source_tx_hash,
        }
    }

    fn destination(of: &'r CrossChainTransfer) -> Self {
        Self {
            address: &of.receiver_address,
            chain: &of.destination_chain,
            symbol: of.destination_symbol.as_deref(),
            token: of.destination_token.as_deref(),
            amount: of.destination_amount.as_ref(),
            amount_raw: of.destination_amount_raw.as_ref(),
            timestamp: of.destination_timestamp,
            tx_hash: &of.destination_tx_hash,
        }
    }

    /// Writes who, on which chain, how much, when and by which transaction.
    fn line(&self, word: &str) -> String {
        let or = |text: &'r str, unknown: &'r str| if text.is_empty() { unknown } else { text };
        let (who, chain) = (or(self.address, "somebody"), or(self.chain, "an unknown chain"));
        let amount = match (self.amount, self.amount_raw) {
            (Some(amount), _) => format!(", {} {}", &**amount, self.symbol.unwrap_or_default()),
            (None, Some(raw)) => {
                format!(", {} of the smallest unit of {}", &**raw, self.token.unwrap_or("an unknown token"))
            }
            (None, None) => String::new(),
        };
        let time = self.timestamp.map(|at| format!(", {}", time(at))).unwrap_or_default();
        let hash = if self.tx_hash.is_empty() { String::new() } else { format!(", {}", self.tx_hash) };
        format!("  {word} {who} on {chain}{}{time}{hash}", amount.trim_end())
    }
}
