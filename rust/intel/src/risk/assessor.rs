//! The assessor of risk: it reads what is known of an address, asks a provider where that could matter, and judges it.

use std::collections::BTreeSet;

use headwater_ledger::feed::{FeedItem, ItemKind};
use headwater_ledger::labels::{Action, Claim, Code, Level as ClaimLevel, Link, ListOrigin, Scope};
use headwater_ledger::read::{Account, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::features::{Base, BaseGather};
use headwater_types::{Address, Chain, Timestamp};

use super::behaviour::ClassView;
use super::counterparties::{GraphScore, is_sent_by, neighbours};
use super::factors::Dimension;
use super::intelligence::{Intelligence, ProviderPolicy, ProviderUse};
use super::judgement::{Conduct, Judgement, Level, Subject, judge, judge_labels};
use super::parameters::Parameters;
use crate::behaviour::{Findings, History, HistoryGather, OthersInLedger};
use crate::bitcoin::links::LinkBudget;
use crate::classify::{Classifier, Verdict};
use crate::label::{Aggregate, LabelSource, Moment, StateLabels, aggregate, claims_by, labelled_in_cluster};

/// The number of features that the evidence of `scam_pattern` names in an explained assessment.
const NAMED_FEATURES: usize = 5;

/// The state of a store by which addresses are assessed, and how.
#[derive(Clone, Copy)]
pub struct RiskScope<'a> {
    /// The data.
    pub ledger: &'a dyn Ledger,
    /// The parameters, classifiers, provider and clock.
    pub intelligence: &'a Intelligence,
    /// The chains on which addresses are assessed; on every EVM chain together by labels alone.
    pub chains: Scope,
    /// The labels that count.
    pub labels: &'a dyn LabelSource,
    /// The moment for which labels are asked.
    pub moment: Moment,
    /// The end of the data; `None` for all that the ledger has.
    pub until: Option<DataEnd>,
    /// When the provider is asked.
    pub provider: ProviderPolicy,
    /// The detail of assessments.
    pub detail: Detail<'a>,
    /// Stops the work.
    pub cancel: &'a Cancel,
}

/// The end of the data of an earlier state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DataEnd {
    /// The first block that is left out.
    pub before_block: u64,
    /// The time to which finds age, epoch seconds.
    pub head: i64,
}

/// The detail of assessments. It changes no score.
#[derive(Debug, Clone, Copy)]
pub enum Detail<'a> {
    /// The score and its parts.
    Score,
    /// The lists behind it too, the features behind a likeness to scams, and the links behind inherited claims, which are
    /// searched within a budget.
    Explained(&'a LinkBudget),
}

/// Returns the chain whose behaviours and counterparties are judged; `None` if labels alone are judged.
#[must_use]
pub const fn judged_chain(chains: Scope) -> Option<Chain> {
    match chains {
        Scope::Chain(chain @ (Chain::ETHEREUM | Chain::TRON)) => Some(chain),
        Scope::Chain(_) | Scope::Evm => None,
    }
}

impl<'a> RiskScope<'a> {
    /// Returns the present of a ledger: all its data, by the labels in force, without a provider and explanations.
    #[must_use]
    pub fn present(ledger: &'a dyn Ledger, intelligence: &'a Intelligence, chains: Scope, cancel: &'a Cancel) -> Self {
        let head = chains.chains().filter_map(|chain| ledger.coverage().get(&chain)?.last_time).max();
        Self {
            ledger,
            intelligence,
            chains,
            labels: &**ledger.labels(),
            moment: Moment::present(ledger.labels(), head),
            until: None,
            provider: ProviderPolicy::Never,
            detail: Detail::Score,
            cancel,
        }
    }

