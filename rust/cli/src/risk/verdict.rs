//! The verdict of a risk: level, score and the first reason, or what is missing for one.

use headwater_engine::endpoints::address_risk_batch::RiskResult;
use headwater_engine::risk::{
    AssessmentName, AssessmentReasonName, DimensionName, FactorRecord, GraphReason, LevelName, RiskDimensions,
    RiskMeta, RiskReport,
};
use headwater_intel::behaviour::Behaviour;
use headwater_intel::risk::shown as digits;

use crate::output::grouped;

/// The parts of an assessment that the verdict rests on.
pub(super) struct RiskVerdict<'r> {
    score: f64,
    level: LevelName,
    dimensions: &'r RiskDimensions,
    factors: &'r [FactorRecord],
    meta: &'r RiskMeta,
}

impl<'r> RiskVerdict<'r> {
    pub fn of_report(report: &'r RiskReport) -> Self {
        let RiskReport { composite_score: score, risk_level: level, dimensions, factors, meta, .. } = report;
        Self { score: *score, level: *level, dimensions, factors, meta }
    }

    /// Returns the parts of one result of several; `None` for one with an error.
    pub fn of_result(result: &'r RiskResult) -> Option<Self> {
        Some(Self {
            score: result.composite_score?,
            level: result.risk_level?,
            dimensions: result.dimensions.as_ref()?,
            factors: result.factors.as_ref()?,
            meta: result.meta.as_ref()?,
        })
    }

    /// Returns the level with its score, or that there is not enough data.
    pub fn level(&self) -> String {
        if self.is_insufficient() {
            return "not enough data to judge".to_owned();
        }
        format!("{}, {} of 100", self.level.name(), digits(self.score, 2))
    }

