//! A trace in words: where the largest amounts went, where the trace ends, and what was left out.

use std::collections::{BTreeMap, BTreeSet};

use headwater_table::{edge_ends, node_id};
use serde_json::Value;

use crate::output::{grouped, table};
use crate::words::{amount, count, doubt, list, percent, row, section, text, time, usd};

/// Ends that are listed.
const ENDS: usize = 20;

/// Explains the `data` of an answer.
pub(super) fn lines(data: &Value) -> Vec<String> {
    let parts = [
        head(data),
        section("Outward along the largest amounts", path(data, "out")),
        section("Inward along the largest amounts", path(data, "in")),
        section("Where the money is", division(data)),
        section("Where it ends", ends(data)),
        section("What was left out", cuts(data)),
        vec!["A trace is a hypothesis: coins in one account cannot be told apart.".to_owned()],
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
}

fn head(data: &Value) -> Vec<String> {
    let (settings, summary) = (&data["settings"], &data["summary"]);
    let rows = [
        row([
            "followed",
            &format!(
                "{} hops outward, {} inward; {} counterparties of each address; method {}",
                settings["outward_depth"],
                settings["inward_depth"],
                settings["limit"],
                text(&settings["method"])
            ),
        ]),
        row([
            "found",
            &format!("{} addresses, {} edges", count(&summary["node_count"]), count(&summary["edge_count"])),
        ]),
        row(["outward", &usd(&summary["outward_amount_usd"])]),
        row(["inward", &usd(&summary["inward_amount_usd"])]),
    ];
    let head = format!("{} on {}", text(&data["address"]), text(&data["blockchain"]));
    std::iter::once(head).chain(table(&rows)).collect()
}

/// From one address to the next along the largest edge.
fn path(data: &Value, direction: &str) -> Vec<String> {
    let far_first = |[from, to]: [String; 2]| if direction == "out" { (to, from) } else { (from, to) };
    let edges: Vec<_> = list(&data["edges"]).iter().map(|edge| (edge, far_first(edge_ends(data, edge)))).collect();
    let mut here = text(&data["address"]).to_owned();
    let mut seen = BTreeSet::from([here.clone()]);
    let mut rows = vec![row(["hop", "address", "amount", "US dollars", "first", "last", "who"])];
    loop {
        let goes_on = |(edge, (far, near)): &&(&Value, (String, String))| {
            edge["direction"] == direction && *near == here && !seen.contains(far)
        };
        let Some(edge) = largest(edges.iter().filter(goes_on).map(|(edge, _)| *edge)) else { break };
        (here, _) = far_first(edge_ends(data, edge));
        seen.insert(here.clone());
        rows.push(row([
            &hop(edge),
            &here,
            &amount(edge),
            &usd(&edge["amount_usd"]),
            &time(&edge["first_activity"]),
            &time(&edge["last_activity"]),
            &who(data, &here),
        ]));
    }
    if rows.len() == 1 { Vec::new() } else { table(&rows) }
}

/// The number of a hop; change is none.
fn hop(edge: &Value) -> String {
    if edge["is_change"] == true { "change".to_owned() } else { edge["depth"].to_string() }
}

/// The edge that is worth most; without prices that with the largest share of its asset, among equal ones the first.
fn largest<'a>(edges: impl Iterator<Item = &'a Value> + Clone) -> Option<&'a Value> {
    let raw = |edge: &Value| text(&edge["amount_raw"]).parse::<f64>().unwrap_or_default();
    let mut of_asset: BTreeMap<(&str, &str), f64> = BTreeMap::new();
    for edge in edges.clone() {
        *of_asset.entry(asset(edge)).or_default() += raw(edge);
    }
    let worth = |edge: &Value| (edge["amount_usd"].as_f64().unwrap_or(-1.0), raw(edge) / of_asset[&asset(edge)]);
    edges.reduce(|best, edge| if worth(edge) > worth(best) { edge } else { best })
}

pub(super) fn asset(edge: &Value) -> (&str, &str) {
    (text(&edge["contract"]), text(&edge["symbol"]))
}

