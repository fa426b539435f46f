//! Labels as answers carry them.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use headwater_intel::bitcoin::links::LinkReader;
use headwater_intel::label::{Aggregate, Moment, SourceClaim, Standing, aggregate, claims_of};
use headwater_ledger::labels::{self, Claim, Code, Dispute, LabelTable, Level, Link, ListOrigin};
use headwater_ledger::{Cancel, Ledger};
use headwater_types::{Address, Chain, Network, Timestamp, TxHash};
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::fields::{AddressText, CodeText, HashText, Time, values};
use crate::request::Warnings;

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

impl LabelListRecord {
    /// Returns the lists that make claims, in order, each once.
    pub(crate) fn of_claims<'c>(
        table: &LabelTable,
        claims: impl IntoIterator<Item = &'c Claim<&'c str>>,
    ) -> Result<Vec<Self>, Error> {
        let mut lists = BTreeSet::new();
        for claim in claims {
            lists.extend(table.origins_of(claim)?.into_iter().map(Self::from));
        }
        Ok(lists.into_iter().collect())
    }
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

impl InheritedThrough {
    /// The same in words.
    pub(crate) fn words(&self) -> String {
        let Self { address, cluster_id, confidence, transactions } = self;
        let linked = match transactions {
            Some(transactions) => {
                let hashes: Vec<&str> = transactions.iter().take(MAX_NAMED).map(|hash| &*hash.0).collect();
                let more = transactions.len() - hashes.len();
                let more = if more > 0 { format!(" and {more} more") } else { String::new() };
                format!("linked by {}{more}", hashes.join(", "))
            }
            None => "link not found within the search limit".to_owned(),
        };
        format!("inherited with {confidence} from {} of the cluster {}, {linked}", &**address, &**cluster_id)
    }
}

/// Linking transactions that words name.
const MAX_NAMED: usize = 3;
/// Transactions that are read to find what links an address to those whose labels it inherits.
const MAX_LINKS: usize = 1_000;
/// The same of all addresses of an answer.
const MAX_LINKS_IN_ALL: usize = 5_000;

/// The transactions that an answer may still read to find what links addresses.
pub(crate) struct LinkBudget(Cell<usize>);

impl Default for LinkBudget {
    fn default() -> Self {
        Self(Cell::new(MAX_LINKS_IN_ALL))
    }
}

impl LinkBudget {
    /// Returns what links an address to those of its cluster whose labels it inherits, by their addresses.
    pub fn inherited_through(
        &self,
        ledger: &dyn Ledger,
        (chain, address): (Chain, &Address),
        aggregate: &Aggregate<'_>,
        cancel: &Cancel,
    ) -> Result<BTreeMap<Address, InheritedThrough>, Error> {
        let inherited = aggregate.sources.iter().filter(|source| source.claim.link == Link::Cluster);
        let named: BTreeSet<Address> = inherited.map(|source| source.claim.address).collect();
        if named.is_empty() {
            return Ok(BTreeMap::new());
        }
        let (Some(clusters), Some(account)) = (ledger.clusters(chain, cancel)?, ledger.account(chain, address)?) else {
            return Ok(BTreeMap::new());
        };
        let Some(cluster) = clusters.of(&account)? else { return Ok(BTreeMap::new()) };
        let limit = self.0.get().min(MAX_LINKS);
        let mut reader = LinkReader::new((ledger, chain), clusters, limit, cancel);
        let mut paths = reader.paths(address, &named)?;
        self.0.set(self.0.get() - (limit - reader.left()));
        let through = named.into_iter().map(|named| {
            let hash = |hash: TxHash| HashText(hash.display(chain.family()));
            let transactions = paths.remove(&named).map(|path| path.into_iter().map(hash).collect());
            let through = InheritedThrough {
                address: AddressText::from(named),
                cluster_id: AddressText::from(cluster.name),
                confidence: f64::from(Link::Cluster.thousandths()) / 1000.0,
                transactions,
            };
            (named, through)
        });
        Ok(through.collect())
    }
}

/// The labels of one chain at a moment.
pub(crate) struct Labels<'a> {
    table: &'a LabelTable,
    /// Where clusters pass labels on; `None` where only what names an address counts.
    clusters: Option<&'a dyn Ledger>,
    chain: Chain,
    network: Network,
    moment: Moment,
    links: LinkBudget,
}

impl<'a> Labels<'a> {
    /// The labels as they stand with the last block and the last import.
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

