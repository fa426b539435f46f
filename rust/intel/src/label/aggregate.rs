//! The claims about an address together: codes, an entity, and when it came under sanctions.

use std::collections::{BTreeMap, BTreeSet};

use headwater_ledger::labels::{Category, Claim, Code, DateBasis, Dispute, Level, entity_key, entity_name};
use headwater_types::Timestamp;

use super::confidence::{Moment, Standing, noisy_or, of_claim, standing, weight};

/// An entity is named from this confidence on.
const MIN_ENTITY: f64 = 0.30;
/// And when it is so much ahead of the next one.
const MIN_LEAD: f64 = 0.15;
/// The share that a code of another kind of business takes away.
const EXCLUSION: f64 = 0.5;
/// A single report below this confidence is one that nobody confirmed.
const REPORTED_ONCE: f64 = 0.50;

/// The claims about an address together.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Aggregate<'a> {
    /// The entity behind the address, when one is clearly ahead.
    pub entity: Option<&'a str>,
    /// The largest confidence of an entity or a code; 0 without intelligence.
    pub confidence: f64,
    /// The codes, most confident first, then in the order of the table of codes.
    pub codes: Vec<CodeConfidence>,
    /// The same of the claims alone that name the address itself. Only these open gates: others are inferences.
    pub own_codes: Vec<CodeConfidence>,
    /// The entities, most confident first, then by key.
    pub entities: Vec<EntityConfidence<'a>>,
    /// All claims that were made by the moment, most confident first.
    pub sources: Vec<SourceClaim<'a>>,
    /// Active claims without a date.
    pub undated: u64,
}

/// A code with its confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CodeConfidence {
    /// The code.
    pub code: Code,
    /// `C'`: all groups together, less where a code of another kind of business speaks against it.
    pub confidence: f64,
    /// The largest reliability of an active claim of the code, 0 to 1; that of a disputed claim is halved.
    pub reliability: f64,
}

/// An entity with its confidence.
#[derive(Debug, Clone, PartialEq)]
pub struct EntityConfidence<'a> {
    /// The key of its name.
    pub key: String,
    /// The name as the most confident claim writes it.
    pub name: &'a str,
    /// All groups together.
    pub confidence: f64,
}

/// One claim with its confidence.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourceClaim<'a> {
    /// The claim. The code of an ended sanction is `sanction_delisted`.
    pub claim: Claim<&'a str>,
    /// Its standing at the moment.
    pub standing: Standing,
    /// Its confidence; 0 where it does not count.
    pub confidence: f64,
}

