//! The form of labels in answers.

use std::collections::BTreeMap;

use headwater_intel::bitcoin::links::{InheritedLink, LinkBudget};
use headwater_intel::label::{Aggregate, LabelSource as _, Moment, SourceClaim, Standing, aggregate, claims_of};
use headwater_ledger::labels::{self, Claim, Code, Dispute, LabelTable, Level, Link, ListOrigin, SanctionsEdition};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, Network, Timestamp, TxHash};
use serde::{Deserialize, Serialize};

use crate::fields::{AddressText, CodeText, HashText, Time, values};
use crate::request::Warnings;
use crate::{Error, Intelligence};

values! {
    /// Whether a claim counts.
    ClaimStatus { Active = "active", Ended = "ended", Overridden = "overridden" }
    /// What the date of a claim belongs to: the address, or the entity behind it, which may be listed before the address.
    DateBasis { Address = "address", Entity = "entity" }
    /// How a claim reaches an address that it does not name.
    Inheritance {
        Cluster = "cluster", ChangeCluster = "change_cluster", DepositPattern = "deposit_pattern", Deployer = "deployer",
        GasFunder = "gas_funder",
    }
}

/// Who an address is, and who says so.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct AggregateLabel {
    /// The entity behind the address; null when none is clearly ahead.
    pub entity_name: Option<String>,
    /// Codes, most confident first.
    pub labels: Vec<CodeText>,
    /// The largest confidence of an entity or a code, 0 to 1, three decimals; 0 without intelligence. It says how sure the
    /// labels are, not how risky the address is.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The claims behind it, most confident first.
    pub sources: Vec<LabelSource>,
}

/// One claim of one source.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct LabelSource {
    /// Who says so.
    pub source: String,
    /// Where; null when the import does not say.
    pub source_url: Option<String>,
    /// The code, or the name in the source where it has no code.
    pub label: String,
    /// What the claim counts for by itself, 0 to 1, three decimals; 0 where it does not count.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// When the source said so first, epoch seconds.
    pub first_seen: Option<Time>,
    /// What `first_seen` belongs to; null without a date, and where the store does not record it.
    pub date_basis: Option<DateBasis>,
    /// When the source said so last, epoch seconds.
    pub last_seen: Option<Time>,
    /// Whether the source is public; false for overrides of this store.
    pub public: bool,
    /// How the claim reaches the address; null where it names the address.
    pub inherited_from: Option<Inheritance>,
    /// What links the address to the one that the claim names; null where `inherited_from` is not `cluster`.
    pub inherited_through: Option<InheritedThrough>,
    /// The name of the address in the source.
    pub name: Option<String>,
    /// Who the source says is behind the address.
    pub entity: Option<String>,
    /// How far the source is believed by its kind.
    pub level: CodeText,
    /// Claims of one group count once.
    pub group: String,
    /// The list that makes the claim; null where it is not from a list, such as a behaviour. Of several the first one.
    pub list: Option<String>,
    /// The licence of that list; null where it is not known.
    pub licence: Option<String>,
    /// When the claim ended, epoch seconds.
    pub valid_until: Option<Time>,
    /// `active`, `ended`, or `overridden` by a local removal.
    pub status: ClaimStatus,
    /// Who disputes the claim; null where nobody does. A disputed claim counts half, except claims of the levels
    /// `sanctions_list`, `issuer_freeze` and `ledger_immanent`.
    pub disputed: Option<ClaimDispute>,
}

/// A list of labels that an answer rests on, and the terms of its use.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, utoipa::ToSchema)]
pub struct LabelListRecord {
    /// The source of the import.
    pub source: String,
    /// The name of the list.
    pub list: String,
    /// The licence of the list; null where it is not known.
    pub licence: Option<String>,
}

impl From<&ListOrigin> for LabelListRecord {
    fn from(origin: &ListOrigin) -> Self {
        let ListOrigin { source, list, licence } = origin.clone();
        Self { source, list, licence }
    }
}

/// A dispute of a claim that is in force: somebody marked the claim as doubtful, and nobody has confirmed it since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema)]
pub struct ClaimDispute {
    /// Who: `cli:USER` at a shell, `admin:ID` through the back office, `python:USER` in Python.
    pub by: String,
    /// When, epoch seconds.
    pub at: Time,
    /// Why.
    pub reason: String,
}

impl<T: AsRef<str>> From<Dispute<T>> for ClaimDispute {
    fn from(of: Dispute<T>) -> Self {
        Self { by: of.by.as_ref().to_owned(), at: Time::from(of.at), reason: of.reason.as_ref().to_owned() }
    }
}

/// What links an address to another one of its cluster, whose label it inherits.
#[derive(Debug, Clone, PartialEq, Serialize, utoipa::ToSchema)]
pub struct InheritedThrough {
    /// The address that the claim names.
    pub address: AddressText,
    /// The cluster of both.
    pub cluster_id: AddressText,
    /// How sure the link is, 0 to 1: the claim counts times this.
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: f64,
    /// The shortest chain of transactions that link the two by common inputs; null if the search limit is reached.
    pub transactions: Option<Vec<HashText>>,
}

