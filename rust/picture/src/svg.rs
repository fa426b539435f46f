//! Pictures as SVG.

use std::fmt::Write as _;

use crate::fonts::{FAMILY, Weight, fitted, width, wrapped};
use crate::graph::{Edge, EdgeKind, Graph, Kind, Node, Role};
use crate::layout::{BOX_WIDTH, EdgeLabel, EdgeLine, FONT_SIZE, LABEL_SIZE, Layout, NodeBox, Side};
use crate::style::{FAINT, START, TEXT, border_width, colors, outline, stroke};
use crate::words::{HYPOTHESIS, visible};

/// The room around everything, in pixels.
const MARGIN: f64 = 28.0;
/// The least width of a picture.
const MIN_WIDTH: f64 = 820.0;

/// Draws a picture.
pub(crate) fn svg(graph: &Graph, layout: &Layout) -> String {
    let width = layout.width.max(MIN_WIDTH) + 2.0 * MARGIN;
    let mut body = String::new();
    let mut at = head(&mut body, graph, width - 2.0 * MARGIN);
    for (left, title) in &layout.columns {
        line(&mut body, (left + MARGIN, at), (10.0, FAINT, Weight::Bold), title);
    }
    at += 14.0;
    let _ = writeln!(body, "<g transform=\"translate({MARGIN} {at:.1})\">");
    let mut order: Vec<(&Edge, &EdgeLine)> = graph.edges.iter().zip(&layout.lines).collect();
    // Thin lines lie above wide ones.
    order.sort_by(|one, other| other.1.width.total_cmp(&one.1.width));
    for (edge, of) in &order {
        draw_edge(&mut body, graph, edge, of);
    }
    for (node, of) in graph.nodes.iter().zip(&layout.boxes) {
        draw_node(&mut body, node, of);
    }
    for (_, of) in &order {
        of.label.iter().for_each(|label| draw_label(&mut body, label));
    }
    body.push_str("</g>\n");
    at += layout.height + 34.0;
    at = foot(&mut body, graph, (at, width - 2.0 * MARGIN));
    let height = at + MARGIN;
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
         style=\"max-width:100%;height:auto\" role=\"img\" font-family=\"{FAMILY}\" font-size=\"{FONT_SIZE}\" fill=\"{TEXT}\">\n<title>{}</title>\n<desc>{}</desc>\n\
         <rect width=\"{width:.0}\" height=\"{height:.0}\" fill=\"#ffffff\"/>\n{body}</svg>\n",
        xml(&graph.title),
        xml(&format!("{}. {HYPOTHESIS}", graph.summary.join(". ")))
    )
}

/// Writes title and summary; returns the height at which they end.
fn head(body: &mut String, graph: &Graph, room: f64) -> f64 {
    let mut at = MARGIN + 12.0;
    line(body, (MARGIN, at), (16.0, TEXT, Weight::Bold), &fitted(&graph.title, 16.0, Weight::Bold, room));
    for text in &graph.summary {
        for part in wrapped(text, (11.0, Weight::Regular), room, 3) {
            at += 17.0;
            line(body, (MARGIN, at), (11.0, FAINT, Weight::Regular), &part);
        }
    }
    at + 30.0
}

/// Writes the legend, what was left out, and the closing sentence; returns the height at which they end.
fn foot(body: &mut String, graph: &Graph, (mut at, room): (f64, f64)) -> f64 {
    let kinds = Kind::ALL.into_iter().filter(|kind| graph.nodes.iter().any(|node| node.kind == *kind));
    let mut left = MARGIN;
    let mut next = |at: &mut f64, text: &str| {
        let needed = 34.0 + width(text, 10.0, Weight::Regular) + 22.0;
        if left + needed > MARGIN + room {
            left = MARGIN;
            *at += 20.0;
        }
        let place = left;
        left += needed;
        place
    };
    for kind in kinds {
        let text = kind.text_in(graph);
        let left = next(&mut at, text);
        let (fill, border) = colors(kind);
        let path = outline(kind, (left, at - 9.0), (26.0, 13.0));
        let _ = writeln!(body, "<path d=\"{path}\" fill=\"{fill}\" stroke=\"{border}\" stroke-width=\"1.4\"/>");
        line(body, (left + 32.0, at + 1.5), (10.0, FAINT, Weight::Regular), text);
    }
    for kind in EdgeKind::ALL.into_iter().filter(|kind| graph.edges.iter().any(|edge| edge.kind == *kind)) {
        let left = next(&mut at, kind.text());
        let (color, dashes) = stroke(kind);
        let dashes = dashes.map(|dashes| format!(" stroke-dasharray=\"{dashes}\"")).unwrap_or_default();
        let _ = writeln!(
            body,
            "<path d=\"M{left:.1} {:.1}h26\" fill=\"none\" stroke=\"{color}\" stroke-width=\"3\"{dashes}/>",
            at - 2.5
        );
        line(body, (left + 32.0, at + 1.5), (10.0, FAINT, Weight::Regular), kind.text());
    }
    at += 20.0;
    line(body, (MARGIN, at), (10.0, FAINT, Weight::Regular), "A wider line is more money.");
    if !graph.left_out.is_empty() {
        let text = format!("Not in this picture: {}.", graph.left_out.join("; "));
        for part in wrapped(&text, (10.5, Weight::Regular), room, 3) {
            at += 17.0;
            line(body, (MARGIN, at), (10.5, TEXT, Weight::Regular), &part);
        }
    }
    at += 17.0;
    line(body, (MARGIN, at), (10.5, TEXT, Weight::Bold), HYPOTHESIS);
    at
}

