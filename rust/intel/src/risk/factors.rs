//! What a score is made of, in one list.

use headwater_ledger::labels::Dispute;
use headwater_types::Usd;

use super::behaviour::{BehaviourHit, BehaviourScore};
use super::composite::Composite;
use super::gates::{Gate, GateReason};
use super::graph::{CategoryExposure, ExposureWay, GraphScore};
use super::identity::IntelScore;
use super::shown::shown;
use crate::behaviour::{Behaviour, Detection, Fact};
use crate::label::Aggregate;

/// A part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Who the address is.
    Intel,
    /// What it did.
    Behavior,
    /// Whom it deals with.
    Graph,
}

impl Dimension {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Intel => "intel",
            Self::Behavior => "behavior",
            Self::Graph => "graph",
        }
    }
}

/// How context changed a factor.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Effect {
    /// It makes it graver.
    Amplify,
    /// It makes it lighter.
    Suppress,
    /// It leaves it as it is.
    AsIs,
}

impl Effect {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Amplify => "amplify",
            Self::Suppress => "suppress",
            Self::AsIs => "as_is",
        }
    }

    /// The effect of a weight.
    #[must_use]
    pub fn of(weight: f64) -> Self {
        if weight > 1.05 {
            Self::Amplify
        } else if weight < 0.95 {
            Self::Suppress
        } else {
            Self::AsIs
        }
    }
}

/// One reason for a score.
#[derive(Debug, Clone, PartialEq)]
pub struct Factor {
    /// The dimension.
    pub dimension: Dimension,
    /// The gate, label code, behaviour or category.
    pub code: String,
    /// What context did to it.
    pub effect: Effect,
    /// With the numbers, in a few words.
    pub detail: String,
    /// The weight of a behaviour in its context, the confidence of a label, the share of a category; `None` for a gate.
    pub weight: Option<f64>,
    /// Points of the score: those of all factors add up to it.
    pub points: f64,
    /// The dispute of a claim that the factor rests on.
    pub dispute: Option<Dispute>,
}

/// What a score was made from.
pub(super) struct Parts<'a> {
    pub score: f64,
    pub base: &'a Composite,
    pub gates: &'a [Gate],
    /// What the labels come to, and their score.
    pub labels: (&'a Aggregate<'a>, &'a IntelScore),
    pub behaviour: Option<&'a BehaviourScore>,
    pub graph: Option<&'a GraphScore>,
}

/// One factor for each gate, label family, behaviour and category of counterparties: most points first, then in this
/// order. The first of the highest gates carries what its floor adds.
pub(super) fn factors(of: &Parts<'_>) -> Vec<Factor> {
    let mut factors = Vec::new();
    let highest = of.gates.iter().map(|gate| gate.floor).fold(0.0, f64::max);
    let mut lift = of.score - of.base.score;
    for gate in of.gates {
        let is_edge = gate.reason == GateReason::DirectSanctionedEdge;
        let points = if gate.floor >= highest { std::mem::take(&mut lift) } else { 0.0 };
        factors.push(Factor {
            dimension: if is_edge { Dimension::Graph } else { Dimension::Intel },
            code: gate.reason.name().to_owned(),
            effect: Effect::AsIs,
            detail: format!("at least {}: {}{}", gate.floor, gate.detail, disputed(gate.dispute.as_ref())),
            weight: None,
            points,
            dispute: gate.dispute.clone(),
        });
    }
    let per_point = |points: f64, score: f64| if score > 0.0 { points / score } else { 0.0 };
    let (aggregate, intel) = of.labels;
    let scale = per_point(of.base.intel, intel.score);
    for share in intel.codes.iter().filter(|share| share.contribution > 0.0) {
        let dispute = aggregate.dispute_of(share.code).map(|dispute| dispute.to_owned());
        let (severity, confidence) = (share.severity, share.confidence);
        factors.push(Factor {
            dimension: Dimension::Intel,
            code: share.code.name().to_owned(),
            effect: Effect::AsIs,
            detail: format!(
                "severity {severity} with confidence {}{}",
                shown(confidence, 3),
                disputed(dispute.as_ref())
            ),
            weight: Some(confidence),
            points: share.contribution * scale,
            dispute,
        });
    }
    if let Some(behaviour) = of.behaviour {
        let scale = per_point(of.base.behaviour, behaviour.score);
        for hit in &behaviour.hits {
            factors.push(Factor {
                dimension: Dimension::Behavior,
                code: hit.behaviour.code().to_owned(),
                effect: hit.weight.map_or(Effect::AsIs, Effect::of),
                detail: how_marked(hit),
                weight: hit.weight,
                points: hit.contribution * scale,
                dispute: None,
            });
        }
    }
    if let Some(graph) = of.graph {
        let scale = per_point(of.base.graph, graph.score);
        for exposure in &graph.categories {
            factors.push(Factor {
                dimension: Dimension::Graph,
                code: exposure.category.name().to_owned(),
                effect: Effect::AsIs,
                detail: how_exposed(exposure),
                weight: Some(exposure.share),
                points: exposure.contribution * scale,
                dispute: exposure.dispute.clone(),
            });
        }
    }
    factors.sort_by(|one, other| other.points.total_cmp(&one.points));
    factors
}

/// How marked a behaviour is, in a few words.
fn how_marked(hit: &BehaviourHit) -> String {
    let Detection { intensity, occurrences, evidence, .. } = &hit.detection;
    if hit.behaviour == Behaviour::ScamPattern {
        let fact = |name: &str| evidence.facts.iter().find(|(of, _)| *of == name).map(|(_, fact)| fact);
        let ratio = |name: &str| match fact(name) {
            Some(Fact::Ratio(ratio)) => *ratio,
            Some(_) | None => 0.0,
        };
        return format!(
            "transfers like those of known scams: probability {}, {} after dividing the odds by {}",
            shown(ratio("probability"), 3),
            shown(*intensity, 3),
            ratio("odds")
        );
    }
    let times = if *occurrences == 1 { "once".to_owned() } else { format!("{occurrences} times") };
    format!("{times}, intensity {}, age counts {}", shown(*intensity, 2), shown(hit.recency, 2))
}

/// How large an exposure is, which direction counted, and what does not count in full.
fn how_exposed(of: &CategoryExposure) -> String {
    let direction = match of.way {
        ExposureWay::Both => "",
        ExposureWay::In => " received",
        ExposureWay::Out => " paid",
        ExposureWay::Forwarded => " paid, of money of many senders",
    };
    let mut words = vec![format!(
        "{} % of volume, {} US dollars{direction}",
        shown(100.0 * of.share, 2),
        shown(of.amount.to_f64(), 2)
    )];
    if of.taken > Usd::ZERO {
        words.push(format!("{:.2} of them in transactions that others sent", of.taken.to_f64()));
    }
    if of.is_before_listing {
        words.push(format!("before the listing, counted {}", of.factor));
    } else if of.before_listing > Usd::ZERO {
        words.push(format!("{:.2} of them before the listing", of.before_listing.to_f64()));
    }
    if of.way == ExposureWay::Out && !of.is_before_listing {
        words.push(format!("counted {}, for most who pay are victims", of.factor));
    }
    words.join("; ") + disputed(of.dispute.as_ref())
}

/// Says that a claim is disputed, behind the numbers of a factor.
fn disputed(dispute: Option<&Dispute>) -> &'static str {
    if dispute.is_some() { "; a claim behind it is disputed" } else { "" }
}
