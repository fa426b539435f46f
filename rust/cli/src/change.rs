//! `headwater change`: the change output of a Bitcoin transaction, in words.

use headwater_engine::endpoints::btc_change_address::{
    BtcChangeAddress, BtcChangeAddressReport, CoinJoinSign, JudgedOutput, NoChangeReason,
};
use serde_json::json;

use super::Settings;
use super::error::Failure;
use super::output::Output;
use super::session::Session;
use super::table::{Layout, fitted};
use super::view::WideFlag;
use super::words::{number, row, time};

/// Arguments of `change`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The transaction: 64 hex digits.
    txid: String,
    #[command(flatten)]
    wide: WideFlag,
}

/// Prints the output that went back to the payer, and the rules that say so.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let request = json!({"txid": arguments.txid});
    let response = Session::open(settings)?.ask::<BtcChangeAddress>(request)?;
    output.answer(&response, || lines(&response.report, arguments.wide.layout(output)))
}

fn lines(report: &BtcChangeAddressReport, layout: Layout) -> Vec<String> {
    let block = report.block_number.map(|block| format!(", block {block}")).unwrap_or_default();
    let at = report.timestamp.map(|at| format!(", {}", time(at))).unwrap_or_default();
    let mut lines = vec![verdict(report), format!("  {}{block}{at}", &*report.txid)];
    lines.extend(coinjoin(&report.coinjoin));
    let head = row(["output", "amount", "confidence", "address", "script", "rules"]);
    let rows: Vec<_> = std::iter::once(head).chain(report.outputs.iter().map(output_row)).collect();
    lines.extend(fitted(&rows, layout));
    lines.push("An answer is a probability: the chain does not say whose an output is.".to_owned());
    lines
}

fn output_row(output: &JudgedOutput) -> Vec<String> {
    let rules: Vec<&str> = output.heuristics.iter().map(|rule| &**rule).collect();
    row([
        &output.index.to_string(),
        &format!("{} btc", &*output.amount),
        &number(output.confidence),
        output.address.as_deref().unwrap_or_default(),
        output.script_type.name(),
        &rules.join(" "),
    ])
}

fn coinjoin(sign: &CoinJoinSign) -> Option<String> {
    let (kind, confidence) = (sign.kind?.name(), number(sign.confidence));
    Some(if sign.possible_coinjoin {
        format!("It may be a CoinJoin ({kind}, confidence {confidence}), so its inputs link nobody.")
    } else {
        format!("It has the shape of {kind} (confidence {confidence}).")
    })
}

fn verdict(report: &BtcChangeAddressReport) -> String {
    match &report.change {
        Some(change) => {
            format!("Output {} is the change, with a confidence of {}.", change.index, number(change.confidence))
        }
        None => format!("No change is named: {}.", report.reason.map(reason).unwrap_or_default()),
    }
}

fn reason(reason: NoChangeReason) -> &'static str {
    match reason {
        NoChangeReason::Coinbase => "the transaction mints coins",
        NoChangeReason::SingleOutput => "fewer than two outputs can be spent and have an owner",
        NoChangeReason::CoinJoin => "several people made the transaction together",
        NoChangeReason::Batch => "it pays too many at once",
        NoChangeReason::NoConsensus => "the rules do not agree enough",
        NoChangeReason::AllOutputsToInputs => "all of it went back to whoever paid",
    }
}
