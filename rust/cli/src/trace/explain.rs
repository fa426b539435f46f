//! A trace in words: the largest amounts, the ends, and what was left out.

use std::collections::{BTreeMap, BTreeSet};

use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::trace::{EdgeDirection, TraceDivision, TraceEdge, TraceEnd, TraceEndAsset, TruncationName};
use headwater_picture::{DIVISION_PARTS, stop_reason};
use headwater_table::{edge_ends, node_id};

use super::verdict;
use crate::output::{grouped, table};
use crate::table::{Layout, fitted};
use crate::words::{amount, doubt, joined, percent, row, section, time, usd};

/// Ends that are listed.
const ENDS: usize = 20;

/// Explains a report.
pub(super) fn lines(report: &TraceReport, layout: Layout) -> Vec<String> {
    joined([
        verdict::lines(report),
        head(report),
        section("Outward along the largest amounts", path(report, EdgeDirection::Out, layout)),
        section("Inward along the largest amounts", path(report, EdgeDirection::In, layout)),
        section("Where the money is", division(&report.summary.divisions, layout)),
        section("Where it ends", ends(report, layout)),
        section("What was left out", cuts(report)),
        vec!["A trace is a hypothesis: coins in one account cannot be told apart.".to_owned()],
    ])
}

fn head(report: &TraceReport) -> Vec<String> {
    let (settings, summary) = (&report.settings, &report.summary);
    let followed = format!(
        "{} hops outward, {} inward; {} counterparties of each address; method {}",
        settings.outward_depth,
        settings.inward_depth,
        settings.limit,
        settings.method.name()
    );
    let found = format!("{} addresses, {} edges", grouped(summary.node_count), grouped(summary.edge_count));
    let mut rows = vec![row(["followed", &followed]), row(["found", &found])];
    if settings.outward_depth > 0 {
        rows.push(row(["outward", &usd(summary.outward_amount_usd)]));
    }
    if settings.inward_depth > 0 {
        rows.push(row(["inward", &usd(summary.inward_amount_usd)]));
    }
    let head = format!("{} on {}", &*report.address, &*report.blockchain);
    std::iter::once(head).chain(table(&rows)).collect()
}

/// Follows the largest edge from one address to the next.
fn path(report: &TraceReport, direction: EdgeDirection, layout: Layout) -> Vec<String> {
    let far_first = |[from, to]: [String; 2]| if direction == EdgeDirection::Out { (to, from) } else { (from, to) };
    let edges: Vec<_> = report.edges.iter().map(|edge| (edge, far_first(edge_ends(report, edge)))).collect();
    let mut here = report.address.to_string();
    let mut seen = BTreeSet::from([here.clone()]);
    let mut rows = vec![row(["hop", "address", "amount", "who", "US dollars", "first", "last"])];
    loop {
        let leads_on = |(edge, (far, near)): &&(&TraceEdge, (String, String))| {
            edge.direction == direction && *near == here && !seen.contains(far)
        };
        let Some(edge) = largest(edges.iter().filter(leads_on).map(|(edge, _)| *edge)) else { break };
        (here, _) = far_first(edge_ends(report, edge));
        seen.insert(here.clone());
        rows.push(row([
            &hop(edge),
            &here,
            &amount(edge.amount.as_ref(), &edge.amount_raw, &edge.symbol),
            &who(report, &here),
            &edge.amount_usd.map(|_| usd(edge.amount_usd)).unwrap_or_default(),
            &time(edge.first_activity),
            &time(edge.last_activity),
        ]));
    }
    if rows.len() == 1 { Vec::new() } else { fitted(&rows, layout) }
}

/// Returns the number of a hop; change has none.
fn hop(edge: &TraceEdge) -> String {
    if edge.is_change { "change".to_owned() } else { edge.depth.to_string() }
}

/// Returns the edge of the highest worth; without prices that with the largest share of its asset, among equal ones the first.
fn largest<'a>(edges: impl Iterator<Item = &'a TraceEdge> + Clone) -> Option<&'a TraceEdge> {
    let raw = |edge: &TraceEdge| edge.amount_raw.parse::<f64>().unwrap_or_default();
    let mut of_asset: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for edge in edges.clone() {
        *of_asset.entry(asset(edge)).or_default() += raw(edge);
    }
    let worth = |edge: &TraceEdge| (edge.amount_usd.unwrap_or(-1.0), raw(edge) / of_asset[&asset(edge)]);
    edges.reduce(|best, edge| if worth(edge) > worth(best) { edge } else { best })
}

