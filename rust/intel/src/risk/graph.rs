//! Whom the address deals with: the score of its counterparties.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::labels::{Category, Code, Dispute};
use headwater_types::{Address, Timestamp, Usd};

use super::parameters::Parameters;
use super::{MOST, split};

/// Most risky counterparties that are named.
const MOST_NAMED: usize = 5;

/// US dollars that moved with a counterparty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Dealings {
    /// Received from it.
    pub in_usd: Usd,
    /// Sent to it.
    pub out_usd: Usd,
    /// Those of the sent ones in tokens that somebody else sent: no payment by the address.
    pub taken_usd: Usd,
}

impl Dealings {
    /// Either way.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.in_usd + self.out_usd
    }

    pub(super) fn add(&mut self, other: &Self) {
        self.in_usd += other.in_usd;
        self.out_usd += other.out_usd;
        self.taken_usd += other.taken_usd;
    }

    /// What is left after a part of it.
    fn less(&self, part: &Self) -> Self {
        Self {
            in_usd: self.in_usd - part.in_usd,
            out_usd: self.out_usd - part.out_usd,
            taken_usd: self.taken_usd - part.taken_usd,
        }
    }
}

/// A counterparty that was looked up.
#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    /// The address.
    pub address: Address,
    /// All that moved.
    pub all: Dealings,
    /// What moved before the day on which it was listed as sanctioned; nothing without that day.
    pub before_listing: Dealings,
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
    /// The same without `sanction`: what it was before it was listed.
    pub worst_unlisted: Option<(Code, f64)>,
    /// Whether it is under sanctions.
    pub is_sanctioned: bool,
    /// The day on which it was listed as sanctioned; `None` where it is not, or no list gives the day.
    pub listed_since: Option<Timestamp>,
    /// The list of sanctions that names it without a day.
    pub undated_list: Option<String>,
    /// Whether all that it sent is dust.
    pub sent_dust: bool,
    /// Whether all that it sent since it was listed is dust.
    pub sent_dust_since: bool,
    /// How payments to a family with victims count: [`ExposureWay::Forwarded`] where money of many senders was forwarded to
    /// it, for then the address collects; else [`ExposureWay::Out`].
    pub paid_way: ExposureWay,
    /// The dispute of a claim that makes it risky.
    pub dispute: Option<Dispute>,
}

impl Neighbour {
    /// Whether all that moved is dust that it sent.
    #[must_use]
    pub fn is_dust(&self) -> bool {
        self.sent_dust && self.all.out_usd == Usd::ZERO
    }

    /// Whether one under sanctions was paid by the address itself, or sent it more than dust, since it was listed.
    pub(super) fn opens_gate(&self, parameters: &Parameters) -> bool {
        let since = self.all.less(&self.before_listing);
        let paid = (since.out_usd - since.taken_usd).to_f64();
        self.is_sanctioned && (paid >= parameters.graph.least_usd || since.in_usd > Usd::ZERO && !self.sent_dust_since)
    }

    /// US dollars either way.
    #[must_use]
    pub fn usd(&self) -> Usd {
        self.all.usd()
    }

    /// The code by which payments in a victim's direction count: the worst one, without a listing that came later.
    pub(super) fn victim_code(&self) -> Option<Code> {
        let code = match self.worst {
            Some((Code::Sanction, _)) => self.worst_unlisted,
            worst => worst,
        };
        code.map(|(code, _)| code).filter(|code| has_victims(code.category()))
    }

    /// What moved, by the code that it counts by: with its confidence, and whether it counts as before the listing.
    fn parts(&self) -> Vec<(Code, f64, Part)> {
        let Some((code, confidence)) = self.worst else { return Vec::new() };
        if code != Code::Sanction || self.before_listing == Dealings::default() {
            return vec![(code, confidence, Part { dealings: self.all, before: Before::Nothing })];
        }
        let since = Part { dealings: self.all.less(&self.before_listing), before: Before::Nothing };
        let (code_before, confidence_before, before) = match self.worst_unlisted {
            Some((other, confidence)) => (other, confidence, Before::ByOtherCode),
            None => (code, confidence, Before::ByListing),
        };
        vec![
            (code, confidence, since),
            (code_before, confidence_before, Part { dealings: self.before_listing, before }),
        ]
    }
}

