//! The score of an address from all sides: labels, behaviours and counterparties together, with floors, and how much there
//! is to judge by.

use std::convert::Infallible;

use super::behaviour::{BehaviourScore, ClassView, ContextChoice};
use super::counterparties::GraphScore;
use super::factors::{Composite, Factor, FactorSources, factors};
use super::identity::{Gate, GateReason, IntelScore, is_benign, is_decisive, own_gates};
use super::parameters::Parameters;
use crate::behaviour::{Behaviour, Detection, Findings, History};
use crate::label::{Aggregate, CodeConfidence};

/// The knowledge of an address besides its labels.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'h> {
    /// Behaviours and counterparties are not judged on this chain.
    UnsupportedChain,
    /// They are, but the ledger holds nothing of the chain.
    DataUnavailable,
    /// They are; the history is empty where the address was never seen.
    Seen(Conduct<'h>),
}

/// The movements of an address, and what rules and classifier find in them.
#[derive(Debug, Clone, Copy)]
pub struct Conduct<'h> {
    /// Its movements.
    pub history: &'h History,
    /// The finds of the rules in them.
    pub findings: &'h Findings,
    /// The context and the likeness to scams of its class.
    pub class: &'h ClassView,
    /// True if the ledger lacks tables of the chain, so that movements may be missing.
    pub lacks_tables: bool,
}

impl Conduct<'_> {
    /// The finds of the rules, and the likeness to scams.
    fn found(&self) -> Vec<(Behaviour, Detection)> {
        let mut found = self.findings.found.clone();
        if let (Some(scam), Some((first, last))) = (&self.class.scam, self.history.span()) {
            let evidence = scam.evidence.clone();
            let (first, last) = (first.secs(), last.secs());
            let likeness = Detection { intensity: scam.likeness, occurrences: 1, first, last, evidence };
            found.push((Behaviour::ScamPattern, likeness));
        }
        found
    }
}

/// Looks at the counterparties of a history; `None` where that would cost too much.
pub type Counterparties<'c, E> = &'c mut dyn FnMut(&History) -> Result<Option<GraphScore>, E>;

/// The score of an address with its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// The sufficiency of the data, to be read before the score.
    pub sufficiency: Sufficiency,
    /// 0 to 100.
    pub score: f64,
    /// The score before floors, with the points of each dimension.
    pub base: Composite,
    /// The level of the score.
    pub level: Level,
    /// The score of its labels.
    pub intel: IntelScore,
    /// The score of its behaviours; `None` where they are not judged.
    pub behaviour: Option<BehaviourScore>,
    /// Behaviours whose rules could be evaluated.
    pub evaluated: Vec<Behaviour>,
    /// Behaviours whose rules could not.
    pub deferred: Vec<Behaviour>,
    /// The score of its counterparties; `None` where they were not looked at.
    pub graph: Option<GraphScore>,
    /// The reason why they were, or were not.
    pub expansion: Expansion,
    /// The open gates in order; the first gives the reason.
    pub gates: Vec<Gate>,
    /// The context in which its behaviours count.
    pub context: Option<ContextChoice>,
    /// The parts of the score, most points first.
    pub factors: Vec<Factor>,
}

/// The depth of an analysis.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AnalysisDepth {
    /// Labels alone.
    IntelOnly,
    /// Behaviours too.
    Point,
    /// Counterparties too.
    Edge,
}

impl Judgement {
    /// Returns the reason of the first open gate.
    #[must_use]
    pub fn gate(&self) -> Option<GateReason> {
        self.gates.first().map(|gate| gate.reason)
    }

    /// Returns how deep the analysis went.
    #[must_use]
    pub const fn depth(&self) -> AnalysisDepth {
        match (&self.behaviour, &self.graph) {
            (_, Some(_)) => AnalysisDepth::Edge,
            (Some(_), None) => AnalysisDepth::Point,
            (None, None) => AnalysisDepth::IntelOnly,
        }
    }
}

