//! `headwater exposure`.

use headwater_engine::endpoints::exposure::{
    ExposureAnalysis, ExposureRecord, ExposureReport, UnattributedName, UnattributedRecord,
};
use headwater_engine::trace::EdgeDirection;
use headwater_types::Chain;
use serde_json::json;

use super::error::Failure;
use super::output::Output;
use super::session::Session;
use super::table::{Layout, fitted};
use super::view::WideFlag;
use super::words::{counted, doubt, joined, percent, row, section, usd, whole_percent};
use super::{Settings, chain, when};

/// Names of a category in the verdict.
const NAMES: usize = 2;

/// Arguments of `exposure`.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// The chain [default: the chain whose addresses have this form].
    #[arg(long, value_parser = chain(), ignore_case = true)]
    chain: Option<Chain>,
    /// Sources of the money (in), its destinations (out), or both (all) [default: all].
    #[arg(long)]
    direction: Option<String>,
    /// Maximum number of payments to a named address, 1 to 5 [default: 1].
    #[arg(long, value_name = "N")]
    max_hops: Option<u64>,
    /// First day or time, such as 2025-03-17.
    #[arg(long, value_name = "TIME", value_parser = when::from)]
    from: Option<i64>,
    /// Last day or time, included.
    #[arg(long, value_name = "TIME", value_parser = when::until)]
    to: Option<i64>,
    #[command(flatten)]
    wide: WideFlag,
    /// The address whose money is summarised.
    address: String,
}

/// Prints the named sources and destinations of the money of an address.
pub(super) fn run(settings: &Settings, arguments: &Arguments, output: Output) -> Result<(), Failure> {
    let Arguments { chain, direction, max_hops, from, to, wide, address } = arguments;
    let session = Session::open(settings)?;
    let chain = session.chain(*chain, address)?;
    let request = json!({
        "blockchain": chain.name(), "address": address, "direction": direction, "max_hops": max_hops,
        "start_time": from, "end_time": to,
    });
    let response = session.ask::<ExposureAnalysis>(request)?;
    output.answer(&response, || lines(&response.report, wide.layout(output)))
}

fn lines(report: &ExposureReport, layout: Layout) -> Vec<String> {
    let head = format!(
        "  {} on {}: {} US dollars in all, {} without a name",
        &*report.address,
        &*report.blockchain,
        usd(report.total_usd),
        usd(report.unattributed_usd)
    );
    joined([
        vec![verdict(report), head],
        section("Direct", shares(&report.direct, layout)),
        section("Through others that have no name", shares(&report.indirect, layout)),
        section("Without a name", unattributed(&report.unattributed, layout)),
    ])
}

/// Describes the largest named destination and source.
fn verdict(report: &ExposureReport) -> String {
    if report.total_usd.is_none() {
        return match report.unpriced_count {
            0 => "no payment of this address is held".to_owned(),
            _ => "not enough data to judge: no payment has a price; headwater prices import FILE".to_owned(),
        };
    }
    let largest = |direction: EdgeDirection| {
        let all = report.direct.iter().chain(&report.indirect).filter(move |record| record.direction == direction);
        all.reduce(|largest, record| if record.share > largest.share { record } else { largest })
    };
    let words = |record: &ExposureRecord, words: &str| {
        let named = record
            .top
            .iter()
            .filter_map(|one| Some(format!("{}{}", one.entity_name.as_deref()?, doubt(one.disputed.as_ref()))));
        let mut names: Vec<_> = named.collect();
        names.dedup();
        names.truncate(NAMES);
        let who = if names.is_empty() { counted(record.addresses, "address", "addresses") } else { names.join(", ") };
        let through = if record.hops > 1 { format!(" over {} payments", record.hops) } else { String::new() };
        format!("{} {words} {} ({who}){through}", whole_percent(record.share), &*record.category)
    };
    let out = largest(EdgeDirection::Out).map(|record| words(record, "of what left went to the category"));
    let came = largest(EdgeDirection::In).map(|record| words(record, "of what came is from the category"));
    let parts: Vec<_> = out.into_iter().chain(came).collect();
    if parts.is_empty() { "no named source or destination is found".to_owned() } else { parts.join("; ") }
}

fn shares(records: &[ExposureRecord], layout: Layout) -> Vec<String> {
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
    fitted(&rows, layout)
}

fn unattributed(records: &[UnattributedRecord], layout: Layout) -> Vec<String> {
    if records.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["way", "US dollars", "why"])];
    rows.extend(
        records
            .iter()
            .map(|record| row([record.direction.name(), &usd(Some(record.amount_usd)), reason(record.reason)])),
    );
    fitted(&rows, layout)
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
