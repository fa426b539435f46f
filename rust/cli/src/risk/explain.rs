//! A risk in words: what the score is made of, in the order in which a reader asks.

use headwater_intel::behaviour::Behaviour;
use headwater_intel::risk::{Parameters, shown as digits};
use serde_json::Value;

use crate::output::{grouped, table};
use crate::words::{count, dispute, list, row, section, text, time};

/// Names of the dimensions, as people read them.
const DIMENSIONS: [(&str, &str); 3] = [("intel", "labels"), ("behavior", "behaviours"), ("graph", "counterparties")];

/// Rules that one line names.
const CODES_OF_A_LINE: usize = 5;

/// Explains the `data` of an answer.
pub(super) fn lines(data: &Value, parameters: &Parameters) -> Vec<String> {
    let parts = [
        verdict(data, parameters),
        dimensions(data),
        section("What the score is made of", factors(data)),
        section("Labels", codes(data)),
        section("Disputed labels", disputes(data)),
        evidence(data),
        section("Risky counterparties, the strongest", counterparties(data)),
        section("Rules that were not evaluated", deferred(data)),
        section("What it rests on", basis(data)),
        vec![
            "The score orders addresses by the evidence that is held. It is no probability and no proof, and a low one"
                .to_owned(),
            "says only that little is known against an address.".to_owned(),
        ],
    ];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(&String::new())
}

fn verdict(data: &Value, parameters: &Parameters) -> Vec<String> {
    let levels = &parameters.levels;
    let decision = &data["decision"];
    let score = format!(
        "{} of 100: {} (medium from {}, high from {})",
        points(&data["composite_score"]),
        text(&data["risk_level"]),
        levels.medium,
        levels.high
    );
    let gates = list(&data["factors"]).iter().filter(|factor| is_gate(factor));
    let mut floors: Vec<_> = gates.map(|gate| format!("{}; {}", text(&gate["detail"]), text(&gate["code"]))).collect();
    if floors.is_empty() {
        floors.push("none".to_owned());
    } else {
        floors.push(format!("{} without a floor", points(&decision["base_score"])));
    }
    let context = match decision["context"].as_str() {
        Some(context) => format!("{context}, confidence {}", ratio(&decision["context_confidence"])),
        None => "none: no label tells what kind of address it is".to_owned(),
    };
    let mut rows = vec![row(["assessment", &assessment(&data["meta"])]), row(["score", &score])];
    rows.extend(floors.iter().enumerate().map(|(place, floor)| row([if place == 0 { "floor" } else { "" }, floor])));
    rows.push(row(["context", &context]));
    let head = format!("{} on {}", text(&data["address"]), text(&data["blockchain"]));
    std::iter::once(head).chain(table(&rows)).collect()
}

/// How much there is to judge by, and what is missing.
fn assessment(meta: &Value) -> String {
    let level = match text(&meta["assessment"]) {
        "insufficient" => "not enough data to judge",
        level => level,
    };
    let reasons: Vec<_> = list(&meta["assessment_reasons"]).iter().map(|reason| missing(text(reason))).collect();
    if reasons.is_empty() { level.to_owned() } else { format!("{level}: {}", reasons.join("; ")) }
}

/// A reason of an assessment in words.
fn missing(reason: &str) -> &str {
    match reason {
        "behavior_unavailable" => "behaviours are not judged",
        "few_transfers" => "fewer than five valued transfers",
        "rules_deferred" => "some rules were not evaluated",
        "graph_unavailable" => "counterparties were not looked at",
        "history_incomplete" => "a part of the history is missing",
        other => other,
    }
}

/// What each dimension came to, and what it adds to the score.
fn dimensions(data: &Value) -> Vec<String> {
    let sums = |wanted: &dyn Fn(&Value) -> bool| -> f64 {
        let points =
            list(&data["factors"]).iter().filter(|factor| wanted(factor)).filter_map(|of| of["points"].as_f64());
        // A sum of nothing is minus zero.
        points.sum::<f64>() + 0.0
    };
    let mut rows = vec![row(["dimension", "score", "points", "came to"])];
    let found = [labels(data), behaviours(data), edge(data)];
    for ((name, title), words) in DIMENSIONS.into_iter().zip(found) {
        let score = match &data["dimensions"][name]["score"] {
            Value::Null => String::new(),
            score => points(score),
        };
        let adds = sums(&|factor| !is_gate(factor) && factor["dimension"] == name);
        rows.push(row([title, &score, &digits(adds, 2), &words]));
    }
    if data["decision"]["gated"] == true {
        let adds = sums(&|factor| is_gate(factor));
        rows.push(row(["floor", "", &format!("{adds:.2}"), "what the floor adds"]));
    }
    table(&rows)
}