    /// The labels at a time, or as they stand.
    pub fn at(ledger: &'a dyn Ledger, chain: Chain, time: Option<Timestamp>) -> Self {
        let present = Self::present(ledger, chain);
        Self { moment: time.map_or(present.moment, Moment::at), ..present }
    }

    /// The labels as they stood with an import of a time: what came later changes nothing of its events.
    pub fn at_import(ledger: &'a dyn Ledger, chain: Chain, time: Timestamp) -> Self {
        Self { clusters: None, moment: Moment::of_import(time), ..Self::present(ledger, chain) }
    }

    /// What the claims about an address come to.
    pub fn of(&self, address: &Address) -> Result<Aggregate<'a>, Error> {
        let claims = match self.clusters {
            Some(ledger) => claims_of(ledger, self.chain, address, &Cancel::new())?,
            None => self.table.claims(self.chain, address)?,
        };
        Ok(self.judge(&claims))
    }

    /// The same as an answer carries it; `None` where nobody says anything.
    pub fn shown(&self, address: &Address, cancel: &Cancel) -> Result<Option<AggregateLabel>, Error> {
        let aggregate = self.of(address)?;
        if aggregate.sources.is_empty() {
            return Ok(None);
        }
        self.record(address, &aggregate, cancel).map(Some)
    }

    /// What claims come to, as an answer carries it.
    pub fn record(
        &self,
        address: &Address,
        aggregate: &Aggregate<'_>,
        cancel: &Cancel,
    ) -> Result<AggregateLabel, Error> {
        let through = match self.clusters {
            Some(ledger) => self.links.inherited_through(ledger, (self.chain, address), aggregate, cancel)?,
            None => BTreeMap::new(),
        };
        AggregateLabel::new(aggregate, &through, self.table)
    }

    /// What these claims about an address come to.
    pub fn judge<'c>(&self, claims: &[Claim<&'c str>]) -> Aggregate<'c> {
        aggregate(claims, &self.moment)
    }

    /// The same of an address as answers of this ledger write it.
    pub fn of_text(&self, address: &str) -> Result<Aggregate<'a>, Error> {
        if self.table.is_empty() {
            return Ok(Aggregate::default());
        }
        match Address::parse_on(self.chain, self.network, address) {
            Ok(address) => self.of(&address),
            Err(_) => Ok(Aggregate::default()),
        }
    }

    /// The entity behind an address.
    pub fn entity(&self, address: &Address) -> Result<Option<String>, Error> {
        Ok(self.of(address)?.entity.map(str::to_owned))
    }

    /// Whether claims without a date are taken as made before the time asked for.
    pub const fn is_at_a_time(&self) -> bool {
        self.moment.is_named()
    }
}

/// Says that the ledger has no labels.
pub(crate) fn warn(ledger: &dyn Ledger, warnings: &mut Warnings) {
    if ledger.labels().is_empty() {
        let message = "no list of labels is imported: import some with `headwater labels import`";
        warnings.add("no_labels", None, message);
    }
}

impl AggregateLabel {
    /// As an answer carries it.
    fn new(
        aggregate: &Aggregate<'_>,
        through: &BTreeMap<Address, InheritedThrough>,
        table: &LabelTable,
    ) -> Result<Self, Error> {
        let source = |source: &SourceClaim<'_>| {
            let through = through.get(&source.claim.address).filter(|_| source.claim.link == Link::Cluster);
            let origins = table.origins_of(&source.claim)?;
            Ok::<_, Error>(LabelSource::new(source, through, origins.first().copied()))
        };
        Ok(Self {
            entity_name: aggregate.entity.map(str::to_owned),
            labels: codes(aggregate),
            confidence: rounded(aggregate.confidence),
            sources: aggregate.sources.iter().map(source).collect::<Result<_, _>>()?,
        })
    }
}

/// The codes of an address, most confident first.
pub(crate) fn codes(aggregate: &Aggregate<'_>) -> Vec<CodeText> {
    aggregate.codes.iter().map(|code| CodeText(code.code.name().to_owned())).collect()
}

impl LabelSource {
    fn new(source: &SourceClaim<'_>, through: Option<&InheritedThrough>, origin: Option<&ListOrigin>) -> Self {
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
            inherited_through: through.cloned(),
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

/// Three decimals, half to even.
fn rounded(confidence: f64) -> f64 {
    (confidence * 1000.0).round_ties_even() / 1000.0
}
