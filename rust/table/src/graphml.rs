//! Traces as `GraphML`, for programs that draw and analyse graphs.
//!
//! Format: <http://graphml.graphdrawing.org/primer/graphml-primer.html>. Every attribute is declared with its type; null
//! values are left out.

use std::fmt::Write as _;

use headwater_engine::ClaimDispute;
use headwater_engine::endpoints::trace::TraceReport;
use headwater_engine::fields::ChainName;
use headwater_engine::trace::{EdgeDirection, TraceEdge, TraceNode};

/// An attribute of nodes or edges: its name, its type and its text, which is empty for null.
struct Attribute<T> {
    name: &'static str,
    kind: &'static str,
    text: fn(&TraceReport, &T) -> String,
}

const fn attribute<T>(name: &'static str, kind: &'static str, text: fn(&TraceReport, &T) -> String) -> Attribute<T> {
    Attribute { name, kind, text }
}

/// Returns the share of the end at a node in one direction.
fn share(trace: &TraceReport, node: &TraceNode, direction: EdgeDirection) -> Option<f64> {
    let mut ends = trace.ends.iter().filter(|end| end.direction == direction);
    ends.rfind(|end| end.address == node.address && end.blockchain == node.blockchain)?.share
}

/// The attributes of nodes.
const NODE: [Attribute<TraceNode>; 14] = [
    attribute("blockchain", "string", |_, node| node.blockchain.to_string()),
    attribute("depth", "int", |_, node| node.depth.to_string()),
    attribute("labels", "string", |_, node| listed(&node.labels)),
    attribute("entity_name", "string", |_, node| text(node.entity_name.as_ref())),
    attribute("in_amount_usd", "double", |_, node| number(node.in_amount_usd)),
    attribute("out_amount_usd", "double", |_, node| number(node.out_amount_usd)),
    attribute("counterparties", "long", |_, node| text(node.counterparties.as_ref())),
    attribute("stop_reason", "string", |_, node| text(node.stop_reason.as_deref())),
    attribute("taint_amount", "double", |_, node| text(node.taint_amount.as_deref())),
    attribute("taint_ratio", "double", |_, node| number(node.taint_ratio)),
    attribute("stayed_share", "double", |_, node| number(node.stayed_share)),
    attribute("share_out", "double", |trace, node| number(share(trace, node, EdgeDirection::Out))),
    attribute("share_in", "double", |trace, node| number(share(trace, node, EdgeDirection::In))),
    attribute("disputed", "string", |_, node| disputed(node.disputed.as_ref())),
];

/// The attributes of edges. Exact amounts are `amount_raw`; `amount` is its nearest double, by which programs can draw.
const EDGE: [Attribute<TraceEdge>; 13] = [
    attribute("depth", "int", |_, edge| edge.depth.to_string()),
    attribute("direction", "string", |_, edge| edge.direction.name().to_owned()),
    attribute("symbol", "string", |_, edge| edge.symbol.clone()),
    attribute("contract", "string", |_, edge| text(edge.contract.as_deref())),
    attribute("amount", "double", |_, edge| text(edge.amount.as_deref())),
    attribute("amount_raw", "string", |_, edge| edge.amount_raw.to_string()),
    attribute("amount_usd", "double", |_, edge| number(edge.amount_usd)),
    attribute("tx_count", "long", |_, edge| edge.tx_count.to_string()),
    attribute("first_activity", "long", |_, edge| edge.first_activity.to_string()),
    attribute("last_activity", "long", |_, edge| edge.last_activity.to_string()),
    attribute("tx_hashes", "string", |_, edge| listed(&edge.tx_hashes)),
    attribute("taint_amount", "double", |_, edge| text(edge.taint_amount.as_deref())),
    attribute("is_change", "boolean", |_, edge| edge.is_change.to_string()),
];

/// Returns the identity of an address within a trace: the address itself, with its chain in front where a bridge led to
/// another chain.
#[must_use]
pub fn node_id(trace: &TraceReport, blockchain: ChainName, address: &str) -> String {
    if blockchain == trace.blockchain { address.to_owned() } else { format!("{}:{address}", &*blockchain) }
}

/// Returns the [`node_id`] of payer and payee of an edge.
#[must_use]
pub fn edge_ends(trace: &TraceReport, edge: &TraceEdge) -> [String; 2] {
    let TraceEdge { from_blockchain, from_address, to_blockchain, to_address, .. } = edge;
    [node_id(trace, *from_blockchain, from_address), node_id(trace, *to_blockchain, to_address)]
}

/// Formats a trace as `GraphML`: addresses are nodes, with their [`node_id`]. Lists become text with spaces between their
/// items.
#[must_use]
pub fn graphml(trace: &TraceReport) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n",
    );
    keys(&mut text, "node", &NODE);
    keys(&mut text, "edge", &EDGE);
    text.push_str("  <graph id=\"trace\" edgedefault=\"directed\">\n");
    for node in &trace.nodes {
        let head = format!("<node id=\"{}\">", xml(&node_id(trace, node.blockchain, &node.address)));
        element(&mut text, "node", (&head, &NODE), (trace, node));
    }
    for (number, edge) in trace.edges.iter().enumerate() {
        let ends = edge_ends(trace, edge).map(|end| xml(&end));
        let head = format!("<edge id=\"e{number}\" source=\"{}\" target=\"{}\">", ends[0], ends[1]);
        element(&mut text, "edge", (&head, &EDGE), (trace, edge));
    }
    text.push_str("  </graph>\n</graphml>\n");
    text
}

fn keys<T>(text: &mut String, element: &str, attributes: &[Attribute<T>]) {
    for Attribute { name, kind, .. } in attributes {
        let _ = writeln!(
            text,
            "  <key id=\"{element}_{name}\" for=\"{element}\" attr.name=\"{name}\" attr.type=\"{kind}\"/>"
        );
    }
}

fn element<T>(
    text: &mut String,
    element: &str,
    (head, attributes): (&str, &[Attribute<T>]),
    (trace, of): (&TraceReport, &T),
) {
    let _ = writeln!(text, "    {head}");
    for attribute in attributes {
        let value = (attribute.text)(trace, of);
        if !value.is_empty() {
            let _ = writeln!(text, "      <data key=\"{element}_{}\">{}</data>", attribute.name, xml(&value));
        }
    }
    let _ = writeln!(text, "    </{element}>");
}

fn text<T: ToString + ?Sized>(value: Option<&T>) -> String {
    value.map(T::to_string).unwrap_or_default()
}

/// Formats a number as JSON writes it.
fn number(number: Option<f64>) -> String {
    number.map(|number| serde_json::Value::from(number).to_string()).unwrap_or_default()
}

fn listed<T: std::ops::Deref<Target = str>>(items: &[T]) -> String {
    items.iter().map(|item| &**item).collect::<Vec<_>>().join(" ")
}

fn disputed(dispute: Option<&ClaimDispute>) -> String {
    dispute.and_then(|dispute| serde_json::to_string(dispute).ok()).unwrap_or_default()
}

/// Escapes text for XML; characters that XML has no form for are left out.
fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {}
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::xml;

    #[test]
    fn xml_escapes_markup_and_drops_controls() {
        assert_eq!(xml("<b a=\"1\">&\u{0}\u{8}\n</b>"), "&lt;b a=&quot;1&quot;&gt;&amp; &lt;/b&gt;");
    }
}