/// Judges an address by its labels alone.
#[must_use]
pub fn judge_labels(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Judgement {
    let judgement = judge::<Infallible>(parameters, aggregate, Subject::UnsupportedChain, &mut |_| Ok(None));
    judgement.unwrap_or_else(|never| match never {})
}

/// Judges an address by its labels, by what it did, and, where these do not decide, by its counterparties.
///
/// # Errors
/// Those of `counterparties`.
pub(super) fn judge<E>(
    parameters: &Parameters,
    aggregate: &Aggregate<'_>,
    subject: Subject<'_>,
    counterparties: Counterparties<'_, E>,
) -> Result<Judgement, E> {
    let mut gates = own_gates(parameters, aggregate);
    let intel = IntelScore::of(parameters, aggregate, !gates.is_empty());
    let is_trusted_by =
        |codes: &[CodeConfidence]| codes.iter().any(|code| is_benign(code.code) && is_decisive(parameters, code));
    let is_trusted = is_trusted_by(&aggregate.codes);
    let context = ContextChoice::of_labels(parameters, aggregate).or(match subject {
        Subject::Seen(conduct) => conduct.class.context,
        Subject::UnsupportedChain | Subject::DataUnavailable => None,
    });
    let (behaviour, evaluated, deferred) = match subject {
        Subject::UnsupportedChain | Subject::DataUnavailable => (None, Vec::new(), Vec::new()),
        Subject::Seen(conduct) => {
            let score = BehaviourScore::of(parameters, conduct.found(), context.as_ref(), conduct.history.head);
            let scam = conduct.class.scam.as_ref().map(|_| Behaviour::ScamPattern);
            let evaluated = conduct.findings.evaluated().chain(scam).collect();
            (Some(score), evaluated, conduct.findings.deferred.clone())
        }
    };
    let of_behaviour = behaviour.as_ref().map_or(0.0, |behaviour| behaviour.score);
    let provisional = Composite::of(parameters, intel.score, of_behaviour, 0.0, is_trusted);

    let is_decided = is_trusted && intel.codes.iter().all(|code| code.contribution == 0.0);
    let (mut expansion, mut graph) = (Expansion::Undecided, None);
    match subject {
        Subject::UnsupportedChain => expansion = Expansion::UnsupportedChain,
        Subject::DataUnavailable => expansion = Expansion::DataUnavailable,
        Subject::Seen(conduct) if conduct.history.all.is_empty() => expansion = Expansion::NoActivity,
        Subject::Seen(..) if !gates.is_empty() => expansion = Expansion::IntelGate,
        Subject::Seen(..) if is_decided => expansion = Expansion::IntelDecisive,
        Subject::Seen(..) if provisional.score >= parameters.graph.already_high => expansion = Expansion::AlreadyHigh,
        Subject::Seen(conduct) => {
            graph = counterparties(conduct.history)?;
            if graph.is_none() {
                expansion = Expansion::BudgetExhausted;
            }
        }
    }
    if !is_trusted_by(&aggregate.own_codes)
        && let Some(graph) = graph.as_ref().filter(|graph| graph.opens_gate)
    {
        let sanctioned = graph.risky.iter().find(|(neighbour, _)| neighbour.opens_gate(parameters));
        let detail = sanctioned.map_or_else(String::new, |(neighbour, _)| {
            format!("dealt with {}, which is under sanctions", neighbour.address)
        });
        let dispute = sanctioned.and_then(|(neighbour, _)| neighbour.dispute.clone());
        let floor = parameters.gates.direct_sanctioned_edge;
        gates.push(Gate { reason: GateReason::DirectSanctionedEdge, floor, detail, dispute });
    }
    let of_graph = graph.as_ref().map_or(0.0, |graph| graph.score);
    let base = Composite::of(parameters, intel.score, of_behaviour, of_graph, is_trusted);
    let score = gates.iter().map(|gate| gate.floor).fold(base.score, f64::max);
    let (of_behaviour, of_graph) = (behaviour.as_ref(), graph.as_ref());
    let sources = FactorSources {
        score,
        base: &base,
        gates: &gates,
        labels: (aggregate, &intel),
        behaviour: of_behaviour,
        graph: of_graph,
    };
    let factors = factors(&sources);
    let history = match subject {
        Subject::Seen(conduct) => Some((conduct.history, conduct.lacks_tables)),
        Subject::UnsupportedChain | Subject::DataUnavailable => None,
    };
    let sufficiency = Sufficiency::of(&SufficiencyBasis {
        labels: aggregate,
        gates: &gates,
        history,
        behaviour: of_behaviour,
        deferred: &deferred,
        graph: of_graph,
        expansion,
    });
    Ok(Judgement {
        sufficiency,
        score,
        base,
        // As shown: a score of 69.996 is one of 70.
        level: Level::of(parameters, (100.0 * score).round_ties_even() / 100.0),
        intel,
        behaviour,
        evaluated,
        deferred,
        graph,
        expansion,
        gates,
        context,
        factors,
    })
}

/// The level of a score.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Below `levels.medium`.
    Low,
    /// From there on.
    Medium,
    /// From `levels.high` on.
    High,
}