/// Writes a line of text.
fn line(body: &mut String, (left, base): (f64, f64), (size, color, weight): (f64, &str, Weight), text: &str) {
    let bold = if weight == Weight::Bold { " font-weight=\"bold\"" } else { "" };
    let _ = writeln!(
        body,
        "<text x=\"{left:.1}\" y=\"{base:.1}\" font-size=\"{size}\" fill=\"{color}\"{bold}>{}</text>",
        xml(text)
    );
}

fn draw_edge(body: &mut String, graph: &Graph, edge: &Edge, of: &EdgeLine) {
    let (color, dashes) = stroke(edge.kind);
    let dashes = dashes.map(|dashes| format!(" stroke-dasharray=\"{dashes}\"")).unwrap_or_default();
    let [from, begin, first, second, finish, to] = of.points;
    let sign = if to.0 >= finish.0 { 1.0 } else { -1.0 };
    let tip = 5.0 + of.width * 0.7;
    let title = format!(
        "{} → {}: {}, {}",
        graph.nodes[edge.from].title(),
        graph.nodes[edge.to].title(),
        edge.amount_text(),
        edge.date_text()
    );
    let _ = writeln!(
        body,
        "<g stroke-opacity=\"0.62\" fill-opacity=\"0.9\"><title>{}</title><path d=\"M{:.1} {:.1}L{:.1} {:.1}C{:.1} {:.1} {:.1} {:.1} {:.1} {:.1}L{:.1} {:.1}\" \
         fill=\"none\" stroke=\"{color}\" stroke-width=\"{:.1}\"{dashes}/><path d=\"M{:.1} {:.1}l{:.1} {tip:.1}v{:.1}z\" fill=\"{color}\"/></g>",
        xml(&title),
        from.0,
        from.1,
        begin.0,
        begin.1,
        first.0,
        first.1,
        second.0,
        second.1,
        finish.0,
        finish.1,
        to.0 - sign * 8.0,
        to.1,
        of.width,
        to.0,
        to.1,
        -sign * 10.0,
        -2.0 * tip
    );
}

/// Writes the text of an edge: on a white ground, so that no other line runs through it.
fn draw_label(body: &mut String, label: &EdgeLabel) {
    let anchor = if label.side == Side::Left { "end" } else { "start" };
    for (text, base, color) in [(&label.above, label.at.1 - 6.0, TEXT), (&label.below, label.at.1 + 12.5, FAINT)] {
        let _ = writeln!(
            body,
            "<text x=\"{:.1}\" y=\"{base:.1}\" font-size=\"{LABEL_SIZE}\" text-anchor=\"{anchor}\" fill=\"{color}\" stroke=\"#ffffff\" \
             stroke-width=\"2.5\" stroke-linejoin=\"round\" paint-order=\"stroke\">{}</text>",
            label.at.0,
            xml(text)
        );
    }
}

fn draw_node(body: &mut String, node: &Node, of: &NodeBox) {
    let (fill, border) = colors(node.kind);
    let path = outline(node.kind, (of.left, of.top), (BOX_WIDTH, of.height));
    let dashes = if node.dispute.is_some() { " stroke-dasharray=\"5 3\"" } else { "" };
    let _ = writeln!(body, "<g><title>{}</title>", xml(&node.id));
    if node.role != Role::Between {
        let _ = writeln!(
            body,
            "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"9\" fill=\"#fff3cf\" stroke=\"{START}\" stroke-width=\"2\"/>",
            of.left - 5.0,
            of.top - 5.0,
            BOX_WIDTH + 10.0,
            of.height + 10.0
        );
    }
    let _ = writeln!(
        body,
        "<path d=\"{path}\" fill=\"{fill}\" stroke=\"{border}\" stroke-width=\"{}\"{dashes}/>",
        border_width(node.kind)
    );
    let middle = of.left + BOX_WIDTH / 2.0;
    for (number, text) in of.lines.iter().enumerate() {
        let bold = if text.is_bold { " font-weight=\"bold\"" } else { "" };
        let _ = writeln!(
            body,
            "<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\"{bold}>{}</text>",
            of.base_of(number),
            xml(&text.text)
        );
    }
    body.push_str("</g>\n");
}

/// Escapes text for XML, without characters that are invisible or turn the direction of writing.
pub(crate) fn xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars().map(visible) {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            _ => escaped.push(letter),
        }
    }
    escaped
}
