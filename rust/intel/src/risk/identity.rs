//! Who the address is: the score of its labels.

use headwater_ledger::labels::{Category, Code};

use super::parameters::Parameters;
use crate::label::Aggregate;

/// The score of the labels of an address.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct IntelScore {
    /// 0 to 100.
    pub score: f64,
    /// How sure the code is that decides; of the best identity where no code accuses; 0 without labels.
    pub confidence: f64,
    /// The codes with a severity or an identity, most confident first.
    pub codes: Vec<CodeShare>,
    /// The largest confidence of a benign identity.
    pub benign: f64,
}

/// What one code adds.
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

/// Whether a code names an honest business or use.
pub(super) fn is_benign(code: Code) -> bool {
    code.category() == Category::Identity
}
