//! A trace as a picture: hops from left to right, edges as wide as they are worth.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::trace::{EdgeDirection, TraceEdge, TraceNode};
use headwater_table::{edge_ends, node_id, xml};

use super::explain::asset;
use crate::words::{percent, usd};

/// Distances between hops, between addresses of a hop, and around the picture, in pixels.
const ACROSS: f64 = 300.0;
const DOWN: f64 = 44.0;
const MARGIN: f64 = 60.0;
/// Size of the box of an address.
const BOX: (f64, f64) = (150.0, 30.0);
/// Widest edge.
const WIDEST: f64 = 10.0;

/// Draws a report.
pub(super) fn picture(report: &TraceReport) -> String {
    let mut hops: BTreeMap<i32, Vec<&TraceNode>> = BTreeMap::new();
    for node in &report.nodes {
        hops.entry(node.depth).or_default().push(node);
    }
    let tallest = number(hops.values().map(Vec::len).max().unwrap_or(1));
    let (width, height) =
        (2.0 * MARGIN + BOX.0 + ACROSS * (number(hops.len()) - 1.0).max(0.0), 2.0 * MARGIN + DOWN * tallest);
    // Left upper corners.
    let mut places: BTreeMap<String, (f64, f64)> = BTreeMap::new();
    for (column, of_hop) in hops.values().enumerate() {
        let top = MARGIN + DOWN * (tallest - number(of_hop.len())) / 2.0;
        for (place, node) in of_hop.iter().enumerate() {
            let corner = (MARGIN + ACROSS * number(column), top + DOWN * number(place));
            places.insert(node_id(report, node.blockchain, &node.address), corner);
        }
    }
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<title>Trace of {} on {}</title>\n\
         <rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
        xml(&report.address),
        xml(&report.blockchain)
    );
    edges(&mut svg, report, &places);
    for node in &report.nodes {
        let id = node_id(report, node.blockchain, &node.address);
        if let Some(place) = places.get(&id) {
            draw(&mut svg, report, (node, &id), *place);
        }
    }
    svg.push_str("</svg>\n");
    svg
}

/// Draws edges from the right side of the payer to the left side of the payee; backward edges are dashed.
fn edges(svg: &mut String, report: &TraceReport, places: &BTreeMap<String, (f64, f64)>) {
    for (edge, share) in report.edges.iter().zip(shares(&report.edges)) {
        let ends = edge_ends(report, edge).map(|end| places.get(&end).copied());
        let [Some(from), Some(to)] = ends else { continue };
        let width = 1.0 + (WIDEST - 1.0) * share;
        let (start, end) = ((from.0 + BOX.0, from.1 + BOX.1 / 2.0), (to.0, to.1 + BOX.1 / 2.0));
        let bend = ACROSS / 3.0;
        let dashes = if to.0 <= from.0 { " stroke-dasharray=\"6 4\"" } else { "" };
        let amount = edge.amount.as_deref().unwrap_or(&edge.amount_raw);
        let change = if edge.is_change { ", change" } else { "" };
        let title = format!("{amount} {}, {} US dollars{change}", edge.symbol, usd(edge.amount_usd));
        let color = if edge.direction == EdgeDirection::Out { "#1f77b4" } else { "#ff7f0e" };
        let _ = writeln!(
            svg,
            "<path d=\"M{:.1} {:.1} C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}\" fill=\"none\" stroke=\"{color}\" \
             stroke-opacity=\"0.5\" stroke-width=\"{width:.2}\"{dashes}><title>{}</title></path>",
            start.0,
            start.1,
            start.0 + bend,
            start.1,
            end.0 - bend,
            end.1,
            end.0,
            end.1,
            xml(&title)
        );
    }
}

/// Computes the worth of edges relative to the largest: in US dollars, or without any price by amounts of their asset.
fn shares(edges: &[TraceEdge]) -> Vec<f64> {
    let is_priced = edges.iter().any(|edge| edge.amount_usd.is_some_and(|usd| usd > 0.0));
    let amount = |edge: &TraceEdge| match (is_priced, edge.amount_usd) {
        (true, usd) => usd.unwrap_or_default(),
        (false, _) => edge.amount_raw.parse().unwrap_or_default(),
    };
    let kind = |edge| if is_priced { ("", "") } else { asset(edge) };
    let mut largest: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for edge in edges {
        let max = largest.entry(kind(edge)).or_default();
        *max = max.max(amount(edge));
    }
    edges.iter().map(|edge| if amount(edge) > 0.0 { amount(edge) / largest[&kind(edge)] } else { 0.0 }).collect()
}

fn draw(svg: &mut String, report: &TraceReport, (node, id): (&TraceNode, &str), (left, top): (f64, f64)) {
    let name = node.entity_name.as_deref().or_else(|| node.labels.first().map(|code| &**code));
    let fill = match (id == &*report.address, &node.stop_reason) {
        (true, _) => "#ffe9a8",
        (false, Some(_)) => "#e4e4e4",
        (false, None) => "#ffffff",
    };
    let _ = writeln!(
        svg,
        "<g><title>{}</title><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{fill}\" \
         stroke=\"#555\"/>",
        xml(id),
        BOX.0,
        BOX.1
    );
    let middle = left + BOX.0 / 2.0;
    let disputed = node.disputed.as_ref().map(|_| "disputed".to_owned());
    let notes: Vec<String> = notes(report, id, node.stop_reason.as_deref()).into_iter().chain(disputed).collect();
    let lines = [name.map_or_else(|| short(id), shortened), notes.join(", ")];
    for (place, line) in lines.iter().filter(|line| !line.is_empty()).enumerate() {
        let at = top + if lines[1].is_empty() { 19.0 } else { 13.0 + 12.0 * number(place) };
        let _ = writeln!(svg, "<text x=\"{middle:.1}\" y=\"{at:.1}\" text-anchor=\"middle\">{}</text>", xml(line));
    }
    svg.push_str("</g>\n");
}

/// Describes why the trace ends at an address, and which part of the money came to it.
fn notes(report: &TraceReport, id: &str, stop: Option<&str>) -> Vec<String> {
    let ends = report.ends.iter().filter(|end| node_id(report, end.blockchain, &end.address) == id);
    let notes = ends.map(|end| format!("{} {}", &*end.stop_reason, percent(end.share)).trim_end().to_owned());
    let notes: Vec<String> = notes.collect();
    if notes.is_empty() { stop.map(str::to_owned).into_iter().collect() } else { notes }
}

/// Returns both ends of an address.
fn short(address: &str) -> String {
    let characters: Vec<char> = address.chars().collect();
    if characters.len() <= 18 {
        return address.to_owned();
    }
    let (first, last) = (&characters[..10], &characters[characters.len() - 6..]);
    format!("{}…{}", first.iter().collect::<String>(), last.iter().collect::<String>())
}

/// Shortens a name to the width of the box.
fn shortened(name: &str) -> String {
    if name.chars().count() <= 22 { name.to_owned() } else { name.chars().take(21).chain(['…']).collect() }
}

#[expect(clippy::cast_precision_loss, reason = "pixels")]
fn number(count: usize) -> f64 {
    count as f64
}