/// Returns the contract and symbol of an edge.
fn asset(edge: &TraceEdge) -> (&str, &str) {
    (edge.contract.as_deref().unwrap_or_default(), &edge.symbol)
}

/// Describes an address, and why the trace ends there.
fn who(report: &TraceReport, id: &str) -> String {
    let Some(node) = report.nodes.iter().find(|node| node_id(report, node.blockchain, &node.address) == id) else {
        return String::new();
    };
    let labels: Vec<_> = node.labels.iter().map(|code| &**code).collect();
    let names = [node.entity_name.clone().unwrap_or_default(), labels.join(", ")];
    let named = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join("; ");
    let stop = node.stop_reason.as_deref().map(stop_reason).unwrap_or_default();
    let parts = [format!("{named}{}", doubt(node.disputed.as_ref())), stop.to_owned()];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Lists the parts of the money of the start, by direction.
fn division(divisions: &[TraceDivision], layout: Layout) -> Vec<String> {
    let is_mentioned = |(_, part): &&(&str, fn(&TraceDivision) -> f64)| divisions.iter().any(|of| part(of) > 0.0);
    let parts: Vec<_> = DIVISION_PARTS.iter().filter(is_mentioned).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let titles = parts.iter().map(|(title, _)| *title);
    let head: Vec<String> = std::iter::once("direction").chain(titles).map(str::to_owned).collect();
    let of_one = |of: &TraceDivision| {
        let shares = parts.iter().map(|(_, part)| percent(Some(part(of))));
        std::iter::once(of.direction.name().to_owned()).chain(shares).collect()
    };
    fitted(&std::iter::once(head).chain(divisions.iter().map(of_one)).collect::<Vec<_>>(), layout)
}

fn ends(report: &TraceReport, layout: Layout) -> Vec<String> {
    let ends = &report.ends;
    if ends.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["direction", "address", "share", "who", "traced", "hops", "reason"])];
    rows.extend(ends.iter().take(ENDS).map(|end| {
        row([
            end.direction.name(),
            &node_id(report, end.blockchain, &end.address),
            &percent(end.share),
            &format!("{}{}", end.label.as_deref().unwrap_or_default(), doubt(end.disputed.as_ref())),
            &worth(end),
            &end.hops.to_string(),
            stop_reason(&end.stop_reason),
        ])
    }));
    let mut lines = fitted(&rows, layout);
    if ends.len() > ENDS {
        lines.push(format!("and {} more: --json or --out FILE.json has them", grouped((ends.len() - ENDS) as u64)));
    }
    lines
}

/// Formats the traced money of an end in US dollars; without a price the amounts of its assets.
fn worth(end: &TraceEnd) -> String {
    if end.amount_usd.is_some() {
        return format!("{} US dollars", usd(end.amount_usd));
    }
    let assets = end
        .assets
        .iter()
        .map(|TraceEndAsset { amount: whole, amount_raw, symbol, .. }| amount(whole.as_ref(), amount_raw, symbol));
    assets.collect::<Vec<_>>().join(", ")
}

fn cuts(report: &TraceReport) -> Vec<String> {
    let settings = &report.settings;
    let cut = |reason: &TruncationName| match reason {
        TruncationName::FanoutLimit => {
            format!("  counterparties beyond the {} largest of an address: raise --limit", settings.limit)
        }
        TruncationName::MaxNodes => format!("  addresses beyond {}", settings.max_nodes),
        TruncationName::DepthLimit => "  what lies beyond the last hop: raise --outward or --inward".to_owned(),
        TruncationName::TimeBudget => {
            "  what would have taken more work than one trace may: ask for fewer hops".to_owned()
        }
    };
    let mut lines: Vec<_> = report.truncation_reasons.iter().map(cut).collect();
    let unpriced = report.summary.unpriced_count;
    if unpriced > 0 {
        lines.push(format!("  {} movements have no price and count nothing in US dollars", grouped(unpriced)));
    }
    lines
}
