//! A risk in words: the parts of the score, in the order in which a reader asks.

use headwater_engine::Response;
use headwater_engine::risk::{
    AssessmentName, AssessmentReasonName, BehaviorRecord, DimensionName, EffectName, FactorRecord, GraphReason,
    MeasuredValue, RiskMeta, RiskReport, RiskyNeighbor,
};
use headwater_intel::behaviour::Behaviour;
use headwater_intel::risk::{Parameters, shown as digits};

use super::verdict::{RiskVerdict, is_gate, skipped};
use crate::output::{grouped, standing, table};
use crate::table::{Layout, fitted, fitted_text};
use crate::words::{dispute, grouped_decimal, joined, number, row, section, time};

/// Rules that one line names.
const CODES_OF_A_LINE: usize = 5;

/// Explains a report.
pub(super) fn lines(response: &Response<RiskReport>, parameters: &Parameters, layout: Layout) -> Vec<String> {
    let report = &response.report;
    let judged = RiskVerdict::of_report(report);
    joined([
        vec![format!("{}: {}", judged.level(), judged.reason())],
        facts(report, parameters),
        dimensions(report, layout),
        section("What the score is made of", factors(report, layout)),
        section("Labels", codes(report, layout)),
        section("Disputed labels", disputes(report)),
        evidence(report),
        section("Risky counterparties, the strongest", counterparties(report, layout)),
        section("Rules that were not evaluated", deferred(report)),
        section("What it rests on", basis(report)),
        standing(&response.warnings),
        vec![
            "The score orders addresses by the evidence that is held. It is no probability and no proof, and a low one"
                .to_owned(),
            "says only that little is known against an address.".to_owned(),
        ],
    ])
}

fn facts(report: &RiskReport, parameters: &Parameters) -> Vec<String> {
    let (levels, decision) = (&parameters.levels, &report.decision);
    let level = match report.meta.assessment {
        // Without data the level means nothing.
        AssessmentName::Insufficient => "no level, since there is not enough data",
        AssessmentName::Full | AssessmentName::Partial => report.risk_level.name(),
    };
    let score = format!(
        "{} of 100: {level} (medium from {}, high from {})",
        points(report.composite_score),
        levels.medium,
        levels.high
    );
    let gates = report.factors.iter().filter(|factor| is_gate(factor));
    let mut floors: Vec<_> = gates.map(|gate| format!("{}; {}", detail(gate), &*gate.code)).collect();
    if floors.is_empty() {
        floors.push("none".to_owned());
    } else {
        floors.push(format!("{} without a floor", points(decision.base_score)));
    }
    let context = match decision.context {
        Some(context) => format!("{}, confidence {}", context.name(), ratio(decision.context_confidence)),
        None => "none: no label tells what kind of address it is".to_owned(),
    };
    let mut rows = vec![row(["assessment", &assessment(&report.meta)]), row(["score", &score])];
    rows.extend(floors.iter().enumerate().map(|(place, floor)| row([if place == 0 { "floor" } else { "" }, floor])));
    rows.push(row(["context", &context]));
    let head = format!("{} on {}", &*report.address, &*report.blockchain);
    std::iter::once(head).chain(table(&rows)).collect()
}

/// Describes how much data the score rests on, and what is missing.
fn assessment(meta: &RiskMeta) -> String {
    let level = match meta.assessment {
        AssessmentName::Insufficient => "not enough data to judge",
        AssessmentName::Full | AssessmentName::Partial => meta.assessment.name(),
    };
    let reasons: Vec<_> = meta.assessment_reasons.iter().map(|reason| missing(*reason)).collect();
    if reasons.is_empty() { level.to_owned() } else { format!("{level}: {}", reasons.join("; ")) }
}

fn missing(reason: AssessmentReasonName) -> &'static str {
    match reason {
        AssessmentReasonName::BehaviorUnavailable => "behaviours are not judged",
        AssessmentReasonName::FewTransfers => "fewer than five valued transfers",
        AssessmentReasonName::RulesDeferred => "some rules were not evaluated",
        AssessmentReasonName::GraphUnavailable => "counterparties were not looked at",
        AssessmentReasonName::HistoryIncomplete => "a part of the history is missing",
    }
}

/// Lists each dimension with its score, the points that it adds, and its result.
fn dimensions(report: &RiskReport, layout: Layout) -> Vec<String> {
    let sum = |wanted: &dyn Fn(&FactorRecord) -> bool| -> f64 {
        // The sum of no points is minus zero.
        report.factors.iter().filter(|factor| wanted(factor)).map(|factor| factor.points).sum::<f64>() + 0.0
    };
    let scores = &report.dimensions;
    let found = [
        (DimensionName::Intel, Some(scores.intel.score), labels(report)),
        (DimensionName::Behavior, scores.behavior.as_ref().map(|behavior| behavior.score), behaviours(report)),
        (DimensionName::Graph, Some(scores.graph.score), edge(report)),
    ];
    let mut rows = vec![row(["dimension", "score", "points", "came to"])];
    for (dimension, score, words) in found {
        let adds = sum(&|factor| !is_gate(factor) && factor.dimension == dimension);
        rows.push(row([title(dimension), &score.map(points).unwrap_or_default(), &digits(adds, 2), &words]));
    }
    if report.decision.gated {
        rows.push(row(["floor", "", &format!("{:.2}", sum(&is_gate)), "what the floor adds"]));
    }
    fitted_text(&rows, layout)
}