impl Level {
    /// The level of a score.
    #[must_use]
    pub fn of(parameters: &Parameters, score: f64) -> Self {
        if score >= parameters.levels.high {
            Self::High
        } else if score >= parameters.levels.medium {
            Self::Medium
        } else {
            Self::Low
        }
    }

    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// The reason why counterparties were looked at, or were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Expansion {
    /// They were: labels and behaviours do not decide.
    Undecided,
    /// A gate is open already.
    IntelGate,
    /// The address is a trusted service.
    IntelDecisive,
    /// The score is high already.
    AlreadyHigh,
    /// The address did nothing.
    NoActivity,
    /// The chain has no counterparties here.
    UnsupportedChain,
    /// The ledger holds nothing of the chain.
    DataUnavailable,
    /// It would have cost too much.
    BudgetExhausted,
}

impl Expansion {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::IntelGate => "intel_gate",
            Self::IntelDecisive => "intel_decisive",
            Self::AlreadyHigh => "already_high",
            Self::NoActivity => "no_activity",
            Self::UnsupportedChain => "unsupported_chain",
            Self::DataUnavailable => "data_unavailable",
            Self::BudgetExhausted => "budget_exhausted",
        }
    }

    /// Returns true if counterparties could not be looked at, where they might have counted.
    const fn is_missing(self) -> bool {
        match self {
            Self::NoActivity | Self::UnsupportedChain | Self::DataUnavailable | Self::BudgetExhausted => true,
            Self::Undecided | Self::IntelGate | Self::IntelDecisive | Self::AlreadyHigh => false,
        }
    }
}

/// A claim above this confidence is something to judge by.
const MIN_CONFIDENCE: f64 = 0.2;
/// With fewer valued transfers there is little to judge by.
const MIN_TRANSFERS: usize = 5;

/// The level of the data on an address.
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

/// Something that is missing.
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

/// The sufficiency of the data on an address, and its gaps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sufficiency {
    /// The level.
    pub level: SufficiencyLevel,
    /// The reasons, in the order of [`SufficiencyReason`]; empty if nothing is missing.
    pub reasons: Vec<SufficiencyReason>,
}

/// The evidence by which an address is judged.
struct SufficiencyBasis<'a> {
    labels: &'a Aggregate<'a>,
    gates: &'a [Gate],
    /// The history, and whether the ledger lacks tables of the chain.
    history: Option<(&'a History, bool)>,
    behaviour: Option<&'a BehaviourScore>,
    deferred: &'a [Behaviour],
    graph: Option<&'a GraphScore>,
    expansion: Expansion,
}

impl Sufficiency {
    /// Judges the data.
    ///
    /// `Insufficient`: no claim above 0.2, no gate, no find, no risky counterparty, and no behaviours, or fewer than five
    /// valued transfers, or two thirds of the rules deferred. `Partial`: otherwise, where something is missing.
    fn of(evidence: &SufficiencyBasis<'_>) -> Self {
        let &SufficiencyBasis { labels, gates, history, behaviour, deferred, graph, expansion } = evidence;
        let is_known = labels.sources.iter().any(|source| source.confidence > MIN_CONFIDENCE)
            || !gates.is_empty()
            || behaviour.is_some_and(|behaviour| behaviour.found().next().is_some())
            || graph.is_some_and(|graph| graph.hit > 0);
        let has_few = history.is_some_and(|(history, _)| history.valued.len() < MIN_TRANSFERS);
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