    /// Returns the states before and after an item of the change feed, with the labels of both. With the last item the state
    /// after it is the present of the store.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn around(
        (item, is_last_import): (&FeedItem, bool),
        (ledger, intelligence): (&'a dyn Ledger, &'a Intelligence),
        labels: &'a [StateLabels<'a>; 2],
        cancel: &'a Cancel,
    ) -> Result<[Self; 2], LedgerError> {
        let head = head_of(ledger, item)?;
        let moment = match head {
            Some(head) if !is_last_import => {
                let imported_at = matches!(item.kind, ItemKind::Labels { .. }).then_some(item.time);
                Moment::of_state(head, imported_at)
            }
            head => Moment::present(ledger.labels(), head),
        };
        let head = head.map_or(0, Timestamp::secs);
        let present = Self::present(ledger, intelligence, Scope::Chain(item.chain), cancel);
        let state = |labels: &'a StateLabels<'a>, before_block| Self {
            labels,
            moment,
            until: Some(DataEnd { before_block, head }),
            ..present
        };
        let (before, after) = match item.kind {
            ItemKind::Block => (item.number, item.number.saturating_add(1)),
            ItemKind::Labels { .. } => [item.head.saturating_add(1); 2].into(),
        };
        Ok([state(&labels[0], before), state(&labels[1], after)])
    }

    /// Returns true if an import may change the risk of an address: it names the address, a counterparty, or another address
    /// of its cluster.
    ///
    /// # Errors
    /// As [`Assessor::assess`].
    pub fn is_changed_by(&self, import: u64, address: &Address) -> Result<bool, LedgerError> {
        let Self { ledger, chains, cancel, .. } = *self;
        let history = self.history(address)?;
        let counterparties = history.iter().flat_map(|history| &history.counterparties).map(|other| &other.address);
        let in_cluster = labelled_in_cluster(ledger, (chains.address_chain(), address), cancel)?;
        for named in std::iter::once(address).chain(counterparties).chain(in_cluster) {
            if ledger.labels().is_named_by(import, named)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads the movements of an address; `None` if behaviours are not judged, or the address was never seen.
    fn history(&self, address: &Address) -> Result<Option<History>, LedgerError> {
        let Some(chain) = judged_chain(self.chains).filter(|_| self.has_begun()) else { return Ok(None) };
        let Some(account) = self.ledger.account(chain, address)? else { return Ok(None) };
        self.histories(chain).read(self.ledger, &account, self.cancel).map(Some)
    }

    fn claims(&self, address: &Address) -> Result<Vec<Claim<&'a str>>, LedgerError> {
        let Self { ledger, labels, chains, cancel, .. } = *self;
        let mut claims = match chains {
            Scope::Chain(chain) => claims_by(labels, ledger, (chain, address), cancel)?,
            Scope::Evm => ledger.labels().claims_about(address)?,
        };
        claims.retain(|claim| chains.chains().any(|chain| claim.scope.contains(chain)));
        Ok(claims)
    }

    fn parameters(&self) -> &'a Parameters {
        &self.intelligence.parameters
    }

    /// Returns true if there is a block before the end of the data.
    fn has_begun(&self) -> bool {
        self.until.is_none_or(|until| until.before_block > 0)
    }

    fn histories(&self, chain: Chain) -> HistoryGather<'a> {
        let of = &self.parameters().scan;
        let gather = HistoryGather::new(self.ledger, chain, self.moment, &of.stablecoins, of.most_transfers);
        let gather = gather.with_labels(self.labels);
        match self.until {
            Some(until) => gather.within(self.scan(), until.head),
            None => gather,
        }
    }

    fn scan(&self) -> Scan {
        let up_to_block = self.until.map(|until| until.before_block.saturating_sub(1));
        Scan { up_to_block, ..Scan::default() }
    }
}

/// Returns the time of the last block with an item of the change feed.
fn head_of(ledger: &dyn Ledger, item: &FeedItem) -> Result<Option<Timestamp>, LedgerError> {
    let coverage = ledger.coverage().get(&item.chain);
    let last = coverage.and_then(|of| of.last_time);
    match item.kind {
        ItemKind::Block => Ok(Some(item.time)),
        ItemKind::Labels { .. } if coverage.is_some_and(|of| of.last_block != Some(item.head)) => {
            Ok(ledger.block(item.chain, item.head)?.map(|block| block.time).or(last))
        }
        ItemKind::Labels { .. } => Ok(last),
    }
}