fn labels(data: &Value) -> String {
    let intel = &data["dimensions"]["intel"];
    match intel["label"].as_str() {
        Some(label) => {
            let names: Vec<_> = list(&intel["labels"]).iter().map(text).collect();
            format!("{label}: {}; confidence {}", names.join(", "), ratio(&intel["confidence"]))
        }
        None => "no list names the address".to_owned(),
    }
}

fn behaviours(data: &Value) -> String {
    let behavior = &data["dimensions"]["behavior"];
    if behavior.is_null() {
        return why(data).to_owned();
    }
    let (found, rules) = (list(&behavior["behaviors"]).len(), list(&behavior["evaluated"]).len());
    format!("{found} found by {rules} rules in {} transfers", count(&behavior["data_window"]["tx_count"]))
}

fn edge(data: &Value) -> String {
    let edge = &data["dimensions"]["graph"]["edge"];
    if edge.is_null() {
        return why(data).to_owned();
    }
    let screened = match (count(&edge["neighbors_screened"]), count(&edge["neighbors_total"])) {
        (screened, all) if screened == all => format!("{all} looked up"),
        (screened, all) => format!("{screened} of {all} looked up"),
    };
    let (hit, share, usd) = (count(&edge["neighbors_hit"]), &edge["risky_exposure_ratio"], usd(&edge["volume_usd"]));
    format!("{screened}, {hit} of them risky, with {} of {usd} US dollars", percent(share))
}

/// Why counterparties, or behaviours too, were not looked at.
fn why(data: &Value) -> &'static str {
    match text(&data["meta"]["graph_reason"]) {
        "intel_gate" => "not looked at: the labels decide already",
        "intel_decisive" => "not looked at: the address is a trusted service",
        "already_high" => "not looked at: the score is high without them",
        "no_activity" => "not looked at: the address was never seen on the chain",
        "unsupported_chain" => "not judged on this chain, only on ethereum and tron",
        "data_unavailable" => "not judged: the store has no data of the chain",
        "budget_exhausted" => "not looked at: that would take too long",
        _ => "not looked at",
    }
}

fn factors(data: &Value) -> Vec<String> {
    let factors = list(&data["factors"]);
    if factors.is_empty() {
        let is_judged = data["meta"]["assessment"] != "insufficient";
        let words =
            if is_judged { "nothing is held against the address" } else { "nothing was found in too little data" };
        return vec![format!("  {words}")];
    }
    let mut rows = vec![row(["points", "dimension", "factor", "detail"])];
    rows.extend(factors.iter().map(|factor| {
        let dimension = DIMENSIONS.iter().find(|(name, _)| factor["dimension"] == *name).map_or("", |(_, title)| title);
        let by_context = match text(&factor["effect"]) {
            "amplify" => format!("; graver in its context, times {}", ratio(&factor["weight"])),
            "suppress" => format!("; lighter in its context, times {}", ratio(&factor["weight"])),
            _ => String::new(),
        };
        let name = Behaviour::from_code(text(&factor["code"])).map(|behaviour| format!("{}: ", behaviour.name()));
        let detail = format!("{}{}{by_context}", name.unwrap_or_default(), text(&factor["detail"]));
        row([&points(&factor["points"]), dimension, text(&factor["code"]), &detail])
    }));
    table(&rows)
}

fn codes(data: &Value) -> Vec<String> {
    let codes = list(&data["dimensions"]["intel"]["codes"]);
    if codes.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["label", "family", "severity", "confidence", "points of the label score"])];
    rows.extend(codes.iter().map(|code| {
        let (severity, confidence) = (points(&code["severity"]), ratio(&code["confidence"]));
        row([text(&code["code"]), text(&code["family"]), &severity, &confidence, &points(&code["contribution"])])
    }));
    table(&rows)
}

/// The disputes of claims about the address.
fn disputes(data: &Value) -> Vec<String> {
    let codes = list(&data["dimensions"]["intel"]["codes"]).iter().filter(|code| !code["disputed"].is_null());
    let rows: Vec<_> = codes.map(|code| row([text(&code["code"]), &dispute(&code["disputed"])])).collect();
    if rows.is_empty() { Vec::new() } else { table(&rows) }
}

/// What every behaviour rests on.
fn evidence(data: &Value) -> Vec<String> {
    list(&data["dimensions"]["behavior"]["behaviors"]).iter().flat_map(one_evidence).collect()
}

fn one_evidence(found: &Value) -> Vec<String> {
    let code = text(&found["code"]);
    let name = if let Some(behaviour) = Behaviour::from_code(code) { behaviour.name() } else { code };
    let times = match count(&found["occurrence_count"]).as_str() {
        "1" => "once".to_owned(),
        times => format!("{times} times"),
    };
    let head = format!(
        "{name} ({code}, {}): {times}, {} to {}",
        text(&found["severity"]),
        time(&found["first_detected_at"]),
        time(&found["last_detected_at"])
    );
    let evidence = &found["evidence"];
    let measured = evidence.as_object().into_iter().flatten().filter(|(name, _)| *name != "tx_hashes");
    let mut rows: Vec<_> = measured
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| row([&format!("  {name}"), &shown(value)]))
        .collect();
    let hashes = list(&evidence["tx_hashes"]).iter().enumerate();
    rows.extend(hashes.map(|(place, hash)| row([if place == 0 { "  transactions" } else { "" }, text(hash)])));
    std::iter::once(head).chain(table(&rows)).collect()
}

