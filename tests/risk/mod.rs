//! Every number of a score, recomputed from the answer and the parameter file alone, by other code than the engine's.

mod agree;
mod batch;
mod bitcoin;
mod listing_dates;

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use headwater_engine::{QueryEngine, endpoint};
use headwater_ledger::Cancel;
use headwater_ledger::labels::{Action, Claim, Code, Level, Link, Scope};
use headwater_ledger::store::{LabelImport, MemoryStore, MissingClaims, ShrinkPolicy, in_memory};
use headwater_simulate::{Economy, Preset, economy};
use headwater_types::{Address, Chain, Timestamp};
use serde_json::{Value, json};

const ANSWERS: usize = 1_000;

/// An economy that most tests share, and its store.
static DEMO: LazyLock<(Economy, Arc<MemoryStore>)> = LazyLock::new(|| of_seed(7));

fn of_seed(seed: u64) -> (Economy, Arc<MemoryStore>) {
    let economy = economy(Preset::Demo, seed);
    let store = store(&economy);
    (economy, store)
}

/// Returns the claims of the public lists of an economy.
fn claims(economy: &Economy) -> Vec<Claim> {
    let secs = |secs: Option<u64>| secs.map(|secs| Timestamp::new(i64::try_from(secs).unwrap()));
    let claim = |row: &headwater_simulate::truth::PublicLabel| {
        let level = Level::ALL.iter().copied().find(|level| level.name() == row.level).unwrap();
        Claim {
            address: row.address,
            scope: Scope::Chain(row.chain),
            code: Some(Code::from_name(&row.code).unwrap()),
            name: None,
            entity: (!row.entity.is_empty()).then(|| Arc::from(row.entity.as_str())),
            source: Arc::from(row.list.as_str()),
            source_url: None,
            group: Arc::from(row.group.as_str()),
            level,
            reliability: level.thousandths(),
            link: Link::Exact,
            asserted_at: secs(row.asserted_secs),
            date_basis: None,
            last_seen: None,
            valid_until: secs(row.valid_until_secs),
            action: Action::Add,
            dispute: None,
        }
    };
    economy.truth.labels.iter().map(claim).collect()
}

/// A store of an economy with its public lists.
fn store(economy: &Economy) -> Arc<MemoryStore> {
    let mut store = in_memory(economy.batches.clone(), economy.tokens.clone(), economy.prices.clone()).unwrap();
    let now = Timestamp::new(2_000_000_000);
    let import = LabelImport {
        source: "lists".to_owned(),
        list: "lists".to_owned(),
        licence: None,
        imported_at: now,
        ended_at: now,
        claims: claims(economy),
        vanished: MissingClaims::End,
        shrinking: ShrinkPolicy::Refused,
        sanctions_of: Vec::new(),
    };
    Arc::get_mut(&mut store).unwrap().import_labels(import).unwrap();
    store
}

struct File(toml::Table);

impl File {
    fn number(&self, path: &str) -> f64 {
        let mut value: &toml::Value = &self.0[path.split('.').next().unwrap()];
        for key in path.split('.').skip(1) {
            value = &value[key];
        }
        value.as_float().unwrap_or_else(|| panic!("{path}"))
    }
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is not a number"))
}

fn near(what: &str, risk: &Value, reported: &Value, computed: f64, tolerance: f64) {
    assert!(
        (number(reported) - computed).abs() <= tolerance,
        "{what}: {reported} is reported, {computed} computed of\n{risk:#}"
    );
}

/// The codes of the labels: family, severity, confidence, reliability.
fn codes(risk: &Value) -> Vec<(String, f64, f64, f64)> {
    let codes = risk["dimensions"]["intel"]["codes"].as_array().unwrap();
    let code = |code: &Value| {
        let family = code["family"].as_str().unwrap().to_owned();
        (family, number(&code["severity"]), number(&code["confidence"]), number(&code["reliability"]))
    };
    codes.iter().map(code).collect()
}

