//! All dimensions together: the composite score, its factors in one list, and numbers as answers show them.

use headwater_ledger::labels::Dispute;
use headwater_types::Usd;

use super::behaviour::{BehaviourHit, BehaviourScore};
use super::counterparties::{CategoryExposure, ExposureWay, GraphScore};
use super::identity::{Gate, GateReason, IntelScore};
use super::parameters::Parameters;
use super::{MAX_PROBABILITY, split};
use crate::behaviour::{Behaviour, Detection, Fact};
use crate::bitcoin::links::InheritedLink;
use crate::label::Aggregate;

/// The score of all dimensions before floors, and the points of each.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Composite {
    /// 0 to 100.
    pub score: f64,
    /// Points of the labels.
    pub intel: f64,
    /// Points of the behaviours.
    pub behaviour: f64,
    /// Points of the counterparties.
    pub graph: f64,
}

impl Composite {
    /// `100 · (1 - (1 - I) · (1 - 0.60 · B) · (1 - 0.85 · G))` over scores by 100; a dimension that is missing is 0.
    #[must_use]
    pub fn of(parameters: &Parameters, intel: f64, behaviour: f64, graph: f64, is_trusted: bool) -> Self {
        let of = &parameters.composite;
        let trust = if is_trusted { of.trusted_service } else { 1.0 };
        let parts = [intel / 100.0, of.behaviour * behaviour / 100.0, of.graph * graph / 100.0 * trust];
        let parts = parts.map(|part| part.clamp(0.0, 1.0));
        let score = 100.0 * (1.0 - parts.iter().map(|part| 1.0 - part).product::<f64>());
        let points = split(score, &parts.map(|part| part.min(MAX_PROBABILITY)));
        Self { score, intel: points[0], behaviour: points[1], graph: points[2] }
    }
}

/// A part of the score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dimension {
    /// Labels.
    Intel,
    /// Behaviours.
    Behavior,
    /// Counterparties.
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

/// The change of a factor by the context.
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
    /// The change by the context.
    pub effect: Effect,
    /// With the numbers, in a few words.
    pub detail: String,
    /// The weight of a behaviour in its context, the confidence of a label, the share of a category; `None` for a gate.
    pub weight: Option<f64>,
    /// Points of the score: those of all factors add up to it.
    pub points: f64,
    /// The dispute of a claim that the factor rests on.
    pub dispute: Option<Dispute>,
    /// For a label code of an explained assessment: the links to those addresses of its cluster whose claims it inherits.
    pub inherited: Vec<InheritedLink>,
}

/// The sources of the factors of a score.
pub(super) struct FactorSources<'a> {
    pub score: f64,
    pub base: &'a Composite,
    pub gates: &'a [Gate],
    /// The labels, and their score.
    pub labels: (&'a Aggregate<'a>, &'a IntelScore),
    pub behaviour: Option<&'a BehaviourScore>,
    pub graph: Option<&'a GraphScore>,
}

/// One factor for each gate, label family, behaviour and category of counterparties: most points first, then in this
/// order. The first of the highest gates carries what its floor adds.
pub(super) fn factors(of: &FactorSources<'_>) -> Vec<Factor> {
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
            inherited: Vec::new(),
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
            inherited: Vec::new(),
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
                inherited: Vec::new(),
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
                inherited: Vec::new(),
            });
        }
    }
    factors.sort_by(|one, other| other.points.total_cmp(&one.points));
    factors
}

/// Describes in a few words how marked a behaviour is.
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

/// Describes in a few words how large an exposure is, its direction, and what does not count in full.
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

/// Rounds to so many decimals, half to even. A number that would become zero keeps two significant digits: what earns points
/// is never shown as nothing.
///
/// ```
/// use headwater_intel::risk::significant;
/// assert_eq!([12.345, 0.0049, 0.0].map(|value| significant(value, 2)), [12.34, 0.0049, 0.0]);
/// assert_eq!(significant(0.000_123_456, 2), 0.000_12);
/// ```
#[must_use]
pub fn significant(value: f64, decimals: i32) -> f64 {
    let unit = 10_f64.powi(decimals);
    // Adding zero turns minus zero into zero.
    let rounded = (value * unit).round_ties_even() / unit + 0.0;
    if rounded != 0.0 || value == 0.0 {
        return rounded;
    }
    format!("{value:.1e}").parse().unwrap_or(value)
}

/// Writes a number with so many decimals, or with more where it would read as zero.
///
/// ```
/// use headwater_intel::risk::shown;
/// assert_eq!([12.3, 0.0049, 0.0].map(|value| shown(value, 2)), ["12.30", "0.0049", "0.00"]);
/// ```
#[must_use]
pub fn shown(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    if value == 0.0 || text.contains(|of: char| ('1'..='9').contains(&of)) {
        return text;
    }
    significant(value, i32::try_from(decimals).unwrap_or(i32::MAX)).to_string()
}
