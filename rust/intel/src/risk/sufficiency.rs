//! Whether there is enough data to judge an address at all.

use super::behaviour::BehaviourScore;
use super::expansion::Expansion;
use super::gates::Gate;
use super::graph::GraphScore;
use crate::behaviour::{Behaviour, History};
use crate::label::Aggregate;

/// A claim above this confidence is something to judge by.
const LEAST_CONFIDENCE: f64 = 0.2;
/// With fewer valued transfers there is little to judge by.
const LEAST_TRANSFERS: usize = 5;

/// How much there is to judge an address by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SufficiencyLevel {
    /// All dimensions, by all rules, over the whole history.
    Full,
    /// Something is missing.
    Partial,
    /// So little that a low score says nothing.
    Insufficient,
}

impl SufficiencyLevel {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Partial => "partial",
            Self::Insufficient => "insufficient",
        }
    }
}

/// What is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SufficiencyReason {
    /// Behaviours are not judged: the chain has no rules, or the ledger has nothing of it.
    BehaviorUnavailable,
    /// The address has fewer than five valued transfers.
    FewTransfers,
    /// Rules could not be decided.
    RulesDeferred,
    /// Counterparties could not be looked at. Where labels or the score decide without them, nothing is missing.
    GraphUnavailable,
    /// Older movements, counterparties, or tables of the chain were left out.
    HistoryIncomplete,
}

impl SufficiencyReason {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::BehaviorUnavailable => "behavior_unavailable",
            Self::FewTransfers => "few_transfers",
            Self::RulesDeferred => "rules_deferred",
            Self::GraphUnavailable => "graph_unavailable",
            Self::HistoryIncomplete => "history_incomplete",
        }
    }
}

/// How much there is to judge an address by, and what is missing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sufficiency {
    /// How much.
    pub level: SufficiencyLevel,
    /// What is missing, in the order of [`SufficiencyReason`]; empty where nothing is.
    pub reasons: Vec<SufficiencyReason>,
}

/// What an address is judged by.
pub(super) struct Basis<'a> {
    pub labels: &'a Aggregate<'a>,
    pub gates: &'a [Gate],
    /// The history, and whether the ledger lacks tables of the chain.
    pub history: Option<(&'a History, bool)>,
    pub behaviour: Option<&'a BehaviourScore>,
    pub deferred: &'a [Behaviour],
    pub graph: Option<&'a GraphScore>,
    pub expansion: Expansion,
}

impl Sufficiency {
    /// Judges the data.
    ///
    /// `Insufficient`: no claim above 0.2, no gate, no find, no risky counterparty, and no behaviours, or fewer than five
    /// valued transfers, or two thirds of the rules deferred. `Partial`: otherwise, where something is missing.
    pub(super) fn of(basis: &Basis<'_>) -> Self {
        let &Basis { labels, gates, history, behaviour, deferred, graph, expansion } = basis;
        let is_known = labels.sources.iter().any(|source| source.confidence > LEAST_CONFIDENCE)
            || !gates.is_empty()
            || behaviour.is_some_and(|behaviour| behaviour.found().next().is_some())
            || graph.is_some_and(|graph| graph.hit > 0);
        let has_few = history.is_some_and(|(history, _)| history.valued.len() < LEAST_TRANSFERS);
        let is_bare = behaviour.is_none() || has_few || 3 * deferred.len() >= 2 * Behaviour::ALL.len();
        let is_insufficient = !is_known && is_bare;
        let is_cut = graph.is_some_and(|graph| graph.screened < graph.total);
        let is_incomplete =
            history.is_some_and(|(history, lacks_tables)| lacks_tables || history.is_truncated) || is_cut;
        let reasons = [
            (behaviour.is_none(), SufficiencyReason::BehaviorUnavailable),
            (is_insufficient && has_few, SufficiencyReason::FewTransfers),
            (!deferred.is_empty(), SufficiencyReason::RulesDeferred),
            (graph.is_none() && expansion.is_missing(), SufficiencyReason::GraphUnavailable),
            (is_incomplete, SufficiencyReason::HistoryIncomplete),
        ];
        let reasons: Vec<_> = reasons.into_iter().filter(|(holds, _)| *holds).map(|(_, reason)| reason).collect();
        let level = match (is_insufficient, reasons.is_empty()) {
            (true, _) => SufficiencyLevel::Insufficient,
            (false, false) => SufficiencyLevel::Partial,
            (false, true) => SufficiencyLevel::Full,
        };
        Self { level, reasons }
    }
}
