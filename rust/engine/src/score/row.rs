//! Rows of scores.

use headwater_intel::behaviour::Behaviour;
use headwater_intel::classify::Verdict;
use headwater_intel::risk::{Assessment, BehaviourScore, GateReason};
use headwater_ledger::labels::Code;

use crate::risk::{rounded, score};

/// The scores of one address.
#[derive(Debug, Clone, PartialEq)]
pub struct ScoreRow {
    /// The address, canonical; as it was written where it is not one of the chain; `None` where it is missing.
    pub address: Option<String>,
    /// The risk; `None` where it was not asked for, or the address failed.
    pub risk: Option<RiskScore>,
    /// The class; `None` also without transfers.
    pub class: Option<ClassScore>,
    /// The features in their order, NaN where one has no meaning; `None` also without transfers.
    pub features: Option<Vec<f64>>,
    /// The reason if something is missing.
    pub error: Option<String>,
}

impl ScoreRow {
    pub(super) const fn of(address: String) -> Self {
        Self { address: Some(address), risk: None, class: None, features: None, error: None }
    }

    pub(super) const fn failed(address: Option<String>, error: String) -> Self {
        Self { address, risk: None, class: None, features: None, error: Some(error) }
    }
}

/// The risk of an address in short.
#[derive(Debug, Clone, PartialEq)]
pub struct RiskScore {
    /// The sufficiency of the data: `full`, `partial` or `insufficient`.
    pub assessment: &'static str,
    /// The reasons of a level other than `full`.
    pub assessment_reasons: Vec<&'static str>,
    /// 0 to 100, two decimals.
    pub score: f64,
    /// `low`, `medium` or `high`.
    pub level: &'static str,
    /// The gate that set the least score.
    pub gate: Option<&'static str>,
    /// The context in which behaviours count.
    pub context: Option<&'static str>,
    /// The part of labels, 0 to 100.
    pub intel: f64,
    /// The part of behaviours; `None` where they cannot be judged.
    pub behaviour: Option<f64>,
    /// The part of counterparties; `None` where they were not looked at.
    pub graph: Option<f64>,
    /// The codes of the behaviours that were found, in the order of the catalogue.
    pub behaviours: Vec<&'static str>,
    /// The codes of its labels that rest on a disputed claim, most confident first.
    pub disputed: Vec<&'static str>,
}

impl From<&Assessment<'_>> for RiskScore {
    fn from(Assessment { judgement: of, labels, .. }: &Assessment<'_>) -> Self {
        let mut found: Vec<_> = of.behaviour.iter().flat_map(BehaviourScore::found).map(|hit| hit.behaviour).collect();
        found.sort_unstable();
        let codes = labels.codes.iter().map(|of| of.code);
        Self {
            assessment: of.sufficiency.level.name(),
            assessment_reasons: of.sufficiency.reasons.iter().map(|reason| reason.name()).collect(),
            score: rounded(of.score, 2),
            level: of.level.name(),
            gate: of.gate().map(GateReason::name),
            context: of.context.map(|choice| choice.context.name()),
            intel: score(of.intel.score),
            behaviour: of.behaviour.as_ref().map(|behaviour| score(behaviour.score)),
            graph: of.graph.as_ref().map(|graph| score(graph.score)),
            behaviours: found.into_iter().map(Behaviour::code).collect(),
            disputed: codes.filter(|code| labels.dispute_of(*code).is_some()).map(Code::name).collect(),
        }
    }
}

/// The class of an address in short.
#[derive(Debug, Clone, PartialEq)]
pub struct ClassScore {
    /// The class.
    pub class: String,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// The probability of each class of the model.
    pub probabilities: Vec<f64>,
}

impl From<Verdict> for ClassScore {
    fn from(verdict: Verdict) -> Self {
        let Verdict { class, confidence, probabilities } = verdict;
        Self { class, confidence, probabilities }
    }
}
