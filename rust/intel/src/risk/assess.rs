//! One address from all sides.

use super::behaviour::BehaviourScore;
use super::composite::{Composite, Level};
use super::context::ContextChoice;
use super::factors::{Factor, Parts, factors};
use super::gates::{Gate, GateReason, is_decisive, own};
use super::graph::GraphScore;
use super::identity::{IntelScore, is_benign};
use super::parameters::Parameters;
use crate::behaviour::{Behaviour, Findings, History};
use crate::label::{Aggregate, CodeConfidence};

/// What is known of an address besides its labels.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'h> {
    /// Behaviours and counterparties are not judged on this chain.
    UnsupportedChain,
    /// They are, but the ledger holds nothing of the chain.
    DataUnavailable,
    /// What it did, empty where it was never seen, and what the rules of behaviours make of it.
    Seen(&'h History, &'h Findings),
}

/// Looks at the counterparties of a history; `None` where that would cost too much.
pub type Counterparties<'c, E> = &'c mut dyn FnMut(&History) -> Result<Option<GraphScore>, E>;

/// Whether counterparties were looked at, and why.
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
}

/// How risky an address is, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// 0 to 100.
    pub score: f64,
    /// The score before floors, with the points of each dimension.
    pub base: Composite,
    /// The level of the score.
    pub level: Level,
    /// Who the address is.
    pub intel: IntelScore,
    /// What it did; `None` where that cannot be told.
    pub behaviour: Option<BehaviourScore>,
    /// Behaviours whose rules could be evaluated.
    pub evaluated: Vec<Behaviour>,
    /// Behaviours whose rules could not.
    pub deferred: Vec<Behaviour>,
    /// Whom it deals with; `None` where counterparties were not looked at.
    pub graph: Option<GraphScore>,
    /// Why they were, or were not.
    pub expansion: Expansion,
    /// The open gates in order; the first gives the reason.
    pub gates: Vec<Gate>,
    /// Who it was taken for.
    pub context: Option<ContextChoice>,
    /// What the score is made of, most points first.
    pub factors: Vec<Factor>,
}

/// Assesses an address by its labels, by what it did, and, where these do not decide, by its counterparties.
///
/// `class` is the context of a classification by behaviour: it stands where no label gives one.
///
/// # Errors
/// Those of `counterparties`.
pub fn assess<E>(
    parameters: &Parameters,
    aggregate: &Aggregate<'_>,
    subject: Subject<'_>,
    class: Option<ContextChoice>,
    counterparties: Counterparties<'_, E>,
) -> Result<Assessment, E> {
    let mut gates = own(parameters, aggregate);
    let intel = IntelScore::of(parameters, aggregate, !gates.is_empty());
    let is_trusted_by =
        |codes: &[CodeConfidence]| codes.iter().any(|code| is_benign(code.code) && is_decisive(parameters, code));
    let is_trusted = is_trusted_by(&aggregate.codes);
    let context = ContextChoice::of_labels(parameters, aggregate).or(class);
    let (behaviour, evaluated, deferred) = match subject {
        Subject::UnsupportedChain | Subject::DataUnavailable => (None, Vec::new(), Vec::new()),
        Subject::Seen(history, findings) => {
            let score = BehaviourScore::of(parameters, findings.found.clone(), context.as_ref(), history.head);
            (Some(score), findings.evaluated().collect(), findings.deferred.clone())
        }
    };
    let of_behaviour = behaviour.as_ref().map_or(0.0, |behaviour| behaviour.score);
    let provisional = Composite::of(parameters, intel.score, of_behaviour, 0.0, is_trusted);

    let is_decided = is_trusted && intel.codes.iter().all(|code| code.contribution == 0.0);
    let (mut expansion, mut graph) = (Expansion::Undecided, None);
    match subject {
        Subject::UnsupportedChain => expansion = Expansion::UnsupportedChain,
        Subject::DataUnavailable => expansion = Expansion::DataUnavailable,
        Subject::Seen(history, _) if history.all.is_empty() => expansion = Expansion::NoActivity,
        Subject::Seen(..) if !gates.is_empty() => expansion = Expansion::IntelGate,
        Subject::Seen(..) if is_decided => expansion = Expansion::IntelDecisive,
        Subject::Seen(..) if provisional.score >= parameters.graph.already_high => expansion = Expansion::AlreadyHigh,
        Subject::Seen(history, _) => {
            graph = counterparties(history)?;
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
    let parts = Parts {
        score,
        base: &base,
        gates: &gates,
        labels: (aggregate, &intel),
        behaviour: of_behaviour,
        graph: of_graph,
    };
    let factors = factors(&parts);
    Ok(Assessment {
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