fn intel(file: &File, risk: &Value, is_gated: bool) -> f64 {
    let mut by_family: BTreeMap<String, f64> = BTreeMap::new();
    let mut benign: f64 = 0.0;
    for (family, severity, confidence, _) in codes(risk) {
        if family == "identity" {
            benign = benign.max(confidence);
        }
        let x = by_family.entry(family).or_default();
        *x = x.max(severity * confidence);
    }
    let mut x: Vec<f64> = by_family.into_values().chain([0.0; 3]).collect();
    x.sort_by(|one, other| other.total_cmp(one));
    let rest = file.number("intel.second_family") * x[1] + file.number("intel.third_family") * x[2];
    let discount = if is_gated { 1.0 } else { 1.0 - file.number("intel.benign_discount") * benign };
    (x[0] + (100.0 - x[0]) / 100.0 * rest).min(100.0) * discount
}

/// The score of behaviours before and after context.
fn behaviours(file: &File, risk: &Value) -> [f64; 2] {
    let behavior = &risk["dimensions"]["behavior"];
    let hits = behavior["behaviors"].as_array().unwrap();
    let mut of_family: [BTreeMap<String, Vec<f64>>; 2] = Default::default();
    for item in behavior["score_breakdown"]["items"].as_array().unwrap() {
        let code = item["code"].as_str().unwrap();
        let hit = hits.iter().find(|hit| hit["code"] == code);
        let base = file.number(&format!("behaviours.{code}.base"));
        let score = if code == "scam_pattern" {
            let least = file.number("behaviours.scam_pattern.limits.least_likeness");
            assert_eq!(hit.is_some(), number(&item["intensity"]) >= least, "{risk:#}");
            base * number(&item["intensity"])
        } else {
            let n = number(&hit.unwrap()["occurrence_count"]);
            let repetition = (1.0 + file.number("behaviour.repetition_step") * n.log2())
                .min(file.number("behaviour.repetition_most"));
            let floor = file.number("behaviour.intensity_floor");
            let intensity = floor + (1.0 - floor) * number(&item["intensity"]);
            (base * intensity * repetition * number(&item["recency_weight"])).min(100.0)
        };
        let weight = item["context_weight"].as_f64().unwrap_or(1.0);
        let after = (score * weight).clamp(0.0, 100.0);
        if let Some(hit) = hit {
            near(code, risk, &hit["score"], score, 0.011);
            if let Some(reported) = hit.get("score_after_context") {
                near(code, risk, reported, after, 0.011);
            }
        }
        let family = item["family"].as_str().unwrap();
        for (all, score) in of_family.iter_mut().zip([score, after]) {
            all.entry(family.to_owned()).or_default().push(score);
        }
    }
    of_family.map(|families| {
        let mut rest = 1.0;
        for mut scores in families.into_values() {
            scores.sort_by(|one, other| other.total_cmp(one));
            for (rank, score) in scores.into_iter().enumerate() {
                let factor = match rank {
                    0 => 1.0,
                    1 => file.number("behaviour.second_of_family"),
                    _ => file.number("behaviour.further_of_family"),
                };
                rest *= 1.0 - factor * score / 100.0;
            }
        }
        (100.0 * (1.0 - rest)).min(file.number("behaviour.cap"))
    })
}

fn graph(file: &File, risk: &Value) -> f64 {
    let edge = &risk["dimensions"]["graph"]["edge"];
    if edge.is_null() {
        return 0.0;
    }
    let mut rest = 1.0;
    for category in edge["categories"].as_array().unwrap() {
        let severity = number(&category["severity"]);
        let half = match severity {
            severity if severity >= file.number("graph.severe_from") => "severe",
            severity if severity >= file.number("graph.high_from") => "high",
            _ => "other",
        };
        let (share, half) = (number(&category["share"]), file.number(&format!("graph.half_share.{half}")));
        let amount = 1.0 + number(&category["amount_usd"]) / file.number("graph.amount_unit_usd");
        let absolute = (amount.log10() / file.number("graph.amount_powers")).min(1.0);
        let f = 1.0 - (1.0 - share / (share + half)) * (1.0 - file.number("graph.amount_share") * absolute);
        rest *= 1.0 - number(&category["factor"]) * severity / 100.0 * number(&category["confidence"]) * f;
    }
    100.0 * (1.0 - rest)
}