impl From<&InheritedLink> for InheritedThrough {
    fn from(link: &InheritedLink) -> Self {
        let hashes = |hashes: &Vec<TxHash>| -> Vec<HashText> {
            hashes.iter().map(|hash| HashText::new(hash, link.address.family())).collect()
        };
        Self {
            address: AddressText::from(link.address),
            cluster_id: AddressText::from(link.cluster),
            confidence: link.confidence(),
            transactions: link.transactions.as_ref().map(hashes),
        }
    }
}

/// The labels of one chain at a moment.
pub(crate) struct Labels<'a> {
    table: &'a LabelTable,
    /// The ledger whose clusters pass labels on; `None` if only claims that name an address count.
    clusters: Option<&'a dyn Ledger>,
    chain: Chain,
    network: Network,
    moment: Moment,
    links: LinkBudget,
}

impl<'a> Labels<'a> {
    /// Returns the labels with the last block and the last import.
    pub fn present(ledger: &'a dyn Ledger, chain: Chain) -> Self {
        let table = &**ledger.labels();
        let coverage = ledger.coverage().get(&chain);
        let head = coverage.and_then(|coverage| coverage.last_time);
        let network = coverage.map_or(Network::Mainnet, |coverage| coverage.network);
        Self {
            table,
            clusters: Some(ledger),
            chain,
            network,
            moment: Moment::present(table, head),
            links: LinkBudget::default(),
        }
    }

    /// Returns the labels at a time, or the present ones.
    pub fn at(ledger: &'a dyn Ledger, chain: Chain, time: Option<Timestamp>) -> Self {
        let present = Self::present(ledger, chain);
        Self { moment: time.map_or(present.moment, Moment::at), ..present }
    }

    /// Returns the labels with an import of a time: later ones change nothing of its events.
    pub fn at_import(ledger: &'a dyn Ledger, chain: Chain, time: Timestamp) -> Self {
        Self { clusters: None, moment: Moment::of_import(time), ..Self::present(ledger, chain) }
    }

    /// Aggregates the claims about an address.
    pub fn of(&self, address: &Address) -> Result<Aggregate<'a>, Error> {
        let claims = match self.clusters {
            Some(ledger) => claims_of(ledger, self.chain, address, &Cancel::new())?,
            None => self.table.claims(self.chain, address)?,
        };
        Ok(self.judge(&claims))
    }

    /// Aggregates the claims that name an address itself, without those that it has from its cluster.
    pub fn of_address(&self, address: &Address) -> Result<Aggregate<'a>, Error> {
        Ok(self.judge(&self.table.claims_on(self.chain, address)?))
    }

    /// Returns the same as an answer carries it; `None` without claims.
    pub fn shown(&self, address: &Address, cancel: &Cancel) -> Result<Option<AggregateLabel>, Error> {
        let aggregate = self.of(address)?;
        if aggregate.sources.is_empty() {
            return Ok(None);
        }
        self.record(address, &aggregate, cancel).map(Some)
    }

    /// Returns an aggregate as an answer carries it.
    pub fn record(
        &self,
        address: &Address,
        aggregate: &Aggregate<'_>,
        cancel: &Cancel,
    ) -> Result<AggregateLabel, Error> {
        let links = match self.clusters {
            Some(ledger) => self.links.inherited(ledger, (self.chain, address), aggregate, cancel)?,
            None => BTreeMap::new(),
        };
        AggregateLabel::new(aggregate, &links, self.table)
    }

    /// Aggregates claims about an address.
    pub fn judge<'c>(&self, claims: &[Claim<&'c str>]) -> Aggregate<'c> {
        aggregate(claims, &self.moment)
    }

    /// Aggregates the claims about an address as answers of this ledger write it.
    pub fn of_text(&self, address: &str) -> Result<Aggregate<'a>, Error> {
        if self.table.is_empty() {
            return Ok(Aggregate::default());
        }
        match Address::parse_on(self.chain, self.network, address) {
            Ok(address) => self.of(&address),
            Err(_) => Ok(Aggregate::default()),
        }
    }

    /// Returns the entity behind an address.
    pub fn entity(&self, address: &Address) -> Result<Option<String>, Error> {
        Ok(self.of(address)?.entity.map(str::to_owned))
    }

    /// Returns true if claims without a date are taken as made before the requested time.
    pub const fn is_at_a_time(&self) -> bool {
        self.moment.is_named()
    }
}

/// Warns that the ledger has no labels.
pub(crate) fn warn(ledger: &dyn Ledger, warnings: &mut Warnings) {
    if ledger.labels().is_empty() {
        let message = "no list of labels is imported: `headwater labels import core` imports public ones";
        warnings.add("no_labels", None, message);
    }
}