fn title(dimension: DimensionName) -> &'static str {
    match dimension {
        DimensionName::Intel => "labels",
        DimensionName::Behavior => "behaviours",
        DimensionName::Graph => "counterparties",
    }
}

fn labels(report: &RiskReport) -> String {
    let intel = &report.dimensions.intel;
    match &intel.label {
        Some(label) => {
            let names: Vec<_> = intel.labels.iter().map(|code| &**code).collect();
            format!("{label}: {}; confidence {}", names.join(", "), ratio(intel.confidence))
        }
        None => "no list names the address".to_owned(),
    }
}

fn behaviours(report: &RiskReport) -> String {
    let Some(behavior) = &report.dimensions.behavior else { return skipped(report.meta.graph_reason).to_owned() };
    let (found, rules) = (behavior.behaviors.len(), behavior.evaluated.len());
    format!("{found} found by {rules} rules in {} transfers", grouped(behavior.data_window.tx_count))
}

fn edge(report: &RiskReport) -> String {
    let Some(edge) = &report.dimensions.graph.edge else { return skipped(report.meta.graph_reason).to_owned() };
    let screened = match (grouped(edge.neighbors_screened), grouped(edge.neighbors_total)) {
        (screened, all) if screened == all => format!("{all} looked up"),
        (screened, all) => format!("{screened} of {all} looked up"),
    };
    let (hit, share, usd) = (grouped(edge.neighbors_hit), percent(edge.risky_exposure_ratio), usd(edge.volume_usd));
    format!("{screened}, {hit} of them risky, with {share} of {usd} US dollars")
}

fn factors(report: &RiskReport, layout: Layout) -> Vec<String> {
    if report.factors.is_empty() {
        let words = match report.meta.assessment {
            AssessmentName::Insufficient => "nothing was found in too little data",
            AssessmentName::Full | AssessmentName::Partial => "nothing is held against the address",
        };
        return vec![format!("  {words}")];
    }
    let mut rows = vec![row(["points", "dimension", "factor", "detail"])];
    rows.extend(report.factors.iter().map(|factor| {
        let weight = ratio(factor.weight.unwrap_or_default());
        let by_context = match factor.effect {
            EffectName::Amplify => format!("; graver in its context, times {weight}"),
            EffectName::Suppress => format!("; lighter in its context, times {weight}"),
            EffectName::AsIs => String::new(),
        };
        let name = Behaviour::from_code(&factor.code).map(|behaviour| format!("{}: ", behaviour.name()));
        let detail = format!("{}{}{by_context}", name.unwrap_or_default(), detail(factor));
        row([&points(factor.points), title(factor.dimension), &factor.code, &detail])
    }));
    fitted_text(&rows, layout)
}

fn codes(report: &RiskReport, layout: Layout) -> Vec<String> {
    let codes = &report.dimensions.intel.codes;
    if codes.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["label", "family", "severity", "confidence", "points of the label score"])];
    rows.extend(codes.iter().map(|code| {
        let (severity, confidence) = (points(code.severity), ratio(code.confidence));
        row([&code.code, &code.family, &severity, &confidence, &points(code.contribution)])
    }));
    fitted(&rows, layout)
}

/// Lists the disputes of claims about the address.
fn disputes(report: &RiskReport) -> Vec<String> {
    let codes = report.dimensions.intel.codes.iter();
    let rows: Vec<_> = codes.filter_map(|code| Some(row([&code.code, &dispute(code.disputed.as_ref()?)]))).collect();
    table(&rows)
}

/// Lists the evidence of every behaviour.
fn evidence(report: &RiskReport) -> Vec<String> {
    report.dimensions.behavior.iter().flat_map(|behavior| &behavior.behaviors).flat_map(one_evidence).collect()
}

fn one_evidence(found: &BehaviorRecord) -> Vec<String> {
    let BehaviorRecord { code, severity, evidence, occurrence_count, .. } = found;
    let name = Behaviour::from_code(code).map_or(&**code, |behaviour| behaviour.name());
    let times = match occurrence_count {
        1 => "once".to_owned(),
        times => format!("{} times", grouped(*times)),
    };
    let head = format!(
        "{name} ({}, {}): {times}, {} to {}",
        &**code,
        severity.name(),
        time(found.first_detected_at),
        time(found.last_detected_at)
    );
    let window = evidence.window_seconds.map(|secs| ("window_seconds", secs.to_string()));
    let p_value = evidence.p_value.map(|p_value| ("p_value", number(p_value)));
    let facts = evidence.facts.iter().filter_map(|(name, value)| Some((&**name, measured(value)?)));
    let measured = window.into_iter().chain(p_value).chain(facts);
    let mut rows: Vec<_> = measured.map(|(name, value)| row([&format!("  {name}"), &value])).collect();
    let hashes = evidence.tx_hashes.iter().enumerate();
    rows.extend(hashes.map(|(place, hash)| row([if place == 0 { "  transactions" } else { "" }, hash])));
    std::iter::once(head).chain(table(&rows)).collect()
}