    /// Returns a word for counting: the level, or that there is not enough data.
    pub fn kind(&self) -> &'static str {
        if self.is_insufficient() { "not enough data to judge" } else { self.level.name() }
    }

    fn is_insufficient(&self) -> bool {
        self.meta.assessment == AssessmentName::Insufficient
    }

    /// Returns the first reason for the level; without enough data what is missing, with the remedy.
    pub fn reason(&self) -> String {
        if self.is_insufficient() {
            return self.missing().join("; ");
        }
        let is_low = self.level == LevelName::Low;
        match self.factors.iter().find(|factor| is_gate(factor)).or_else(|| self.factors.first()) {
            // A small probability does not accuse anybody.
            Some(factor) if is_low && Behaviour::from_code(&factor.code) == Some(Behaviour::ScamPattern) => {
                "little is held against the address".to_owned()
            }
            Some(factor) if is_low => {
                format!("most points: {}", self.factor(factor))
            }
            Some(factor) => self.factor(factor),
            None if self.meta.assessment == AssessmentName::Full => "nothing is held against the address".to_owned(),
            None => "nothing was found in the part that could be judged".to_owned(),
        }
    }

    fn factor(&self, factor: &FactorRecord) -> String {
        let detail = factor.detail.as_deref().unwrap_or_default();
        // Floors say first how high they are.
        let detail = if is_gate(factor) { detail.split_once(": ").map_or(detail, |(_, rest)| rest) } else { detail };
        let entity = self.dimensions.intel.entity.as_deref().filter(|name| **name != *factor.code);
        let words = match (&*factor.code, factor.dimension) {
            ("direct_sanctioned_edge", _) => self.sanctioned_counterparty().unwrap_or_else(|| detail.to_owned()),
            ("ofac_sanctioned", _) => match entity.filter(|name| *name != "sanction") {
                Some(name) => format!("is under sanctions as {name}, {detail}"),
                None => format!("is under sanctions, {detail}"),
            },
            (_, DimensionName::Intel) if is_gate(factor) => format!("is {detail}"),
            (code, DimensionName::Intel) => format!("is labelled {code}, {detail}"),
            (code, DimensionName::Behavior) => match Behaviour::from_code(code) {
                // Its detail names the pattern, and that it is a probability.
                Some(Behaviour::ScamPattern) | None => detail.to_owned(),
                Some(behaviour) => format!("{}: {detail}", behaviour.name()),
            },
            (code, DimensionName::Graph) => format!("deals with addresses of the category {code}, {detail}"),
        };
        let inherited = if factor.inherited_through.is_empty() { "" } else { " (inherited through its cluster)" };
        let disputed = if factor.disputed.is_some() { " (disputed)" } else { "" };
        format!("{words}{inherited}{disputed}")
    }

    /// Names the counterparty under sanctions that the floor is about.
    fn sanctioned_counterparty(&self) -> Option<String> {
        let risky = &self.dimensions.graph.edge.as_ref()?.risky_neighbors;
        let one = risky.iter().find(|neighbor| neighbor.sanctioned)?;
        let who = one.entity_name.as_deref().unwrap_or(&one.address);
        Some(format!("deals with {who}, which is under sanctions"))
    }

    /// Lists what is missing for a judgement, with the command that adds it.
    fn missing(&self) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        for reason in &self.meta.assessment_reasons {
            let part = self.remedy(*reason);
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts
    }

    fn remedy(&self, reason: AssessmentReasonName) -> String {
        let transfers = self.dimensions.behavior.as_ref().map_or(0, |behavior| behavior.data_window.tx_count);
        let no_transfers = "no transfer of the address is held: headwater ingest PATH";
        let no_prices = "its transfers have no prices: headwater prices import FILE";
        match (reason, self.meta.graph_reason) {
            (_, GraphReason::DataUnavailable) => "no transfers of the chain are held: headwater ingest PATH".to_owned(),
            (AssessmentReasonName::BehaviorUnavailable | AssessmentReasonName::GraphUnavailable, reason) => match reason
            {
                GraphReason::NoActivity => no_transfers.to_owned(),
                GraphReason::UnsupportedChain => {
                    "no list names the address, and behaviours and counterparties are judged on ethereum and tron only"
                        .to_owned()
                }
                reason => skipped(reason).to_owned(),
            },
            (AssessmentReasonName::FewTransfers | AssessmentReasonName::RulesDeferred, GraphReason::NoActivity) => {
                no_transfers.to_owned()
            }
            (AssessmentReasonName::FewTransfers, _) if transfers < MIN_TRANSFERS => match transfers {
                0 => no_transfers.to_owned(),
                1 => "only 1 transfer of the address is held: headwater ingest PATH adds others".to_owned(),
                several => {
                    let several = grouped(several);
                    format!("only {several} transfers of the address are held: headwater ingest PATH adds others")
                }
            },
            (AssessmentReasonName::FewTransfers | AssessmentReasonName::RulesDeferred, _) => no_prices.to_owned(),
            (AssessmentReasonName::HistoryIncomplete, GraphReason::NoActivity) => no_transfers.to_owned(),
            (AssessmentReasonName::HistoryIncomplete, _) => {
                "a part of its history is missing: headwater ingest PATH adds it".to_owned()
            }
        }
    }
}

/// Describes why counterparties, or behaviours too, were not assessed.
pub(super) fn skipped(reason: GraphReason) -> &'static str {
    match reason {
        GraphReason::IntelGate => "not looked at: the labels decide already",
        GraphReason::IntelDecisive => "not looked at: the address is a trusted service",
        GraphReason::AlreadyHigh => "not looked at: the score is high without them",
        GraphReason::NoActivity => "not looked at: the address was never seen on the chain",
        GraphReason::UnsupportedChain => "not judged on this chain, only on ethereum and tron",
        GraphReason::DataUnavailable => "not judged: the store has no data of the chain",
        GraphReason::BudgetExhausted => "not looked at: that would take too long",
        GraphReason::Undecided => "not looked at",
    }
}

/// Returns whether a factor represents a floor.
pub(super) fn is_gate(factor: &FactorRecord) -> bool {
    matches!(&*factor.code, "ofac_sanctioned" | "confirmed_illicit" | "direct_sanctioned_edge")
}

/// Valued transfers from which a score can rest on behaviours.
const MIN_TRANSFERS: u64 = 5;