fn counterparties(data: &Value) -> Vec<String> {
    let risky = list(&data["dimensions"]["graph"]["edge"]["risky_neighbors"]);
    if risky.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["address", "entity", "labels", "way", "US dollars", "share", "last", "note"])];
    rows.extend(risky.iter().map(|one| {
        let labels: Vec<_> = list(&one["labels"]).iter().map(text).collect();
        let disputed = !one["disputed"].is_null();
        let notes = [
            (one["sanctioned"] == true && one["listed_since"].is_null(), "under sanctions"),
            (one["dust"] == true, "dust: counts a quarter"),
            (disputed, "disputed"),
        ];
        let since =
            (!one["listed_since"].is_null()).then(|| format!("under sanctions since {}", time(&one["listed_since"])));
        let notes = notes.iter().filter(|(holds, _)| *holds).map(|(_, words)| (*words).to_owned());
        let notes: Vec<_> = since.into_iter().chain(notes).collect();
        row([
            text(&one["address"]),
            text(&one["entity_name"]),
            &labels.join(", "),
            text(&one["direction"]),
            &usd(&one["amount_usd"]),
            &percent(&one["share"]),
            &time(&one["last_activity"]),
            &notes.join(", "),
        ])
    }));
    table(&rows)
}

/// The rules that were not evaluated, and why.
fn deferred(data: &Value) -> Vec<String> {
    let codes: Vec<_> = list(&data["dimensions"]["behavior"]["deferred"]).iter().map(text).collect();
    if codes.is_empty() {
        return Vec::new();
    }
    let reads_others = |code: &&str| Behaviour::from_code(code).is_some_and(Behaviour::reads_others);
    let reason = if data["meta"]["graph_reason"] == "no_activity" {
        "the address was never seen on the chain"
    } else if codes.iter().all(reads_others) {
        "more of what others did would have to be read than one assessment may read, or is held"
    } else {
        "no price of what it moved is held"
    };
    let lines = codes.chunks(CODES_OF_A_LINE).map(|codes| format!("    {}", codes.join(", ")));
    std::iter::once(format!("  {reason}:")).chain(lines).collect()
}

fn basis(data: &Value) -> Vec<String> {
    let (meta, window) = (&data["meta"], &data["dimensions"]["behavior"]["data_window"]);
    let mut rows = Vec::new();
    if window["tx_count"] != 0 && !window.is_null() {
        let cut = if window["truncated"] == true { "; older ones were left out" } else { "" };
        let (from, to) = (time(&window["from"]), time(&window["to"]));
        rows.push(row(["  data", &format!("{} transfers, {from} to {to}{cut}", count(&window["tx_count"]))]));
    }
    if let Some(block) = meta["as_of_block"].as_u64() {
        rows.push(row(["  block", &grouped(block)]));
    }
    rows.push(row(["  parameters", text(&meta["model_version"])]));
    rows.push(row(["  labels", text(&meta["labels_version"])]));
    rows.push(row(["  computed", &time(&meta["computed_at"])]));
    let provider = if meta["third_party_used"] == true { "asked for further claims" } else { "not asked" };
    rows.push(row(["  third party", provider]));
    table(&rows)
}

/// Whether a factor stands for a floor.
fn is_gate(factor: &Value) -> bool {
    matches!(text(&factor["code"]), "ofac_sanctioned" | "confirmed_illicit" | "direct_sanctioned_edge")
}

fn points(value: &Value) -> String {
    digits(value.as_f64().unwrap_or_default(), 2)
}

fn ratio(value: &Value) -> String {
    digits(value.as_f64().unwrap_or_default(), 3)
}

fn percent(value: &Value) -> String {
    format!("{} %", digits(100.0 * value.as_f64().unwrap_or_default(), 2))
}

/// US dollars with commas.
fn usd(value: &Value) -> String {
    let text = points(value);
    let (whole, cents) = text.split_once('.').unwrap_or((&text, "00"));
    whole.parse().map_or_else(|_| text.clone(), |whole| format!("{}.{cents}", grouped(whole)))
}

/// A measured value as it stands in the answer, without quotes.
fn shown(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(values) => values.iter().map(shown).collect::<Vec<_>>().join(", "),
        Value::Object(fields) if fields.contains_key("feature") => {
            format!("{} {} ({})", text(&value["feature"]), value["value"], value["contribution"])
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => value.to_string(),
    }
}