/// The age in days from which sanctions in force are old. Authorities change their lists several times a week.
const MAX_SANCTIONS_AGE_DAYS: i64 = 90;
const DAY_SECS: i64 = 86_400;

/// Describes each authority whose newest edition of sanctions in force is old at a time.
#[must_use]
pub fn old_sanctions(ledger: &dyn Ledger, now_secs: i64) -> Vec<String> {
    let editions = ledger.labels().sanctions_editions().into_iter();
    let describe = |SanctionsEdition { group, source, list, dated }: &SanctionsEdition| {
        let age_days = now_secs.saturating_sub(dated.secs()) / DAY_SECS;
        let date = dated.to_string();
        let date = date.get(..10).unwrap_or(&date);
        (age_days > MAX_SANCTIONS_AGE_DAYS).then(|| {
            format!(
                "the sanctions of {group} are {age_days} days old: the newest list in force is of {date} (list {list} of \
                 {source}); import a current one with `headwater labels import`"
            )
        })
    };
    editions.filter_map(describe).collect()
}

/// Warns of authorities whose newest edition of sanctions in force is old at the time of the answer. Without a clock it warns of
/// none.
pub(crate) fn warn_of_old_sanctions(ledger: &dyn Ledger, intelligence: &Intelligence, warnings: &mut Warnings) {
    let Some(now_secs) = intelligence.now_secs.map(|now| now()) else { return };
    for message in old_sanctions(ledger, now_secs) {
        warnings.add("sanctions_old", None, message);
    }
}

impl AggregateLabel {
    fn new(
        aggregate: &Aggregate<'_>,
        links: &BTreeMap<Address, InheritedLink>,
        table: &LabelTable,
    ) -> Result<Self, Error> {
        let source = |source: &SourceClaim<'_>| {
            let link = links.get(&source.claim.address).filter(|_| source.claim.link == Link::Cluster);
            let origins = table.origins_of(&source.claim)?;
            Ok::<_, Error>(LabelSource::new(source, link, origins.first().copied()))
        };
        Ok(Self {
            entity_name: aggregate.entity.map(str::to_owned),
            labels: codes(aggregate),
            confidence: rounded(aggregate.confidence),
            sources: aggregate.sources.iter().map(source).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns the codes of an address, most confident first.
pub(crate) fn codes(aggregate: &Aggregate<'_>) -> Vec<CodeText> {
    aggregate.codes.iter().map(|code| CodeText(code.code.name().to_owned())).collect()
}

impl LabelSource {
    fn new(source: &SourceClaim<'_>, link: Option<&InheritedLink>, origin: Option<&ListOrigin>) -> Self {
        let SourceClaim { claim, standing, confidence } = source;
        let text = |text: &str| text.to_owned();
        let label = claim.code.map(Code::name).or(claim.name).or(claim.entity).unwrap_or_default();
        Self {
            source: text(claim.source),
            source_url: claim.source_url.map(text),
            label: text(label),
            confidence: rounded(*confidence),
            first_seen: claim.asserted_at.map(Time::from),
            date_basis: claim.date_basis.map(DateBasis::from),
            last_seen: claim.last_seen.or(claim.asserted_at).map(Time::from),
            public: claim.level != Level::Override,
            inherited_from: inheritance(claim.link),
            inherited_through: link.map(InheritedThrough::from),
            name: claim.name.map(text),
            entity: claim.entity.map(text),
            level: CodeText(claim.level.name().to_owned()),
            group: text(claim.group),
            list: origin.map(|origin| origin.list.clone()),
            licence: origin.and_then(|origin| origin.licence.clone()),
            valid_until: claim.valid_until.map(Time::from),
            status: match standing {
                Standing::Active => ClaimStatus::Active,
                Standing::Ended => ClaimStatus::Ended,
                Standing::Overridden => ClaimStatus::Overridden,
            },
            disputed: claim.dispute.map(ClaimDispute::from),
        }
    }
}

impl From<labels::DateBasis> for DateBasis {
    fn from(basis: labels::DateBasis) -> Self {
        match basis {
            labels::DateBasis::Address => Self::Address,
            labels::DateBasis::Entity => Self::Entity,
        }
    }
}

const fn inheritance(link: Link) -> Option<Inheritance> {
    match link {
        Link::Exact | Link::ExactOnly => None,
        Link::Cluster => Some(Inheritance::Cluster),
        Link::ChangeCluster => Some(Inheritance::ChangeCluster),
        Link::DepositPattern => Some(Inheritance::DepositPattern),
        Link::Deployer => Some(Inheritance::Deployer),
        Link::GasFunder => Some(Inheritance::GasFunder),
    }
}

/// Rounds to three decimals, half to even.
pub(crate) fn rounded(confidence: f64) -> f64 {
    (confidence * 1000.0).round_ties_even() / 1000.0
}
