//! One address from all sides.

use std::convert::Infallible;

use super::behaviour::BehaviourScore;
use super::class::ClassView;
use super::composite::{Composite, Level};
use super::context::ContextChoice;
use super::expansion::Expansion;
use super::factors::{Factor, Parts, factors};
use super::gates::{Gate, GateReason, is_decisive, own};
use super::graph::GraphScore;
use super::identity::{IntelScore, is_benign};
use super::parameters::Parameters;
use super::sufficiency::{Basis, Sufficiency};
use crate::behaviour::{Behaviour, Detection, Findings, History};
use crate::label::{Aggregate, CodeConfidence};

/// What is known of an address besides its labels.
#[derive(Debug, Clone, Copy)]
pub enum Subject<'h> {
    /// Behaviours and counterparties are not judged on this chain.
    UnsupportedChain,
    /// They are, but the ledger holds nothing of the chain.
    DataUnavailable,
    /// They are; the history is empty where the address was never seen.
    Seen(Conduct<'h>),
}

/// What an address did.
#[derive(Debug, Clone, Copy)]
pub struct Conduct<'h> {
    /// Its movements.
    pub history: &'h History,
    /// What the rules find in them.
    pub findings: &'h Findings,
    /// What its class adds.
    pub class: &'h ClassView,
    /// Whether the ledger lacks tables of the chain, so that movements may be missing.
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

/// How risky an address is, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct Assessment {
    /// How much there is to judge by, to be read before the score.
    pub sufficiency: Sufficiency,
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

/// Assesses an address by its labels alone: what they come to before anything else is known.
#[must_use]
pub fn of_labels(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Assessment {
    let assessed = assess::<Infallible>(parameters, aggregate, Subject::UnsupportedChain, &mut |_| Ok(None));
    assessed.unwrap_or_else(|never| match never {})
}

/// Assesses an address by its labels, by what it did, and, where these do not decide, by its counterparties.
///
/// # Errors
/// Those of `counterparties`.
pub(super) fn assess<E>(
    parameters: &Parameters,
    aggregate: &Aggregate<'_>,
    subject: Subject<'_>,
    counterparties: Counterparties<'_, E>,
) -> Result<Assessment, E> {
    let mut gates = own(parameters, aggregate);
    let intel = IntelScore::of(parameters, aggregate, !gates.is_empty());
    let is_trusted_by =
        |codes: &[CodeConfidence]| codes.iter().any(|code| is_benign(code.code) && is_decisive(parameters, code));
    let is_trusted = is_trusted_by(&aggregate.codes);
    let context = ContextChoice::of_labels(parameters, aggregate).or_else(|| match subject {
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
    let parts = Parts {
        score,
        base: &base,
        gates: &gates,
        labels: (aggregate, &intel),
        behaviour: of_behaviour,
        graph: of_graph,
    };
    let factors = factors(&parts);
    let history = match subject {
        Subject::Seen(conduct) => Some((conduct.history, conduct.lacks_tables)),
        Subject::UnsupportedChain | Subject::DataUnavailable => None,
    };
    let sufficiency = Sufficiency::of(&Basis {
        labels: aggregate,
        gates: &gates,
        history,
        behaviour: of_behaviour,
        deferred: &deferred,
        graph: of_graph,
        expansion,
    });
    Ok(Assessment {
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