/// The risk of an address, and everything that it rests on.
#[derive(Debug)]
pub struct Assessment<'a> {
    /// The chains on which it was assessed.
    pub chains: Scope,
    /// The address.
    pub address: Address,
    /// The score and its parts.
    pub judgement: Judgement,
    /// The labels of the address, with the claims of a provider.
    pub labels: Aggregate<'a>,
    /// The movements of the address; `None` if behaviours are not judged.
    pub history: Option<&'a History>,
    /// The class of the address, with the aggregates from which features are read; `None` if behaviours are not judged, it has
    /// no transfers, or the chain has no classifier.
    pub class: Option<(&'a Verdict, &'a Base)>,
    /// The part of the provider.
    pub provider: ProviderUse,
    /// The lists whose claims the score rests on, about the address and about the risky counterparties that are named; empty
    /// unless explained.
    pub lists: BTreeSet<ListOrigin>,
    /// The parameters of the score.
    pub parameters: &'a Parameters,
    /// The time of the assessment, epoch seconds; without a clock that of the last block.
    pub computed_at: i64,
    /// The last block of the data; `None` if the chain is not held.
    pub as_of_block: Option<u64>,
    /// The digest of the labels in force.
    pub labels_digest: u64,
}

/// Assesses addresses of one scope, one after the other: endpoints, tables of scores and alerts use it, so that equal data
/// gives equal scores.
pub struct Assessor<'a> {
    scope: RiskScope<'a>,
    /// `None` if labels alone are judged, or the ledger holds nothing of the chain.
    conduct: Option<ConductReader<'a>>,
    /// Claims of the provider about the last address.
    provided: Vec<Claim>,
}

/// Reads what addresses did, and keeps what the last one did.
struct ConductReader<'a> {
    chain: Chain,
    classifier: Option<&'a Classifier>,
    histories: HistoryGather<'a>,
    others: OthersInLedger<'a>,
    bases: BaseGather,
    findings: Findings,
    verdict: Option<Verdict>,
    class: ClassView,
    lacks_tables: bool,
}

impl<'a> Assessor<'a> {
    /// Returns an assessor of a scope.
    #[must_use]
    pub fn new(scope: RiskScope<'a>) -> Self {
        let is_held = |chain: &Chain| scope.ledger.coverage().get(chain).is_some_and(|of| of.transactions > 0);
        let conduct = judged_chain(scope.chains).filter(is_held).map(|chain| ConductReader {
            chain,
            classifier: scope.intelligence.classifiers.of(chain).map(|classifier| &**classifier),
            histories: scope.histories(chain),
            others: OthersInLedger::new(
                scope.ledger,
                scope.histories(chain),
                scope.parameters().scan.others,
                scope.cancel,
            ),
            bases: BaseGather::new(chain),
            findings: Findings::default(),
            verdict: None,
            class: ClassView::default(),
            lacks_tables: scope.ledger.coverage().get(&chain).is_some_and(|of| of.missing(chain).next().is_some()),
        });
        Self { scope, conduct, provided: Vec::new() }
    }