/// Who an address is, and why the trace ends there.
fn who(data: &Value, id: &str) -> String {
    let is_it = |node: &&Value| node_id(data, &node["blockchain"], &node["address"]) == id;
    let Some(node) = list(&data["nodes"]).iter().find(is_it) else {
        return String::new();
    };
    let labels: Vec<_> = list(&node["labels"]).iter().map(text).collect();
    let names = [text(&node["entity_name"]).to_owned(), labels.join(", ")];
    let named = names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().join("; ");
    let parts = [format!("{named}{}", doubt(node)), reason(&node["stop_reason"])];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The parts of the money of the start, by direction.
fn division(data: &Value) -> Vec<String> {
    let divisions = list(&data["summary"]["divisions"]);
    let is_mentioned = |part: &&(&str, &str)| divisions.iter().any(|of| of[part.0].as_f64().is_some_and(|of| of > 0.0));
    let parts: Vec<_> = DIVISION.iter().filter(is_mentioned).collect();
    if parts.is_empty() {
        return Vec::new();
    }
    let names = parts.iter().map(|(_, name)| (*name).to_owned());
    let head: Vec<String> = std::iter::once("direction".to_owned()).chain(names).collect();
    let of_one = |of: &Value| {
        let shares = parts.iter().map(|(part, _)| percent(&of[*part]));
        std::iter::once(way(of).to_owned()).chain(shares).collect()
    };
    table(&std::iter::once(head).chain(divisions.iter().map(of_one)).collect::<Vec<_>>())
}

/// The parts of a division, and what they are called.
const DIVISION: [(&str, &str); 6] = [
    ("ends", "at ends"),
    ("returned", "came back"),
    ("stayed", "stayed between"),
    ("pruned", "no room to follow"),
    ("filtered", "left out by filters"),
    ("fees", "fees"),
];

fn way(record: &Value) -> &'static str {
    if record["direction"] == "in" { "in" } else { "out" }
}

fn ends(data: &Value) -> Vec<String> {
    let ends = list(&data["ends"]);
    if ends.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["direction", "address", "hops", "traced", "share", "who", "reason"])];
    rows.extend(ends.iter().take(ENDS).map(|end| {
        row([
            way(end),
            &node_id(data, &end["blockchain"], &end["address"]),
            &end["hops"].to_string(),
            &worth(end),
            &percent(&end["share"]),
            &format!("{}{}", text(&end["label"]), doubt(end)),
            &reason(&end["stop_reason"]),
        ])
    }));
    let mut lines = table(&rows);
    if ends.len() > ENDS {
        lines.push(format!("and {} more: --json or --out FILE.json has them", grouped((ends.len() - ENDS) as u64)));
    }
    lines
}

/// What came to an end in US dollars; without a price the amounts of its assets.
fn worth(end: &Value) -> String {
    if end["amount_usd"].is_null() {
        return list(&end["assets"]).iter().map(amount).collect::<Vec<_>>().join(", ");
    }
    format!("{} US dollars", usd(&end["amount_usd"]))
}

/// Why a trace goes no further at an address.
fn reason(stop: &Value) -> String {
    match text(stop) {
        "depth_limit" => "the last hop".to_owned(),
        "label" => "a service: what leaves it is other people's money".to_owned(),
        "hub" => "deals with too many addresses".to_owned(),
        "contract" => "a contract".to_owned(),
        "not_held" => "only a part of what it did is held".to_owned(),
        "time_budget" => "the work was over before it".to_owned(),
        "no_owner" => "anybody can spend what it holds".to_owned(),
        "no_outflow" => "nothing goes on from there".to_owned(),
        "filtered" => "what goes on is outside of the filters".to_owned(),
        "time_range" => "what goes on does not fit in time".to_owned(),
        other => other.to_owned(),
    }
}

fn cuts(data: &Value) -> Vec<String> {
    let limit = &data["settings"]["limit"];
    let said = |reason: &Value| match text(reason) {
        "fanout_limit" => format!("  counterparties beyond the {limit} largest of an address: raise --limit"),
        "max_nodes" => format!("  addresses beyond {}", data["settings"]["max_nodes"]),
        "depth_limit" => "  what lies beyond the last hop: raise --outward or --inward".to_owned(),
        "time_budget" => "  what would have taken more work than one trace may: ask for fewer hops".to_owned(),
        other => format!("  {other}"),
    };
    let mut lines: Vec<_> = list(&data["truncation_reasons"]).iter().map(said).collect();
    if let Some(unpriced) = data["summary"]["unpriced_count"].as_u64().filter(|unpriced| *unpriced > 0) {
        lines.push(format!("  {} movements have no price and count nothing in US dollars", grouped(unpriced)));
    }
    lines
}