fn recompute(file: &File, risk: &Value) {
    let gate = risk["decision"]["gate_reason"].as_str();
    let (own, edge) = match gate {
        Some("direct_sanctioned_edge") => (None, gate),
        other => (other, None),
    };
    let dimensions = &risk["dimensions"];
    let score = intel(file, risk, own.is_some());
    near("intel", risk, &dimensions["intel"]["score"], score, 0.011);
    let [raw, behaviour] = if dimensions["behavior"].is_null() { [0.0; 2] } else { behaviours(file, risk) };
    if !dimensions["behavior"].is_null() {
        near("behavior", risk, &dimensions["behavior"]["score_raw"], raw, 0.02);
        near("behavior", risk, &dimensions["behavior"]["score"], behaviour, 0.02);
    }
    let of_graph = graph(file, risk);
    near("graph", risk, &dimensions["graph"]["score"], of_graph, 0.02);

    let (least, reliable) = (file.number("gates.decisive_confidence"), file.number("gates.decisive_reliability"));
    let is_trusted = codes(risk).iter().any(|(family, _, confidence, reliability)| {
        family == "identity" && *confidence >= least && *reliability >= reliable
    });
    let trust = if is_trusted { file.number("composite.trusted_service") } else { 1.0 };
    let rest = (1.0 - score / 100.0)
        * (1.0 - file.number("composite.behaviour") * behaviour / 100.0)
        * (1.0 - file.number("composite.graph") * of_graph / 100.0 * trust);
    let base = 100.0 * (1.0 - rest);
    near("base_score", risk, &risk["decision"]["base_score"], base, 0.02);
    let floor = gate.map_or(0.0, |gate| file.number(&format!("gates.{gate}")));
    near("composite_score", risk, &risk["composite_score"], base.max(floor), 0.02);
    assert!(edge.is_none() || !is_trusted, "no third gate for trusted services: {risk:#}");

    let factors = risk["factors"].as_array().unwrap();
    let points: f64 = factors.iter().map(|factor| number(&factor["points"])).sum();
    #[expect(clippy::cast_precision_loss, reason = "a handful of factors, each rounded to a hundredth")]
    let rounding = 0.01 + 0.005 * factors.len() as f64;
    near("points", risk, &risk["composite_score"], points, rounding);
    let level = match number(&risk["composite_score"]) {
        score if score >= file.number("levels.high") => "high",
        score if score >= file.number("levels.medium") => "medium",
        _ => "low",
    };
    assert_eq!(risk["risk_level"], level);
    assert_eq!(risk["meta"]["model_version"].as_str(), file.0["version"].as_str());
}

#[test]
fn a_thousand_scores_are_recomputed_from_their_answers() {
    let (economy, store) = &*DEMO;
    let engine = QueryEngine::new(Arc::<MemoryStore>::clone(store));
    let file = File(headwater_intel::risk::Parameters::standard_text().parse().unwrap());

    // Labelled and planted ones, and of all others every so many.
    let mut asked: Vec<(Chain, Address)> = economy.truth.labels.iter().map(|row| (row.chain, row.address)).collect();
    let planted = economy.truth.behaviours.iter().filter(|row| [Chain::ETHEREUM, Chain::TRON].contains(&row.chain));
    asked.extend(planted.map(|row| (row.chain, row.address)));
    asked.sort_unstable();
    asked.dedup();
    let step = (asked.len() / (ANSWERS * 3 / 4)).max(1);
    let mut asked: Vec<_> = asked.into_iter().step_by(step).collect();
    let others = &economy.truth.addresses;
    let rest = ANSWERS.saturating_sub(asked.len()).max(1);
    asked.extend(others.iter().step_by((others.len() / rest).max(1)).map(|row| (row.chain, row.address)));

    let (mut gated, mut expanded, mut behaved) = (0, 0, 0);
    for (chain, address) in &asked {
        let request = json!({"blockchain": chain.name(), "address": address.to_string()});
        let risk = engine.answer(endpoint("address-risk").unwrap(), &request, &Cancel::new()).unwrap().value();
        recompute(&file, &risk);
        gated += usize::from(risk["decision"]["gated"] == true);
        expanded += usize::from(!risk["dimensions"]["graph"]["edge"].is_null());
        behaved +=
            usize::from(risk["dimensions"]["behavior"]["behaviors"].as_array().is_some_and(|hits| !hits.is_empty()));
    }
    assert!(
        asked.len() >= ANSWERS && gated > 50 && expanded > 100 && behaved > 50,
        "{} {gated} {expanded} {behaved}",
        asked.len()
    );
}
