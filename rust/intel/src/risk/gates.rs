//! Floors that no other evidence may dilute.

use headwater_ledger::labels::{Category, Code, Dispute};

use super::identity::is_benign;
use super::parameters::Parameters;
use crate::label::{Aggregate, CodeConfidence, SourceClaim};

/// Why a floor holds; the names are those of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GateReason {
    /// The address itself is under sanctions, of whatever authority.
    OfacSanctioned,
    /// The address itself is known as illicit.
    ConfirmedIllicit,
    /// The address deals with one under sanctions.
    DirectSanctionedEdge,
}

impl GateReason {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::OfacSanctioned => "ofac_sanctioned",
            Self::ConfirmedIllicit => "confirmed_illicit",
            Self::DirectSanctionedEdge => "direct_sanctioned_edge",
        }
    }
}

/// An open gate.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// Why.
    pub reason: GateReason,
    /// The least score.
    pub floor: f64,
    /// What opened it, in a few words.
    pub detail: String,
    /// The dispute of a claim that helped to open it.
    pub dispute: Option<Dispute>,
}

/// Whether labels that name an address itself say that it is under sanctions.
pub(super) fn is_sanctioned(parameters: &Parameters, aggregate: &Aggregate<'_>) -> bool {
    aggregate.of_own(Code::Sanction) >= parameters.gates.sanction_confidence
}

/// The gates that the labels of an address open, in order. Inherited claims open none, and close none.
pub(super) fn own(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Vec<Gate> {
    let mut gates = Vec::new();
    if is_sanctioned(parameters, aggregate) {
        let is_listing =
            |source: &&SourceClaim<'_>| source.claim.code == Some(Code::Sanction) && source.claim.link.is_exact();
        let claims = aggregate.sources.iter().filter(is_listing);
        let mut lists: Vec<_> =
            claims.filter(|source| source.confidence > 0.0).map(|source| source.claim.source).collect();
        lists.sort_unstable();
        lists.dedup();
        let detail = format!("listed by {} with confidence {:.3}", lists.join(", "), aggregate.of_own(Code::Sanction));
        let floor = parameters.gates.ofac_sanctioned;
        let dispute = aggregate.dispute_of_own(Code::Sanction).map(|dispute| dispute.to_owned());
        gates.push(Gate { reason: GateReason::OfacSanctioned, floor, detail, dispute });
    }
    let own = &aggregate.own_codes;
    let benign = own.iter().filter(|code| is_benign(code.code)).map(|code| code.confidence).fold(0.0, f64::max);
    let illicit = own.iter().filter(|code| is_illicit(code.code) && is_decisive(parameters, code));
    if let Some(worst) =
        illicit.max_by(|one, other| one.confidence.total_cmp(&other.confidence).then(other.code.cmp(&one.code)))
        && worst.confidence > benign
    {
        let detail = format!("known as {} with confidence {:.3}", worst.code, worst.confidence);
        let floor = parameters.gates.confirmed_illicit;
        let dispute = aggregate.dispute_of_own(worst.code).map(|dispute| dispute.to_owned());
        gates.push(Gate { reason: GateReason::ConfirmedIllicit, floor, detail, dispute });
    }
    gates
}

/// Whether a code is sure enough to decide, by a claim that is reliable enough.
pub(super) fn is_decisive(parameters: &Parameters, code: &CodeConfidence) -> bool {
    code.confidence >= parameters.gates.decisive_confidence && code.reliability >= parameters.gates.decisive_reliability
}

/// Whether a code names an illicit actor, sanctions apart.
fn is_illicit(code: Code) -> bool {
    match code.category() {
        Category::Terrorism | Category::Theft | Category::Ransomware | Category::Darknet | Category::Scam => true,
        Category::Sanctions
        | Category::Frozen
        | Category::Mixing
        | Category::UnlicensedTransfer
        | Category::Gambling
        | Category::HighRiskService
        | Category::Historical
        | Category::Activity
        | Category::Identity => false,
    }
}