/// A part of what moved with a counterparty.
struct Part {
    dealings: Dealings,
    before: Before,
}

/// Whether a part moved before the counterparty was listed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It did not.
    Nothing,
    /// It did, and counts by another code of the counterparty.
    ByOtherCode,
    /// It did, and the listing is all that is known.
    ByListing,
}

/// Whether most who pay addresses of a family are its victims, so that the directions count apart.
pub(super) fn has_victims(category: Category) -> bool {
    match category {
        Category::Theft | Category::Ransomware | Category::Scam => true,
        Category::Sanctions
        | Category::Terrorism
        | Category::Darknet
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

/// The direction of an exposure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ExposureWay {
    /// Both directions together: of families without victims.
    Both,
    /// Received from the family.
    In,
    /// Sent to the family: mostly by victims.
    Out,
    /// Sent to the family, of money of many senders: by those who collect for it.
    Forwarded,
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
    /// The lists of sanctions that name counterparties without a day, in order.
    pub undated_lists: Vec<String>,
}

/// One term of the score: exposure to a category, in one direction where the directions count apart.
#[derive(Debug, Clone, PartialEq)]
pub struct CategoryExposure {
    /// The category.
    pub category: Category,
    /// The direction.
    pub way: ExposureWay,
    /// Whether it moved before its counterparties were listed as sanctioned, and nothing else is known of them.
    pub is_before_listing: bool,
    /// Severity of its gravest code that was met.
    pub severity: f64,
    /// US dollars, dust counted at its weight.
    pub amount: Usd,
    /// US dollars of tokens that somebody else sent to its counterparties.
    pub taken: Usd,
    /// US dollars that moved before its counterparties were listed as sanctioned.
    pub before_listing: Usd,
    /// Share of all volume.
    pub share: f64,
    /// Confidence of the codes, weighted by amount.
    pub confidence: f64,
    /// What the term is multiplied by: less than 1 for payments to a family with victims, and for those before a listing.
    pub factor: f64,
    /// `factor · severity / 100 · C · f`.
    pub risk: f64,
    /// Points of the score that it stands for.
    pub contribution: f64,
    /// The dispute of the largest of its counterparties that a disputed claim makes risky.
    pub dispute: Option<Dispute>,
}

/// The sums of one term.
#[derive(Default)]
struct TermSums {
    severity: f64,
    amount: f64,
    /// Confidence times amount.
    weighted: f64,
    taken: Usd,
    before_listing: Usd,
}

impl GraphScore {
    /// Scores the counterparties that were looked up, of so many with such a volume together.
    ///
    /// By term: the share of volume `e`, the amount `u`, and `f = 1 - (1 - e / (e + h)) · (1 - 0.5 · A)` with
    /// `A = min(1, log10(1 + u / 1000) / 3)`; then `100 · (1 - Π (1 - factor · severity / 100 · C · f))`. A family is one
    /// term; one with victims is two, of which what was paid has the factor 0.25, unless money of many senders was forwarded.
    /// What moved before a counterparty was listed as sanctioned counts by its other codes; where it has none it is a term
    /// with the factor 0.25.
    #[must_use]
    pub fn of(parameters: &Parameters, screened: &[Neighbour], (total, volume): (u64, Usd)) -> Self {
        let graph = &parameters.graph;
        let whole = volume.to_f64();
        let share_of = |usd: f64| if whole > 0.0 { (usd / whole).min(1.0) } else { 0.0 };
        let risky = || screened.iter().filter_map(|one| one.worst.map(|(code, confidence)| (one, code, confidence)));

        let sums = terms(parameters, screened);
        let with_risky: Usd = risky().map(|(neighbour, ..)| neighbour.usd()).sum();
        let mut categories: Vec<CategoryExposure> = sums
            .into_iter()
            .filter(|(_, sums)| sums.amount > 0.0)
            .map(|((category, way, is_before_listing), sums)| {
                let TermSums { severity, amount, weighted, taken, before_listing } = sums;
                let (share, confidence) = (share_of(amount), weighted / amount);
                let factor = match (is_before_listing, way) {
                    (true, _) => graph.before_listing_factor,
                    (false, ExposureWay::Out) => graph.paid_factor,
                    (false, ExposureWay::Both | ExposureWay::In | ExposureWay::Forwarded) => 1.0,
                };
                let exposure = exposure(parameters, severity, share, amount);
                CategoryExposure {
                    category,
                    way,
                    is_before_listing,
                    severity,
                    amount: Usd::from_f64(amount).unwrap_or_default(),
                    taken,
                    before_listing,
                    share,
                    confidence,
                    factor,
                    risk: factor * severity / 100.0 * confidence * exposure,
                    contribution: 0.0,
                    dispute: dispute_in(screened, category),
                }
            })
            .collect();
        let score = 100.0 * (1.0 - categories.iter().map(|one| 1.0 - one.risk.min(MOST)).product::<f64>());
        let risks: Vec<f64> = categories.iter().map(|one| one.risk).collect();
        for (category, contribution) in categories.iter_mut().zip(split(score, &risks)) {
            category.contribution = contribution;
        }
        let key = |one: &CategoryExposure| (one.category, one.way, one.is_before_listing);
        categories.sort_by(|one, other| {
            other.contribution.total_cmp(&one.contribution).then_with(|| key(one).cmp(&key(other)))
        });

        let weight = |(neighbour, code, confidence): &(&Neighbour, Code, f64)| {
            parameters.severity(*code) * confidence * share_of(neighbour.usd().to_f64())
        };
        let mut named: Vec<_> = risky().collect();
        named.sort_by(|one, other| weight(other).total_cmp(&weight(one)).then(one.0.address.cmp(&other.0.address)));
        let hit = named.len() as u64;
        named.truncate(MOST_NAMED);
        let sanctioned = || screened.iter().filter(|neighbour| neighbour.is_sanctioned);
        let undated: BTreeSet<&String> = sanctioned().filter_map(|one| one.undated_list.as_ref()).collect();
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
            undated_lists: undated.into_iter().cloned().collect(),
        }
    }
}