    /// Assesses an address.
    ///
    /// # Errors
    /// When the ledger cannot be read, the work is cancelled, or its memory is not enough.
    pub fn assess(&mut self, address: &Address) -> Result<Assessment<'_>, LedgerError> {
        let claims = self.scope.claims(address)?;
        self.read(address)?;
        let labels = aggregate(&claims, &self.scope.moment);
        let judgement = self.judge(address, &labels)?;
        let (provider, provided) = self.ask(address, (&claims, &labels), &judgement);
        self.provided = provided;
        let this = &*self;
        if this.provided.is_empty() {
            return this.explained(address, labels, judgement, provider);
        }
        let claims: Vec<Claim<&str>> = claims.into_iter().chain(this.provided.iter().map(Claim::borrowed)).collect();
        let labels = aggregate(&claims, &this.scope.moment);
        let judgement = this.judge(address, &labels)?;
        this.explained(address, labels, judgement, provider)
    }

    /// Assesses an address as if no claim named it, to measure how far the rest leads. Counterparties count by their labels.
    ///
    /// # Errors
    /// As [`Assessor::assess`].
    pub fn assess_without_labels(&mut self, address: &Address) -> Result<Assessment<'_>, LedgerError> {
        self.read(address)?;
        let labels = Aggregate::default();
        let judgement = self.judge(address, &labels)?;
        self.explained(address, labels, judgement, ProviderUse::Unused)
    }

    /// Reads what an address did: its history, what the rules find in it, and its class.
    fn read(&mut self, address: &Address) -> Result<(), LedgerError> {
        let scope = self.scope;
        let Some(conduct) = &mut self.conduct else { return Ok(()) };
        let account = if scope.has_begun() { scope.ledger.account(conduct.chain, address)? } else { None };
        conduct.read(&scope, address, account.as_ref())
    }

    /// Judges the address that was read last by labels of its own. Counterparties are judged by the labels of the scope.
    fn judge(&self, address: &Address, labels: &Aggregate<'_>) -> Result<Judgement, LedgerError> {
        let scope = &self.scope;
        let mut counterparties = |history: &History| -> Result<Option<GraphScore>, LedgerError> {
            let chain = scope.chains.address_chain();
            let look_up = |other: &Address| Ok(aggregate(&scope.labels.claims_on(chain, other)?, &scope.moment));
            let (screened, all) = neighbours(scope.parameters(), history, look_up, is_sent_by(scope.ledger, address))?;
            Ok(Some(GraphScore::of(scope.parameters(), &screened, all)))
        };
        let subject = match &self.conduct {
            Some(conduct) => Subject::Seen(Conduct {
                history: conduct.histories.history(),
                findings: &conduct.findings,
                class: &conduct.class,
                lacks_tables: conduct.lacks_tables,
            }),
            None if judged_chain(scope.chains).is_some() => Subject::DataUnavailable,
            None => Subject::UnsupportedChain,
        };
        judge(scope.parameters(), labels, subject, &mut counterparties)
    }

    /// Asks the provider for further claims, as the policy wants it.
    fn ask(
        &self,
        address: &Address,
        labels: (&[Claim<&str>], &Aggregate<'_>),
        judgement: &Judgement,
    ) -> (ProviderUse, Vec<Claim>) {
        let RiskScope { intelligence, chains, provider: policy, .. } = self.scope;
        let Some(provider) = &intelligence.provider else {
            let missing =
                if policy == ProviderPolicy::Always { ProviderUse::Unconfigured } else { ProviderUse::Unused };
            return (missing, Vec::new());
        };
        let is_wanted = match policy {
            ProviderPolicy::Never => false,
            ProviderPolicy::Always => true,
            ProviderPolicy::IfDecisive => self.could_change(labels, judgement, provider.level()),
        };
        if !is_wanted {
            return (ProviderUse::Unused, Vec::new());
        }
        match provider.claims(chains.name(), address) {
            Ok(claims) => (ProviderUse::Used, claims),
            Err(reason) => (ProviderUse::Failed { provider: provider.name().to_owned(), reason }, Vec::new()),
        }
    }

    /// Returns true if the gravest claims that a provider may make would change level or gate.
    fn could_change(
        &self,
        (claims, labels): (&[Claim<&str>], &Aggregate<'_>),
        judgement: &Judgement,
        level: ClaimLevel,
    ) -> bool {
        let gravest = [Code::Sanction, Code::Ransomware].map(|code| strongest_claim(code, level));
        let with: Vec<_> = claims.iter().copied().chain(gravest).collect();
        let parameters = self.scope.parameters();
        let by_labels = judge_labels(parameters, labels);
        let by_labels_with = judge_labels(parameters, &aggregate(&with, &self.scope.moment));
        let rest = 1.0 - judgement.base.score / 100.0;
        // The score of labels alone, beside what is known from elsewhere.
        let highest = 100.0 - rest * (100.0 - by_labels_with.score);
        by_labels.gate() != by_labels_with.gate()
            || Level::of(parameters, highest.max(judgement.score)) != judgement.level
    }

    /// Completes a judgement with everything that it rests on.
    fn explained<'s>(
        &'s self,
        address: &Address,
        labels: Aggregate<'s>,
        mut judgement: Judgement,
        provider: ProviderUse,
    ) -> Result<Assessment<'s>, LedgerError> {
        let RiskScope { ledger, intelligence, chains, detail, .. } = self.scope;
        let lists = match detail {
            Detail::Score => BTreeSet::new(),
            Detail::Explained(budget) => {
                self.add_links(address, &labels, &mut judgement, budget)?;
                self.lists(&labels, &judgement)?
            }
        };
        let coverage = match chains {
            Scope::Chain(chain) => ledger.coverage().get(&chain),
            Scope::Evm => None,
        };
        let head = coverage.and_then(|coverage| coverage.last_time).map_or(0, Timestamp::secs);
        Ok(Assessment {
            chains,
            address: *address,
            judgement,
            labels,
            history: self.conduct.as_ref().map(|conduct| conduct.histories.history()),
            class: self.conduct.as_ref().and_then(|of| Some((of.verdict.as_ref()?, of.bases.base()))),
            provider,
            lists,
            parameters: self.scope.parameters(),
            computed_at: intelligence.now_secs.map_or(head, |now| now()),
            as_of_block: coverage.and_then(|coverage| coverage.last_block),
            labels_digest: ledger.labels().digest(),
        })
    }

    /// Adds to the factors of label codes the links through which claims of the code are inherited.
    fn add_links(
        &self,
        address: &Address,
        labels: &Aggregate<'_>,
        judgement: &mut Judgement,
        budget: &LinkBudget,
    ) -> Result<(), LedgerError> {
        let RiskScope { ledger, chains, cancel, .. } = self.scope;
        let links = budget.inherited(ledger, (chains.address_chain(), address), labels, cancel)?;
        if links.is_empty() {
            return Ok(());
        }
        for factor in judgement.factors.iter_mut().filter(|factor| factor.dimension == Dimension::Intel) {
            let inherited = labels.sources.iter().filter(|source| {
                let is_of_code = source.claim.code.is_some_and(|code| code.name() == factor.code);
                is_of_code && source.claim.link == Link::Cluster && source.confidence > 0.0
            });
            let named: BTreeSet<Address> = inherited.map(|source| source.claim.address).collect();
            factor.inherited = named.iter().filter_map(|address| links.get(address).cloned()).collect();
            for link in &factor.inherited {
                factor.detail.push_str("; ");
                factor.detail.push_str(&link.words());
            }
        }
        Ok(())
    }

    /// Returns the lists whose claims a score rests on.
    fn lists(&self, labels: &Aggregate<'_>, judgement: &Judgement) -> Result<BTreeSet<ListOrigin>, LedgerError> {
        let table = self.scope.ledger.labels();
        let counted = labels.sources.iter().filter(|source| source.confidence > 0.0);
        let mut claims: Vec<Claim<&str>> = counted.map(|source| source.claim).collect();
        for (neighbour, _) in judgement.graph.iter().flat_map(|graph| &graph.risky) {
            let about = table.claims(self.scope.chains.address_chain(), &neighbour.address)?;
            let is_behind = |claim: &Claim<&str>| claim.code.is_some_and(|code| neighbour.codes.contains(&code));
            claims.extend(about.into_iter().filter(is_behind));
        }
        let mut lists = BTreeSet::new();
        for claim in &claims {
            lists.extend(table.origins_of(claim)?.into_iter().cloned());
        }
        Ok(lists)
    }
}