impl<'a> Aggregate<'a> {
    /// Returns the dispute of the most confident disputed claim that makes a code.
    #[must_use]
    pub fn dispute_of(&self, code: Code) -> Option<Dispute<&'a str>> {
        self.first_dispute(|claim| claim.code == Some(code) || code == Code::ReportedOnce)
    }

    /// Returns the same of the claims that name the address itself.
    #[must_use]
    pub fn dispute_of_own(&self, code: Code) -> Option<Dispute<&'a str>> {
        self.first_dispute(|claim| claim.code == Some(code) && claim.link.is_exact())
    }

    /// Returns the dispute of the most confident disputed claim that names the address: of its entity, else of its first code.
    #[must_use]
    pub fn dispute_of_name(&self) -> Option<Dispute<&'a str>> {
        match (self.entity, self.entities.first(), self.codes.first()) {
            (Some(_), Some(leader), _) => {
                self.first_dispute(|claim| claim.entity.is_some_and(|entity| entity_key(entity) == leader.key))
            }
            (_, _, Some(first)) => self.dispute_of(first.code),
            (_, _, None) => None,
        }
    }

    fn first_dispute(&self, is_meant: impl Fn(&Claim<&'a str>) -> bool) -> Option<Dispute<&'a str>> {
        let active = self.sources.iter().filter(|source| source.standing == Standing::Active);
        active.filter(|source| is_meant(&source.claim)).find_map(|source| source.claim.dispute)
    }

    /// Returns the confidence of a code; 0 where no claim makes it.
    #[must_use]
    pub fn of(&self, code: Code) -> f64 {
        self.codes.iter().find(|found| found.code == code).map_or(0.0, |found| found.confidence)
    }

    /// Returns the confidence of a code by the claims that name the address itself; 0 where none makes it.
    #[must_use]
    pub fn of_own(&self, code: Code) -> f64 {
        self.own_codes.iter().find(|found| found.code == code).map_or(0.0, |found| found.confidence)
    }

    /// Returns the number of independent groups behind the active claims.
    #[must_use]
    pub fn groups(&self) -> usize {
        let active = self.sources.iter().filter(|source| source.standing == Standing::Active);
        active.map(|source| source.claim.group).collect::<BTreeSet<_>>().len()
    }
}

/// Judges the claims about an address on a chain.
///
/// Claims of one provenance group count once, by the strongest. Independent groups are joined by noisy-or,
/// `C = 1 - Π (1 - c)`. A code that names a kind of business loses half of the largest confidence of another kind:
/// `C' = C · (1 - 0.5 · max C)`. Entities are joined alike; the best one is named from 0.30 on when it leads by 0.15.
/// O(claims · log claims). Source: `docs/labels.md`.
///
/// ```
/// use headwater_intel::label::{Moment, aggregate};
/// use headwater_ledger::labels::LabelTable;
/// let none = aggregate(&[], &Moment::present(&LabelTable::default(), None));
/// assert_eq!((none.confidence, none.entity, none.codes.len()), (0.0, None, 0));
/// ```
#[must_use]
pub fn aggregate<'a>(claims: &[Claim<&'a str>], moment: &Moment) -> Aggregate<'a> {
    if claims.is_empty() {
        return Aggregate::default();
    }
    let judged = standing(claims, moment).into_iter().map(|(claim, standing)| {
        let confidence = if standing == Standing::Active { of_claim(&claim, moment.aged_to()) } else { 0.0 };
        SourceClaim { claim, standing, confidence }
    });
    let mut sources: Vec<_> = judged.collect();
    sources.sort_by(|one, other| other.confidence.total_cmp(&one.confidence).then_with(|| one.claim.cmp(&other.claim)));

    let active = || sources.iter().filter(|source| source.standing == Standing::Active);
    let codes = codes_of(active());
    let is_own = |source: &&SourceClaim<'_>| source.claim.link.is_exact();
    let own_codes =
        if active().all(|source| is_own(&source)) { codes.clone() } else { codes_of(active().filter(is_own)) };
    let entities = entities_of(active());
    let leader = entities.first().filter(|best| {
        let second = entities.get(1).map_or(0.0, |second| second.confidence);
        best.confidence >= MIN_ENTITY && best.confidence - second >= MIN_LEAD
    });
    let of_entity = leader.map_or(0.0, |best| best.confidence);
    let of_codes = codes.iter().map(|code| code.confidence).fold(0.0, f64::max);
    let undated = active().filter(|source| source.claim.asserted_at.is_none()).count() as u64;
    Aggregate {
        entity: leader.map(|best| best.name),
        confidence: of_entity.max(of_codes),
        codes,
        own_codes,
        entities,
        undated,
        sources,
    }
}

type ByGroup<'a> = BTreeMap<&'a str, f64>;

fn strongest<'a>(groups: &mut ByGroup<'a>, group: &'a str, confidence: f64) {
    let held = groups.entry(group).or_default();
    *held = held.max(confidence);
}

fn codes_of<'s, 'a: 's>(active: impl Iterator<Item = &'s SourceClaim<'a>>) -> Vec<CodeConfidence> {
    let mut by_code: BTreeMap<Code, (ByGroup<'_>, f64)> = BTreeMap::new();
    let mut claims = 0;
    for source in active {
        claims += 1;
        let Some(code) = source.claim.code else { continue };
        let (groups, reliability) = by_code.entry(code).or_default();
        strongest(groups, source.claim.group, source.confidence);
        *reliability = reliability.max(weight(&source.claim));
    }
    let joined: Vec<(Code, f64, f64)> =
        by_code.into_iter().map(|(code, (groups, best))| (code, noisy_or(groups.into_values()), best)).collect();
    let against = |code: Code| {
        let others = joined.iter().filter(|(other, ..)| match (code.business(), other.business()) {
            (Some(one), Some(other)) => one != other,
            (None, _) | (_, None) => false,
        });
        others.map(|(_, confidence, _)| *confidence).fold(0.0, f64::max)
    };
    let mut codes: Vec<_> = joined
        .iter()
        .map(|&(code, confidence, best)| CodeConfidence {
            code,
            confidence: confidence * (1.0 - EXCLUSION * against(code)),
            reliability: best,
        })
        .collect();
    if let [only] = codes[..]
        && claims == 1
        && only.confidence < REPORTED_ONCE
        && is_risk(only.code)
    {
        codes.push(CodeConfidence { code: Code::ReportedOnce, ..only });
    }
    codes.sort_by(|one, other| other.confidence.total_cmp(&one.confidence).then(one.code.cmp(&other.code)));
    codes
}

