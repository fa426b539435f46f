//! The counterparties of an address: which are looked up, and their score.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::labels::{Category, Code, Dispute};
use headwater_ledger::read::TransactionRef;
use headwater_ledger::{Ledger, LedgerError};
use headwater_types::{Address, Asset, Timestamp, Usd};

use super::identity::is_sanctioned;
use super::parameters::Parameters;
use super::{MAX_PROBABILITY, split};
use crate::behaviour::{History, Way};
use crate::label::{Aggregate, CodeConfidence};

/// The maximum number of risky counterparties that are named.
const MAX_NAMED: usize = 5;

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

    /// Returns the rest without a part.
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
    /// The dealings before the day on which it was listed as sanctioned; nothing without that day.
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
    /// True if it is under sanctions.
    pub is_sanctioned: bool,
    /// The day on which it was listed as sanctioned; `None` where it is not, or no list gives the day.
    pub listed_since: Option<Timestamp>,
    /// The list of sanctions that names it without a day.
    pub undated_list: Option<String>,
    /// True if all that it sent is dust.
    pub sent_dust: bool,
    /// True if all that it sent since it was listed is dust.
    pub sent_dust_since: bool,
    /// The direction of payments to a family with victims: [`ExposureWay::Forwarded`] where money of many senders was forwarded to
    /// it, for then the address collects; else [`ExposureWay::Out`].
    pub paid_way: ExposureWay,
    /// The dispute of a claim that makes it risky.
    pub dispute: Option<Dispute>,
}

impl Neighbour {
    /// Returns true if all that moved is dust that it sent.
    #[must_use]
    pub fn is_dust(&self) -> bool {
        self.sent_dust && self.all.out_usd == Usd::ZERO
    }

    /// Returns true if one under sanctions was paid by the address itself, or sent it more than dust, since it was listed.
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

    /// Returns the dealings by the code that they count by, with its confidence, and whether they count as before the listing.
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

/// The time of a part relative to the listing of the counterparty.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// It did not.
    Nothing,
    /// It did, and counts by another code of the counterparty.
    ByOtherCode,
    /// It did, and the listing is all that is known.
    ByListing,
}

/// Returns true if most who pay addresses of a family are its victims, so that the directions count apart.
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
    /// True if one of them is under sanctions.
    pub is_direct_sanctioned: bool,
    /// True if the address paid one under sanctions, or received more than dust from one.
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
    /// True if it moved before its counterparties were listed as sanctioned, and nothing else is known of them.
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
    /// The multiplier of the term: less than 1 for payments to a family with victims, and for those before a listing.
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
    /// Dealings before a counterparty was listed as sanctioned count by its other codes; where it has none they are a
    /// term with the factor 0.25.
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
        let score = 100.0 * (1.0 - categories.iter().map(|one| 1.0 - one.risk.min(MAX_PROBABILITY)).product::<f64>());
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
        named.truncate(MAX_NAMED);
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

/// Returns a check whether an address sent a transaction, as far as is known: a token can be moved by whoever its owner allowed to,
/// and by a thief who tricked the owner into that.
pub(super) fn is_sent_by<'a>(
    ledger: &'a dyn Ledger,
    address: &'a Address,
) -> impl FnMut(TransactionRef) -> Result<bool, LedgerError> + use<'a> {
    move |transaction| {
        let sender = ledger.transaction(transaction)?.facts.body.and_then(|body| body.from);
        Ok(sender.is_none_or(|sender| sender == *address))
    }
}

/// Looks up the counterparties of a history: the largest, and the most recent besides. Gives those looked up, and how many
/// there are with what volume. `is_own` says whether the address sent a transaction itself; it is asked for risky ones alone.
///
/// # Errors
/// Those of `labels` and `is_own`.
pub(super) fn neighbours<'a, E>(
    parameters: &Parameters,
    history: &History,
    mut labels: impl FnMut(&Address) -> Result<Aggregate<'a>, E>,
    mut is_own: impl FnMut(TransactionRef) -> Result<bool, E>,
) -> Result<(Vec<Neighbour>, (u64, Usd)), E> {
    let graph = &parameters.graph;
    let mut large: Vec<usize> =
        (0..history.flows.len()).filter(|place| history.flows[*place].usd().to_f64() >= graph.least_usd).collect();
    let volume = large.iter().map(|place| history.flows[*place].usd()).sum();
    let total = large.len() as u64;
    let address = |place: &usize| history.counterparties[*place].address;
    if large.len() > graph.most_neighbors {
        let by_amount = |one: &usize, other: &usize| {
            let usd = |place: &usize| history.flows[*place].usd();
            usd(other).cmp(&usd(one)).then_with(|| address(one).cmp(&address(other)))
        };
        large.sort_by(by_amount);
        let mut others = large.split_off(graph.most_neighbors);
        let last = |place: &usize| history.flows[*place].last;
        others.sort_by(|one, other| last(other).cmp(&last(one)).then_with(|| address(one).cmp(&address(other))));
        others.truncate(graph.most_recent);
        large.append(&mut others);
    }
    let mut screened = Vec::with_capacity(large.len());
    for place in large {
        let mut found = neighbour(parameters, history, place, &labels(&address(&place))?);
        if found.worst.is_some() || found.is_sanctioned {
            deal(parameters, (history, place), &mut found, &mut is_own)?;
        }
        screened.push((place, found));
    }
    mark_forwarding(parameters, history, &mut screened);
    Ok((screened.into_iter().map(|(_, found)| found).collect(), (total, volume)))
}