impl ConductReader<'_> {
    fn read(&mut self, scope: &RiskScope<'_>, address: &Address, account: Option<&Account>) -> Result<(), LedgerError> {
        let (ledger, parameters) = (scope.ledger, scope.parameters());
        let named_features = match scope.detail {
            Detail::Score => 0,
            Detail::Explained(_) => NAMED_FEATURES,
        };
        (self.verdict, self.class) = (None, ClassView::default());
        match account {
            Some(account) => {
                self.histories.read_next(ledger, account, scope.cancel)?;
                if let Some(classifier) = self.classifier {
                    let base = self.bases.read_within(ledger, account, &scope.scan(), scope.cancel)?;
                    self.verdict = classifier.classify(base);
                    // Failed movements, and those to itself, are not conduct.
                    if let Some(verdict) = self.verdict.as_ref().filter(|_| !self.histories.history().all.is_empty()) {
                        self.class = ClassView::of(parameters, classifier, (verdict, base), named_features);
                    }
                }
            }
            None => self.histories.clear(),
        }
        self.findings = parameters.behaviours.scan(address, self.histories.history(), &self.others)?;
        Ok(())
    }
}

/// Returns the strongest claim of a code that a provider of a level can make.
const fn strongest_claim(code: Code, level: ClaimLevel) -> Claim<&'static str> {
    Claim {
        address: Address::Evm([0; 20]),
        scope: Scope::Evm,
        code: Some(code),
        name: None,
        entity: None,
        source: "provider",
        source_url: None,
        group: "provider",
        level,
        reliability: level.thousandths(),
        link: Link::Exact,
        asserted_at: None,
        date_basis: None,
        last_seen: None,
        valid_until: None,
        action: Action::Add,
        dispute: None,
    }
}