/// Returns true if a code accuses.
fn is_risk(code: Code) -> bool {
    match code.category() {
        Category::Sanctions
        | Category::Terrorism
        | Category::Theft
        | Category::Ransomware
        | Category::Darknet
        | Category::Scam
        | Category::Frozen
        | Category::Mixing
        | Category::UnlicensedTransfer
        | Category::Gambling
        | Category::HighRiskService => true,
        Category::Historical | Category::Activity | Category::Identity => false,
    }
}

fn entities_of<'s, 'a: 's>(active: impl Iterator<Item = &'s SourceClaim<'a>>) -> Vec<EntityConfidence<'a>> {
    // Sources come most confident first, so the first name of an entity is the one to show.
    let mut by_key: BTreeMap<String, (&'a str, ByGroup<'a>)> = BTreeMap::new();
    for source in active {
        let Some(entity) = source.claim.entity else { continue };
        let key = entity_key(entity);
        if key.is_empty() {
            continue;
        }
        let (_, groups) = by_key.entry(key).or_insert_with(|| (entity_name(entity), ByGroup::new()));
        strongest(groups, source.claim.group, source.confidence);
    }
    let mut entities: Vec<_> = by_key
        .into_iter()
        .map(|(key, (name, groups))| EntityConfidence { key, name, confidence: noisy_or(groups.into_values()) })
        .collect();
    entities.sort_by(|one, other| other.confidence.total_cmp(&one.confidence).then_with(|| one.key.cmp(&other.key)));
    entities
}

const DAY_SECS: i64 = 86_400;

/// The listing of an address by lists of sanctions, by its active claims.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SanctionsListing<'a> {
    /// The date of the listing; `None` where no list is dated.
    pub since: Option<Timestamp>,
    /// The owner of that date; `None` without a date, and where the store does not record it.
    pub date_basis: Option<DateBasis>,
    /// A source of a list without a date, where no copy of the same group has one.
    pub undated: Option<&'a str>,
}

impl SanctionsListing<'_> {
    /// Returns the first second of the day (UTC) on which the listing began; `None` where a list has no date: it counts for
    /// all times.
    #[must_use]
    pub fn begins(&self) -> Option<Timestamp> {
        let day = |time: Timestamp| Timestamp::new(time.secs() - time.secs().rem_euclid(DAY_SECS));
        self.since.filter(|_| self.undated.is_none()).map(day)
    }
}

impl<'a> Aggregate<'a> {
    /// Returns when lists of sanctions named the address; `None` where none does, or all of them delisted it.
    ///
    /// It reads the active claims of the code `sanction` and the level `sanctions_list`: those that name the address
    /// itself, and only without them those through its cluster. An address date counts before an entity date, which is
    /// too early for addresses that an entity got later, and before a date of unknown basis; of several dates of one basis
    /// the earliest counts. A copy of a list without dates adds nothing where another copy of the same group has dates.
    /// O(claims).
    ///
    /// ```
    /// use headwater_intel::label::Aggregate;
    /// assert_eq!(Aggregate::default().sanctions_listing(), None);
    /// ```
    #[must_use]
    pub fn sanctions_listing(&self) -> Option<SanctionsListing<'a>> {
        let active =
            self.sources.iter().filter(|source| source.standing == Standing::Active).map(|source| &source.claim);
        let listed = active.filter(|claim| claim.code == Some(Code::Sanction) && claim.level == Level::SanctionsList);
        let (own, inherited): (Vec<_>, Vec<_>) = listed.partition(|claim| claim.link.is_exact());
        let claims = if own.is_empty() { inherited } else { own };
        (!claims.is_empty()).then(|| listing(&claims))
    }
}

fn listing<'a>(claims: &[&Claim<&'a str>]) -> SanctionsListing<'a> {
    let rank = |basis: Option<DateBasis>| (basis.is_none(), basis);
    let dated = || claims.iter().filter_map(|claim| Some((rank(claim.date_basis), claim.asserted_at?)));
    let first = dated().min();
    let dated_groups: BTreeSet<&str> =
        claims.iter().filter(|claim| claim.asserted_at.is_some()).map(|claim| claim.group).collect();
    SanctionsListing {
        since: first.map(|(_, since)| since),
        date_basis: first.and_then(|((_, basis), _)| basis),
        undated: claims.iter().find(|claim| !dated_groups.contains(claim.group)).map(|claim| claim.source),
    }
}