fn counterparties(report: &RiskReport, layout: Layout) -> Vec<String> {
    let risky = report.dimensions.graph.edge.as_ref().map(|edge| &*edge.risky_neighbors).unwrap_or_default();
    if risky.is_empty() {
        return Vec::new();
    }
    let mut rows = vec![row(["address", "entity", "labels", "way", "US dollars", "share", "last", "note"])];
    rows.extend(risky.iter().map(counterparty));
    fitted(&rows, layout)
}

fn counterparty(one: &RiskyNeighbor) -> Vec<String> {
    let labels: Vec<_> = one.labels.iter().map(|code| &**code).collect();
    let notes = [
        one.listed_since.map(|since| format!("under sanctions since {}", time(since))),
        (one.sanctioned && one.listed_since.is_none()).then(|| "under sanctions".to_owned()),
        one.dust.then(|| "dust: counts a quarter".to_owned()),
        one.disputed.as_ref().map(|_| "disputed".to_owned()),
    ];
    row([
        &one.address,
        one.entity_name.as_deref().unwrap_or_default(),
        &labels.join(", "),
        one.direction.name(),
        &one.amount_usd.map(usd).unwrap_or_default(),
        &percent(one.share),
        &time(one.last_activity),
        &notes.into_iter().flatten().collect::<Vec<_>>().join(", "),
    ])
}

/// Lists the rules that were not evaluated, and the reason.
fn deferred(report: &RiskReport) -> Vec<String> {
    let deferred = report.dimensions.behavior.as_ref().map(|behavior| &*behavior.deferred).unwrap_or_default();
    let codes: Vec<&str> = deferred.iter().map(|code| &**code).collect();
    if codes.is_empty() {
        return Vec::new();
    }
    let reads_others = |code: &&str| Behaviour::from_code(code).is_some_and(Behaviour::reads_others);
    let reason = if report.meta.graph_reason == GraphReason::NoActivity {
        "the address was never seen on the chain"
    } else if codes.iter().all(reads_others) {
        "more of what others did would have to be read than one assessment may read, or is held"
    } else {
        "no price of what it moved is held"
    };
    let lines = codes.chunks(CODES_OF_A_LINE).map(|codes| format!("    {}", codes.join(", ")));
    std::iter::once(format!("  {reason}:")).chain(lines).collect()
}

fn basis(report: &RiskReport) -> Vec<String> {
    let meta = &report.meta;
    let mut rows = Vec::new();
    let window = report.dimensions.behavior.as_ref().map(|behavior| &behavior.data_window);
    if let Some(window) = window.filter(|window| window.tx_count != 0) {
        let cut = if window.truncated { "; older ones were left out" } else { "" };
        let (from, to) = (time(window.from), time(window.to));
        rows.push(row(["  data", &format!("{} transfers, {from} to {to}{cut}", grouped(window.tx_count))]));
    }
    if let Some(block) = meta.as_of_block {
        rows.push(row(["  block", &grouped(block)]));
    }
    rows.push(row(["  parameters", &meta.model_version]));
    rows.push(row(["  labels", &meta.labels_version]));
    rows.push(row(["  computed", &time(meta.computed_at)]));
    let provider = if meta.third_party_used { "asked for further claims" } else { "not asked" };
    rows.push(row(["  third party", provider]));
    table(&rows)
}

fn detail(factor: &FactorRecord) -> &str {
    factor.detail.as_deref().unwrap_or_default()
}

fn points(points: f64) -> String {
    digits(points, 2)
}

fn ratio(ratio: f64) -> String {
    digits(ratio, 3)
}

fn percent(share: f64) -> String {
    format!("{} %", digits(100.0 * share, 2))
}

/// Formats US dollars with commas.
fn usd(usd: f64) -> String {
    grouped_decimal(&points(usd))
}

/// Formats a measured value; returns `None` for a number that is not finite.
fn measured(value: &MeasuredValue) -> Option<String> {
    let text = match value {
        MeasuredValue::Number(value) if !value.is_finite() => return None,
        MeasuredValue::Number(value) => number(*value),
        MeasuredValue::Count(count) => count.to_string(),
        MeasuredValue::Secs(secs) => secs.to_string(),
        MeasuredValue::Text(text) => text.clone(),
        MeasuredValue::Texts(texts) => texts.join(", "),
        MeasuredValue::Pairs(pairs) => pairs.concat().join(", "),
        MeasuredValue::Numbers(numbers) => list(numbers, |value| number(*value)),
        MeasuredValue::EachSecs(secs) => list(secs, i64::to_string),
        MeasuredValue::Features(features) => list(features, |of| {
            let value = number(of.value.unwrap_or(f64::NAN));
            format!("{} {value} ({})", of.feature, number(of.contribution))
        }),
    };
    Some(text)
}

fn list<T>(values: &[T], text: impl Fn(&T) -> String) -> String {
    values.iter().map(text).collect::<Vec<_>>().join(", ")
}
