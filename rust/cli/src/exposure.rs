//! `headwater exposure`.

use headwater_engine::endpoints::exposure::{
    ExposureAnalysis, ExposureRecord, ExposureReport, UnattributedName, UnattributedRecord,
};
use headwater_types::Chain;
use serde_json::json;

use super::error::Failure;
use super::output::{Output, table};
use super::words::{doubt, joined, percent, row, section, usd};
use super::{Settings, chain, query};

/// Arguments of `exposure`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain.
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Chain,
    /// Sources of the money (in), its destinations (out), or both (all) [default: all].
    #[arg(long)]
    direction: Option<String>,
    /// Maximum number of payments to a named address, 1 to 5 [default: 1].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// First time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    from: Option<i64>,
    /// Last time, epoch seconds, included.
    #[arg(long, value_name = "T")]
    to: Option<i64>,
    /// The address whose money is summarised.
    address: String,
}

/// Prints the named sources and destinations of the money of an address.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, direction, max_hops, from, to, address } = arguments;
    let request = json!({
        "blockchain": chain.name(), "address": address, "direction": direction, "max_hops": max_hops,
        "start_time": from, "end_time": to,
    });
    let response = query::ask_store::<ExposureAnalysis>(settings, request, output)?;
    output.report(&response, || lines(&response.report))
}

fn lines(report: &ExposureReport) -> Vec<String> {
    let head = format!(
        "{} on {}: {} in all, {} without a name",
        &*report.address,
        &*report.blockchain,
        usd(report.total_usd),
        usd(report.unattributed_usd)
    );
    joined([
        vec![head],
        section("Direct", shares(&report.direct)),
        section("Through others that have no name", shares(&report.indirect)),
        section("Without a name", unattributed(&report.unattributed)),
    ])
}

fn shares(records: &[ExposureRecord]) -> Vec<String> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["category", "way", "US dollars", "share", "addresses", "hops", "largest"])];
    rows.extend(records.iter().map(|record| {
        let name = record.top.first().map(|largest| {
            let name = largest.entity_name.as_deref().unwrap_or(&largest.address);
            format!("{name}{}", doubt(largest.disputed.as_ref()))
        });
        row([
            &record.category,
            record.direction.name(),
            &usd(Some(record.amount_usd)),
            &percent(Some(record.share)),
            &record.addresses.to_string(),
            &record.hops.to_string(),
            &name.unwrap_or_default(),
        ])
    }));
    table(&rows)
}

fn unattributed(records: &[UnattributedRecord]) -> Vec<String> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["way", "US dollars", "why"])];
    rows.extend(
        records
            .iter()
            .map(|record| row([record.direction.name(), &usd(Some(record.amount_usd)), reason(record.reason)])),
    );
    table(&rows)
}

/// Describes why money has no named source or destination.
fn reason(reason: UnattributedName) -> &'static str {
    match reason {
        UnattributedName::DepthLimit => "beyond the last hop: raise --max-hops",
        UnattributedName::Hub => "through an address that deals with too many",
        UnattributedName::NoOwner => reason.name(),
        UnattributedName::Stayed => "stayed at an address between, was there before the data begins, or paid fees",
        UnattributedName::Returned => "came back to an address of the walk",
        UnattributedName::FanoutLimit => "small payments of busy addresses",
        UnattributedName::MaxNodes => "beyond the addresses that are looked through",
        UnattributedName::TimeBudget => "would have taken more work than one answer may",
        UnattributedName::Decay => "5 % for each hop beyond the first",
    }
}
