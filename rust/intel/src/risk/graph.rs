//! Whom the address deals with: the score of its counterparties.

use std::collections::BTreeMap;

use headwater_ledger::labels::{Category, Code, Dispute};
use headwater_types::{Address, Usd};

use super::parameters::Parameters;
use super::{MOST, split};

/// Most risky counterparties that are named.
const MOST_NAMED: usize = 5;

/// A counterparty that was looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The address.
    pub address: Address,
    /// US dollars received from it.
    pub in_usd: Usd,
    /// US dollars sent to it.
    pub out_usd: Usd,
    /// Those of them in tokens that somebody else sent: no payment by the address.
    pub taken_usd: Usd,
    /// Distinct transactions.
    pub transactions: u64,
    /// Time of the last movement, epoch seconds.
    pub last: i64,
    /// The entity behind it.
    pub entity: Option<String>,
    /// Its codes, most confident first.
    pub codes: Vec<Code>,
    /// The code that makes it risky, with its confidence; `None` where none is grave and sure enough.
    pub worst: Option<(Code, f64)>,
    /// Whether it is under sanctions.
    pub is_sanctioned: bool,
    /// Whether all that it sent is dust.
    pub sent_dust: bool,
    /// The dispute of a claim that makes it risky.
    pub dispute: Option<Dispute>,
}

impl Neighbour {
    /// Whether all that moved is dust that it sent.
    #[must_use]
    pub fn is_dust(&self) -> bool {
        self.sent_dust && self.out_usd == Usd::ZERO
    }

    /// Whether one under sanctions was paid by the address itself, or sent it more than dust.
    pub(super) fn opens_gate(&self, parameters: &Parameters) -> bool {
        let paid = (self.out_usd - self.taken_usd).to_f64();
        self.is_sanctioned && (paid >= parameters.graph.least_usd || self.in_usd > Usd::ZERO && !self.sent_dust)
    }

    /// US dollars either way.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.in_usd + self.out_usd
    }
}

/// The score of counterparties.
#[derive(Debug, Clone, PartialEq)]
pub struct GraphScore {
    /// 0 to 100.
    pub score: f64,
    /// Share of all volume with risky counterparties.
    pub risky_ratio: f64,
    /// US dollars with all counterparties.
    pub volume: Usd,
    /// Counterparties of at least a dollar.
    pub total: u64,
    /// Those of them that were looked up.
    pub screened: u64,
    /// Those of them that are risky.
    pub hit: u64,
    /// Whether one of them is under sanctions.
    pub is_direct_sanctioned: bool,
    /// Whether the address paid one under sanctions, or money came from one and is no dust.
    pub opens_gate: bool,
    /// The strongest risky ones, at most five, with their share of all volume.
    pub risky: Vec<(Neighbour, f64)>,
    /// Exposure by category, largest contribution first.
    pub categories: Vec<CategoryExposure>,
}

/// Exposure to one category.
#[derive(Debug, Clone, PartialEq)]
pub struct CategoryExposure {
    /// The category.
    pub category: Category,
    /// Severity of its gravest code that was met.
    pub severity: f64,
    /// US dollars, dust counted at its weight.
    pub amount: Usd,
    /// US dollars of tokens that somebody else sent to its counterparties.
    pub taken: Usd,
    /// Share of all volume.
    pub share: f64,
    /// Confidence of the codes, weighted by amount.
    pub confidence: f64,
    /// `severity / 100 · C · f`.
    pub risk: f64,
    /// Points of the score that it stands for.
    pub contribution: f64,
    /// The dispute of the largest of its counterparties that a disputed claim makes risky.
    pub dispute: Option<Dispute>,
}

