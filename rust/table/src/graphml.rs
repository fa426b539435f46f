//! Traces as `GraphML`, for programs that draw and analyse graphs.
//!
//! Format: <http://graphml.graphdrawing.org/primer/graphml-primer.html>. Every attribute is declared with its type; what is
//! null is left out.

use std::fmt::Write as _;

use serde_json::Value;

/// Name and type of the attributes of nodes and edges. Exact amounts are `amount_raw`; `amount` is its nearest double, by which
/// programs can draw.
const NODE: [(&str, &str); 14] = [
    ("blockchain", "string"),
    ("depth", "int"),
    ("labels", "string"),
    ("entity_name", "string"),
    ("in_amount_usd", "double"),
    ("out_amount_usd", "double"),
    ("counterparties", "long"),
    ("stop_reason", "string"),
    ("taint_amount", "double"),
    ("taint_ratio", "double"),
    ("stayed_share", "double"),
    ("share_out", "double"),
    ("share_in", "double"),
    ("disputed", "string"),
];
const EDGE: [(&str, &str); 13] = [
    ("depth", "int"),
    ("direction", "string"),
    ("symbol", "string"),
    ("contract", "string"),
    ("amount", "double"),
    ("amount_raw", "string"),
    ("amount_usd", "double"),
    ("tx_count", "long"),
    ("first_activity", "long"),
    ("last_activity", "long"),
    ("tx_hashes", "string"),
    ("taint_amount", "double"),
    ("is_change", "boolean"),
];

/// What names an address within a trace: itself; where a bridge led to another chain, that chain before it.
///
/// ```
/// let trace = serde_json::json!({"blockchain": "ethereum"});
/// let id = |chain: &str| headwater_table::node_id(&trace, &chain.into(), &"a".into());
/// assert_eq!([id("ethereum"), id("tron")], ["a", "tron:a"]);
/// ```
#[must_use]
pub fn node_id(trace: &Value, blockchain: &Value, address: &Value) -> String {
    if *blockchain == trace["blockchain"] {
        return plain(address);
    }
    format!("{}:{}", plain(blockchain), plain(address))
}

/// The [`node_id`] of both ends of an edge.
#[must_use]
pub fn edge_ends(trace: &Value, edge: &Value) -> [String; 2] {
    ["from", "to"].map(|end| node_id(trace, &edge[format!("{end}_blockchain")], &edge[format!("{end}_address")]))
}

/// A node with the shares of the ends at its address, by direction.
fn with_shares(trace: &Value, node: &Value) -> Value {
    let mut node = node.clone();
    for end in trace["ends"].as_array().into_iter().flatten() {
        if end["address"] == node["address"] && end["blockchain"] == node["blockchain"] {
            node[format!("share_{}", plain(&end["direction"]))] = end["share"].clone();
        }
    }
    node
}

/// The `data` of an answer of `trace` as `GraphML`: addresses are nodes, with their [`node_id`]. Lists become text with spaces
/// between their items.
///
/// ```
/// let trace = serde_json::json!({
///     "blockchain": "bsc",
///     "nodes": [
///         {"blockchain": "bsc", "address": "a", "depth": 0, "entity_name": "A & Co"},
///         {"blockchain": "tron", "address": "b", "depth": 1},
///     ],
///     "edges": [{
///         "from_blockchain": "bsc", "from_address": "a", "to_blockchain": "tron", "to_address": "b", "amount_usd": 2.5,
///     }],
/// });
/// let text = headwater_table::graphml(&trace);
/// assert!(text.contains("<data key=\"node_entity_name\">A &amp; Co</data>"));
/// let edge = "<edge id=\"e0\" source=\"a\" target=\"tron:b\">\n      <data key=\"edge_amount_usd\">2.5</data>";
/// assert!(text.contains(edge));
/// ```
#[must_use]
pub fn graphml(trace: &Value) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\" xmlns:xsi=\"http://www.w3.org/2001/XMLSchema-instance\" \
         xsi:schemaLocation=\"http://graphml.graphdrawing.org/xmlns http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd\">\n",
    );
    for (kind, fields) in [("node", NODE.as_slice()), ("edge", EDGE.as_slice())] {
        for (name, form) in fields {
            let _ = writeln!(
                text,
                "  <key id=\"{kind}_{name}\" for=\"{kind}\" attr.name=\"{name}\" attr.type=\"{form}\"/>"
            );
        }
    }
    text.push_str("  <graph id=\"trace\" edgedefault=\"directed\">\n");
    for node in trace["nodes"].as_array().into_iter().flatten() {
        let head = format!("<node id=\"{}\">", xml(&node_id(trace, &node["blockchain"], &node["address"])));
        element(&mut text, "node", &head, &NODE, &with_shares(trace, node));
    }
    for (number, edge) in trace["edges"].as_array().into_iter().flatten().enumerate() {
        let ends = edge_ends(trace, edge).map(|end| xml(&end));
        let head = format!("<edge id=\"e{number}\" source=\"{}\" target=\"{}\">", ends[0], ends[1]);
        element(&mut text, "edge", &head, &EDGE, edge);
    }
    text.push_str("  </graph>\n</graphml>\n");
    text
}

fn element(text: &mut String, kind: &str, head: &str, fields: &[(&str, &str)], of: &Value) {
    let _ = writeln!(text, "    {head}");
    for (name, _) in fields {
        let value = plain(&of[*name]);
        if !value.is_empty() {
            let _ = writeln!(text, "      <data key=\"{kind}_{name}\">{}</data>", xml(&value));
        }
    }
    let _ = writeln!(text, "    </{kind}>");
}

/// A value as text; null is empty.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(" "),
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}

/// Text as XML may contain it; characters that XML has no form for are left out.
#[must_use]
pub fn xml(text: &str) -> String {
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
    fn text_is_safe_within_xml() {
        assert_eq!(xml("<b a=\"1\">&\u{0}\u{8}\n</b>"), "&lt;b a=&quot;1&quot;&gt;&amp; &lt;/b&gt;");
    }
}
