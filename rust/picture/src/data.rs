//! Pictures as the JSON that the interactive component reads.

use serde::Serialize;

use crate::graph::{Edge, EdgeKind, Graph, Kind, Payment, Role};
use crate::layout::{BOX_WIDTH, EdgeLine, Layout};
use crate::words::{HYPOTHESIS, clean, moment};

/// The version of the form of the data.
const VERSION: u8 = 1;

#[derive(Serialize)]
struct Data<'a> {
    version: u8,
    title: String,
    summary: &'a [String],
    left_out: &'a [String],
    hypothesis: &'static str,
    kinds: Vec<LegendEntry<Kind>>,
    edge_kinds: Vec<LegendEntry<EdgeKind>>,
    nodes: Vec<NodeData<'a>>,
    edges: Vec<EdgeData<'a>>,
}

#[derive(Serialize)]
struct LegendEntry<T> {
    kind: T,
    text: &'static str,
}

#[derive(Serialize)]
struct NodeData<'a> {
    id: &'a str,
    kind: Kind,
    role: Role,
    is_disputed: bool,
    column: i64,
    /// Middle and size of the box.
    x: f64,
    y: f64,
    width: f64,
    height: f64,
    /// The text of the box.
    text: String,
    /// The name with the short address.
    title: String,
    address: &'a str,
    chain: &'a str,
    /// Titles and texts of the card.
    facts: Vec<(&'static str, String)>,
}

#[derive(Serialize)]
struct EdgeData<'a> {
    from: usize,
    to: usize,
    kind: EdgeKind,
    weight: f64,
    usd: Option<f64>,
    width: f64,
    amount: String,
    dates: String,
    /// `from` or `to`: the end that carries the text; null where there was no room.
    label: Option<&'static str>,
    /// Corners: start, end of a straight part there, two control points, begin of a straight part at the end, and end.
    points: [(f64, f64); 6],
    payments: &'a [Payment],
}

/// Writes a picture as JSON for a script element of a page: without `<`, `>`, `&` and separators of lines.
pub(crate) fn json(graph: &Graph, layout: &Layout) -> String {
    let kinds = Kind::ALL.into_iter().filter(|kind| graph.nodes.iter().any(|node| node.kind == *kind));
    let edge_kinds = EdgeKind::ALL.into_iter().filter(|kind| graph.edges.iter().any(|edge| edge.kind == *kind));
    let data = Data {
        version: VERSION,
        title: graph.title.clone(),
        summary: &graph.summary,
        left_out: &graph.left_out,
        hypothesis: HYPOTHESIS,
        kinds: kinds.map(|kind| LegendEntry { kind, text: kind.text_in(graph) }).collect(),
        edge_kinds: edge_kinds.map(|kind| LegendEntry { kind, text: kind.text() }).collect(),
        nodes: nodes(graph, layout),
        edges: graph.edges.iter().zip(&layout.lines).map(|(edge, line)| edge_data(edge, line)).collect(),
    };
    escaped(&serde_json::to_string(&data).expect("texts and numbers have a form in JSON"))
}

fn nodes<'a>(graph: &'a Graph, layout: &Layout) -> Vec<NodeData<'a>> {
    let all = graph.nodes.iter().zip(&layout.boxes);
    all.map(|(node, of)| {
        let mut facts = Vec::new();
        let texts = [
            ("name", node.entity.clone()),
            ("labels", (!node.labels.is_empty()).then(|| node.labels.join(", "))),
            (
                "disputed",
                node.dispute
                    .as_ref()
                    .map(|of| format!("by {} on {}: {}", clean(&of.by), moment(*of.at), clean(&of.reason))),
            ),
        ];
        facts.extend(texts.into_iter().filter_map(|(title, text)| Some((title, text?))));
        facts.extend(node.ends.iter().map(|end| ("end", end.clone())));
        facts.extend(node.facts.iter().cloned());
        let lines: Vec<&str> = of.lines.iter().map(|line| line.text.as_str()).collect();
        NodeData {
            id: &node.id,
            kind: node.kind,
            role: node.role,
            is_disputed: node.dispute.is_some(),
            column: node.column,
            x: rounded(of.left + BOX_WIDTH / 2.0),
            y: rounded(of.middle()),
            width: BOX_WIDTH,
            height: rounded(of.height),
            text: lines.join("\n"),
            title: node.title(),
            address: &node.address,
            chain: &node.chain,
            facts,
        }
    })
    .collect()
}

fn edge_data<'a>(edge: &'a Edge, line: &EdgeLine) -> EdgeData<'a> {
    EdgeData {
        from: edge.from,
        to: edge.to,
        kind: edge.kind,
        weight: edge.weight,
        usd: edge.usd,
        width: rounded(line.width),
        amount: edge.amount_text(),
        dates: edge.date_text(),
        label: line.label.as_ref().map(|label| if label.is_at_payee { "to" } else { "from" }),
        points: line.points.map(|(x, y)| (rounded(x), rounded(y))),
        payments: &edge.payments,
    }
}

fn rounded(pixels: f64) -> f64 {
    (pixels * 10.0).round() / 10.0
}

/// Escapes the characters of JSON that end or change a script of a page.
fn escaped(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for letter in json.chars() {
        match letter {
            '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                text.push_str("\\u");
                for shift in [12, 8, 4, 0] {
                    let digit = u32::from(letter) >> shift & 0xf;
                    text.push(char::from_digit(digit, 16).expect("four bits are a digit"));
                }
            }
            _ => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escaped_json_has_no_markup_and_the_same_value() {
        let value = serde_json::json!("</script><!--&\u{2028}\u{2029}]]>é");
        let text = escaped(&value.to_string());
        assert!(!text.contains(['<', '>', '&', '\u{2028}', '\u{2029}']), "{text}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&text).unwrap(), value);
    }
}