/// Completes what moved with a risky counterparty: what others took, what moved before it was listed, and what is dust.
fn deal<E>(
    parameters: &Parameters,
    (history, place): (&History, usize),
    found: &mut Neighbour,
    is_own: &mut impl FnMut(TransactionRef) -> Result<bool, E>,
) -> Result<(), E> {
    let listed = found.listed_since.map_or(i64::MIN, Timestamp::secs);
    let (mut kept, mut before) = (Dealings::default(), Dealings::default());
    for transfer in history.valued.iter().filter(|transfer| transfer.other as usize == place) {
        let mut moved = Dealings::default();
        match transfer.way {
            Way::In => moved.in_usd = transfer.usd,
            Way::Out => {
                moved.out_usd = transfer.usd;
                let is_token = history.assets[transfer.asset as usize].asset != Asset::Native;
                if is_token && !is_own(transfer.transaction)? {
                    moved.taken_usd = transfer.usd;
                }
            }
        }
        kept.add(&moved);
        if transfer.time < listed {
            before.add(&moved);
        }
    }
    found.all.taken_usd = kept.taken_usd;
    // Movements that were left out are older than all that were kept.
    if history.all.first().is_some_and(|first| first.time < listed) {
        before.in_usd += found.all.in_usd - kept.in_usd;
        before.out_usd += found.all.out_usd - kept.out_usd;
    }
    found.before_listing = before;
    let dust = &parameters.graph.dust;
    let came = || history.ins.iter().filter(|came| came.other as usize == place);
    found.sent_dust = dust.is_dust(found.all.in_usd, history, came());
    let since = found.all.in_usd - before.in_usd;
    found.sent_dust_since = dust.is_dust(since, history, came().filter(|came| came.time >= listed));
    Ok(())
}

/// Marks the counterparties of families to which money of many senders was forwarded: first in, first out by asset, at least
/// a dollar of each sender.
fn mark_forwarding(parameters: &Parameters, history: &History, screened: &mut [(usize, Neighbour)]) {
    let graph = &parameters.graph;
    let family = |found: &Neighbour| found.victim_code().map(Code::category).filter(|_| found.all.out_usd > Usd::ZERO);
    let families: BTreeSet<Category> = screened.iter().filter_map(|(_, found)| family(found)).collect();
    for category in families {
        let of_family = |found: &Neighbour| family(found) == Some(category);
        let paid: BTreeSet<usize> =
            screened.iter().filter(|(_, found)| of_family(found)).map(|(place, _)| *place).collect();
        let senders = history.forwarded_from(|other| paid.contains(&(other as usize)));
        let many = senders.values().filter(|usd| usd.to_f64() >= graph.least_usd).count() >= graph.collector_senders;
        if many {
            for (_, found) in screened.iter_mut().filter(|(_, found)| of_family(found)) {
                found.paid_way = ExposureWay::Forwarded;
            }
        }
    }
}

fn neighbour(parameters: &Parameters, history: &History, place: usize, aggregate: &Aggregate<'_>) -> Neighbour {
    let (flow, graph) = (&history.flows[place], &parameters.graph);
    let is_risky = |code: &&CodeConfidence| {
        parameters.severity(code.code) >= graph.risky_severity && code.confidence >= graph.risky_confidence
    };
    let weight = |code: &CodeConfidence| parameters.severity(code.code) * code.confidence;
    // Of equal ones the first of the table of codes.
    let worst_of = |wanted: &dyn Fn(Code) -> bool| {
        let risky = aggregate.codes.iter().filter(is_risky).filter(|code| wanted(code.code));
        risky.max_by(|one, other| weight(one).total_cmp(&weight(other)).then(other.code.cmp(&one.code)))
    };
    let worst = worst_of(&|_| true);
    let is_sanctioned = is_sanctioned(parameters, aggregate);
    let listing = aggregate.sanctions_listing().filter(|_| is_sanctioned);
    let decides = worst.map(|code| code.code).or_else(|| is_sanctioned.then_some(Code::Sanction));
    Neighbour {
        address: history.counterparties[place].address,
        all: Dealings { in_usd: flow.in_usd, out_usd: flow.out_usd, taken_usd: Usd::ZERO },
        before_listing: Dealings::default(),
        transactions: flow.transactions,
        last: flow.last,
        entity: aggregate.entity.map(str::to_owned),
        codes: aggregate.codes.iter().map(|code| code.code).collect(),
        worst: worst.map(|code| (code.code, code.confidence)),
        worst_unlisted: worst_of(&|code| code != Code::Sanction).map(|code| (code.code, code.confidence)),
        is_sanctioned,
        listed_since: listing.and_then(|listing| listing.begins()),
        undated_list: listing.and_then(|listing| listing.undated).map(str::to_owned),
        sent_dust: false,
        sent_dust_since: false,
        paid_way: ExposureWay::Out,
        dispute: decides.and_then(|code| aggregate.dispute_of(code)).map(|dispute| dispute.to_owned()),
    }
}