impl GraphScore {
    /// Scores the counterparties that were looked up, of so many with such a volume together.
    ///
    /// By category: the share of volume `e`, the amount `u`, and `f = 1 - (1 - e / (e + h)) · (1 - 0.5 · A)` with
    /// `A = min(1, log10(1 + u / 1000) / 3)`; then `100 · (1 - Π (1 - severity / 100 · C · f))`.
    #[must_use]
    pub fn of(parameters: &Parameters, screened: &[Neighbour], (total, volume): (u64, Usd)) -> Self {
        let graph = &parameters.graph;
        let whole = volume.to_f64();
        let share_of = |usd: f64| if whole > 0.0 { (usd / whole).min(1.0) } else { 0.0 };
        let risky = || screened.iter().filter_map(|one| one.worst.map(|(code, confidence)| (one, code, confidence)));

        let mut sums: BTreeMap<Category, (f64, f64, f64)> = BTreeMap::new();
        let mut with_risky = Usd::ZERO;
        for (neighbour, code, confidence) in risky() {
            with_risky += neighbour.usd();
            let weight = if neighbour.is_dust() { graph.dust_weight } else { 1.0 };
            let usd = neighbour.usd().to_f64() * weight;
            let (severity, amount, weighted) = sums.entry(code.category()).or_default();
            *severity = severity.max(parameters.severity(code));
            (*amount, *weighted) = (*amount + usd, *weighted + usd * confidence);
        }
        let mut categories: Vec<CategoryExposure> = sums
            .into_iter()
            .filter(|(_, (_, amount, _))| *amount > 0.0)
            .map(|(category, (severity, amount, weighted))| {
                let (share, confidence) = (share_of(amount), weighted / amount);
                let risk = severity / 100.0 * confidence * exposure(parameters, severity, share, amount);
                let amount = Usd::from_f64(amount).unwrap_or_default();
                let dispute = dispute_in(screened, category);
                let of_category = risky().filter(|(_, code, _)| code.category() == category);
                let taken = of_category.map(|(neighbour, ..)| neighbour.taken_usd).sum();
                let contribution = 0.0;
                CategoryExposure { category, severity, amount, taken, share, confidence, risk, contribution, dispute }
            })
            .collect();
        let score = 100.0 * (1.0 - categories.iter().map(|one| 1.0 - one.risk.min(MOST)).product::<f64>());
        let risks: Vec<f64> = categories.iter().map(|one| one.risk).collect();
        for (category, contribution) in categories.iter_mut().zip(split(score, &risks)) {
            category.contribution = contribution;
        }
        categories.sort_by(|one, other| {
            other.contribution.total_cmp(&one.contribution).then(one.category.cmp(&other.category))
        });

        let weight = |(neighbour, code, confidence): &(&Neighbour, Code, f64)| {
            parameters.severity(*code) * confidence * share_of(neighbour.usd().to_f64())
        };
        let mut named: Vec<_> = risky().collect();
        named.sort_by(|one, other| weight(other).total_cmp(&weight(one)).then(one.0.address.cmp(&other.0.address)));
        let hit = named.len() as u64;
        named.truncate(MOST_NAMED);
        let sanctioned = || screened.iter().filter(|neighbour| neighbour.is_sanctioned);
        Self {
            score,
            risky_ratio: share_of(with_risky.to_f64()),
            volume,
            total,
            screened: screened.len() as u64,
            hit,
            is_direct_sanctioned: sanctioned().next().is_some(),
            opens_gate: sanctioned().any(|one| one.opens_gate(parameters)),
            risky: named.into_iter().map(|(one, ..)| (one.clone(), share_of(one.usd().to_f64()))).collect(),
            categories,
        }
    }
}

/// The dispute of the largest counterparty of a category that a disputed claim makes risky.
fn dispute_in(screened: &[Neighbour], category: Category) -> Option<Dispute> {
    let of_category = screened.iter().filter(|one| one.worst.is_some_and(|(code, _)| code.category() == category));
    let disputed = of_category.filter(|one| one.dispute.is_some());
    let largest = disputed.max_by(|one, other| one.usd().cmp(&other.usd()).then(other.address.cmp(&one.address)));
    largest.and_then(|one| one.dispute.clone())
}

/// `f`: how much a share and an amount of exposure count, 0 to 1.
pub(super) fn exposure(parameters: &Parameters, severity: f64, share: f64, amount: f64) -> f64 {
    let graph = &parameters.graph;
    let half = graph.half_share(severity);
    let absolute = ((1.0 + amount / graph.amount_unit_usd).log10() / graph.amount_powers).min(1.0);
    1.0 - (1.0 - share / (share + half)) * (1.0 - graph.amount_share * absolute)
}