/// The sums of each term: by category, direction, and whether only a later listing is known.
fn terms(parameters: &Parameters, screened: &[Neighbour]) -> BTreeMap<(Category, ExposureWay, bool), TermSums> {
    let mut terms: BTreeMap<_, TermSums> = BTreeMap::new();
    for neighbour in screened {
        let weight = if neighbour.is_dust() { parameters.graph.dust_weight } else { 1.0 };
        for (code, confidence, Part { dealings, before }) in neighbour.parts() {
            let category = code.category();
            let Dealings { in_usd, out_usd, taken_usd } = dealings;
            let ways = if has_victims(category) {
                [(ExposureWay::In, in_usd, Usd::ZERO), (neighbour.paid_way, out_usd, taken_usd)]
            } else {
                [(ExposureWay::Both, in_usd + out_usd, taken_usd), (ExposureWay::Both, Usd::ZERO, Usd::ZERO)]
            };
            for (way, usd, taken) in ways {
                let sums = terms.entry((category, way, before == Before::ByListing)).or_default();
                let amount = usd.to_f64() * weight;
                if usd > Usd::ZERO {
                    sums.severity = sums.severity.max(parameters.severity(code));
                }
                sums.amount += amount;
                sums.weighted += amount * confidence;
                sums.taken += taken;
                if before != Before::Nothing {
                    sums.before_listing += usd;
                }
            }
        }
    }
    terms
}

/// The dispute of the largest counterparty of a category that a disputed claim makes risky.
fn dispute_in(screened: &[Neighbour], category: Category) -> Option<Dispute> {
    let of_category = screened.iter().filter(|one| one.parts().iter().any(|(code, ..)| code.category() == category));
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
