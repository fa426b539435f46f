//! The labels of an address: their score, and the floors that no other evidence may dilute.

use headwater_ledger::labels::{Category, Code, Dispute};

use super::parameters::Parameters;
use crate::label::{Aggregate, CodeConfidence, SourceClaim};

/// The score of the labels of an address.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntelScore {
    /// 0 to 100.
    pub score: f64,
    /// The confidence of the code that decides; of the best identity where no code accuses; 0 without labels.
    pub confidence: f64,
    /// The codes with a severity or an identity, most confident first.
    pub codes: Vec<CodeShare>,
    /// The largest confidence of a benign identity.
    pub benign: f64,
}

/// The part of one code.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeShare {
    /// The code.
    pub code: Code,
    /// Its severity.
    pub severity: f64,
    /// Its confidence `C'`.
    pub confidence: f64,
    /// Reliability of the most reliable claim of it.
    pub reliability: f64,
    /// Points of the score that it stands for: those of the code that is the strongest of one of the three strongest
    /// families, 0 for others.
    pub contribution: f64,
}

impl IntelScore {
    /// Judges labels. Each family counts by its strongest code, `x = severity · C'`; the strongest family in full, the
    /// second and the third by a share of what is left: `x1 + (100 - x1) / 100 · (0.25 · x2 + 0.10 · x3)`. A benign
    /// identity of confidence B takes half of B away, unless a gate is open.
    #[must_use]
    pub fn of(parameters: &Parameters, aggregate: &Aggregate<'_>, is_gated: bool) -> Self {
        let mut codes: Vec<CodeShare> = aggregate
            .codes
            .iter()
            .map(|found| CodeShare {
                code: found.code,
                severity: parameters.severity(found.code),
                confidence: found.confidence,
                reliability: found.reliability,
                contribution: 0.0,
            })
            .collect();
        let mut strongest: Vec<(f64, usize)> = Vec::new();
        for (place, share) in codes.iter().enumerate() {
            let x = share.severity * share.confidence;
            let category = share.code.category();
            match strongest.iter_mut().find(|(_, other)| codes[*other].code.category() == category) {
                Some(of_family) if of_family.0 < x => *of_family = (x, place),
                None if x > 0.0 => strongest.push((x, place)),
                Some(_) | None => {}
            }
        }
        // Of equal ones the first code of the table.
        strongest
            .sort_by(|one, other| other.0.total_cmp(&one.0).then_with(|| codes[one.1].code.cmp(&codes[other.1].code)));
        let benign =
            codes.iter().filter(|share| is_benign(share.code)).map(|share| share.confidence).fold(0.0, f64::max);
        let discount = if is_gated { 1.0 } else { 1.0 - parameters.intel.benign_discount * benign };
        let first = strongest.first().map_or(0.0, |(x, _)| *x);
        let shares = [1.0, parameters.intel.second_family, parameters.intel.third_family];
        let mut score = 0.0;
        for (rank, ((x, place), share)) in strongest.iter().zip(shares).enumerate() {
            let rest = if rank == 0 { 1.0 } else { (100.0 - first) / 100.0 };
            codes[*place].contribution = x * share * rest * discount;
            score += codes[*place].contribution;
        }
        let confidence = strongest.first().map_or(benign, |(_, place)| codes[*place].confidence);
        Self { score: score.clamp(0.0, 100.0), confidence, codes, benign }
    }
}

/// Returns true if a code names an honest business or use.
pub(super) fn is_benign(code: Code) -> bool {
    code.category() == Category::Identity
}

/// The reason of a floor; the names are those of the interface.
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
    /// The reason.
    pub reason: GateReason,
    /// The least score.
    pub floor: f64,
    /// The evidence that opened it, in a few words.
    pub detail: String,
    /// The dispute of a claim that helped to open it.
    pub dispute: Option<Dispute>,
}

/// Returns true if labels that name an address itself say that it is under sanctions.
pub(super) fn is_sanctioned(parameters: &Parameters, aggregate: &Aggregate<'_>) -> bool {
    aggregate.of_own(Code::Sanction) >= parameters.gates.sanction_confidence
}

/// Returns the gates that the labels of an address open, in order. Inherited claims open none, and close none.
pub(super) fn own_gates(parameters: &Parameters, aggregate: &Aggregate<'_>) -> Vec<Gate> {
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

/// Returns true if a code is sure enough to decide, by a claim that is reliable enough.
pub(super) fn is_decisive(parameters: &Parameters, code: &CodeConfidence) -> bool {
    code.confidence >= parameters.gates.decisive_confidence && code.reliability >= parameters.gates.decisive_reliability
}

/// Returns true if a code names an illicit actor, sanctions apart.
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
