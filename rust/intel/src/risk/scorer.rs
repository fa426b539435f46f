//! The one way to a score: endpoints, tables of scores and events use it, so that equal data gives equal scores.

use headwater_ledger::labels::Claim;
use headwater_ledger::read::{Account, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::features::{Base, BaseGather};
use headwater_types::{Address, Chain};

use super::assess::{self, Assessment, Subject, assess};
use super::class::ClassView;
use super::graph::GraphScore;
use super::neighbours::{is_sent_by, neighbours};
use super::parameters::Parameters;
use super::place::Place;
use crate::behaviour::{Findings, History, HistoryGather, OthersInLedger};
use crate::classify::{Classifier, Classifiers, Verdict};
use crate::label::{Aggregate, LabelSource, Moment, aggregate, claims_by};

/// What scores rest on, besides the address.
#[derive(Clone, Copy)]
pub struct RiskScope<'a> {
    /// The data.
    pub ledger: &'a dyn Ledger,
    /// The labels that count.
    pub labels: &'a dyn LabelSource,
    /// Where addresses are judged.
    pub place: Place,
    /// The moment for which labels are asked.
    pub moment: Moment,
    /// The end of the data; `None` for all that the ledger has.
    pub until: Option<DataEnd>,
    /// The parameters of the score.
    pub parameters: &'a Parameters,
    /// The classifiers by chain.
    pub classifiers: &'a Classifiers,
    /// The number of features that the evidence of `scam_pattern` names. Naming takes time and changes no score.
    pub named_features: usize,
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

impl<'a> RiskScope<'a> {
    /// The present of a ledger: all its data, by the labels in force.
    #[must_use]
    pub fn present(
        ledger: &'a dyn Ledger,
        place: Place,
        (parameters, classifiers): (&'a Parameters, &'a Classifiers),
        cancel: &'a Cancel,
    ) -> Self {
        let head = place.chains().iter().filter_map(|chain| ledger.coverage().get(chain)?.last_time).max();
        let moment = Moment::present(ledger.labels(), head);
        let labels = &**ledger.labels();
        Self { ledger, labels, place, moment, until: None, parameters, classifiers, named_features: 0, cancel }
    }

    /// Reads what an address did, without what the rules make of it; `None` where behaviours are not judged, or the address was
    /// never seen.
    ///
    /// # Errors
    /// As [`RiskScorer::score`].
    pub fn history(&self, address: &Address) -> Result<Option<History>, LedgerError> {
        let Some(chain) = self.place.judged_chain().filter(|_| self.is_begun()) else { return Ok(None) };
        let Some(account) = self.ledger.account(chain, address)? else { return Ok(None) };
        self.histories(chain).read(self.ledger, &account, self.cancel).map(Some)
    }

    /// Whether there is a block before the end of the data.
    fn is_begun(&self) -> bool {
        self.until.is_none_or(|until| until.before_block > 0)
    }

    fn histories(&self, chain: Chain) -> HistoryGather<'a> {
        let of = &self.parameters.scan;
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

/// Scores addresses of one place, one after the other.
///
/// A score is computed in two steps: [`RiskScorer::read`] reads what the address did, [`RiskScorer::assess`] judges it by the
/// labels that are given. [`RiskScorer::score`] is both, by the labels of the scope.
pub struct RiskScorer<'a> {
    scope: RiskScope<'a>,
    /// `None` where labels alone are judged, or nothing of the chain is in the ledger.
    conduct: Option<Reader<'a>>,
    address: Option<Address>,
}

/// Reads what addresses did, and keeps what the last one did.
struct Reader<'a> {
    chain: Chain,
    classifier: Option<&'a Classifier>,
    histories: HistoryGather<'a>,
    others: OthersInLedger<'a>,
    bases: BaseGather,
    findings: Findings,
    verdict: Option<Verdict>,
    class: ClassView,
    /// Whether the ledger lacks tables of the chain.
    lacks_tables: bool,
}

impl<'a> RiskScorer<'a> {
    /// A scorer of a scope.
    #[must_use]
    pub fn new(scope: RiskScope<'a>) -> Self {
        let is_held = |chain: &Chain| scope.ledger.coverage().get(chain).is_some_and(|of| of.transactions > 0);
        let conduct = scope.place.judged_chain().filter(is_held).map(|chain| Reader {
            chain,
            classifier: scope.classifiers.of(chain).map(|classifier| &**classifier),
            histories: scope.histories(chain),
            others: OthersInLedger::new(
                scope.ledger,
                scope.histories(chain),
                scope.parameters.scan.others,
                scope.cancel,
            ),
            bases: BaseGather::new(chain),
            findings: Findings::default(),
            verdict: None,
            class: ClassView::default(),
            lacks_tables: scope.ledger.coverage().get(&chain).is_some_and(|of| of.missing(chain).next().is_some()),
        });
        Self { scope, conduct, address: None }
    }

    /// Scores an address by the labels of the scope.
    ///
    /// # Errors
    /// When the ledger cannot be read, the work is cancelled, or its memory is not enough.
    pub fn score(&mut self, address: &Address) -> Result<Assessment, LedgerError> {
        let claims = self.claims(address)?;
        self.read(address)?;
        self.assess(&aggregate(&claims, &self.scope.moment))
    }

    /// Returns the claims of the scope about an address.
    ///
    /// # Errors
    /// As [`RiskScorer::score`].
    pub fn claims(&self, address: &Address) -> Result<Vec<Claim<&'a str>>, LedgerError> {
        let RiskScope { ledger, labels, place, cancel, .. } = self.scope;
        let mut claims = match place {
            Place::Chain(chain) => claims_by(labels, ledger, (chain, address), cancel)?,
            Place::Evm => ledger.labels().claims_about(address)?,
        };
        claims.retain(|claim| place.holds(claim.scope));
        Ok(claims)
    }

    /// Reads what an address did: its history, what the rules find in it, and its class.
    ///
    /// # Errors
    /// As [`RiskScorer::score`].
    pub fn read(&mut self, address: &Address) -> Result<(), LedgerError> {
        self.address = Some(*address);
        let scope = self.scope;
        let Some(conduct) = &mut self.conduct else { return Ok(()) };
        let account = if scope.is_begun() { scope.ledger.account(conduct.chain, address)? } else { None };
        conduct.read(&scope, address, account.as_ref())
    }

    /// Judges the address that was read last by labels of its own. Counterparties are judged by the labels of the scope.
    ///
    /// # Errors
    /// As [`RiskScorer::score`].
    ///
    /// # Panics
    /// Before an address is read.
    pub fn assess(&self, own: &Aggregate<'_>) -> Result<Assessment, LedgerError> {
        let scope = &self.scope;
        let address = self.address.as_ref().expect("an address was read");
        let mut counterparties = |history: &History| -> Result<Option<GraphScore>, LedgerError> {
            let look_up =
                |other: &Address| Ok(aggregate(&scope.labels.claims_on(scope.place.chain(), other)?, &scope.moment));
            let (screened, all) = neighbours(scope.parameters, history, look_up, is_sent_by(scope.ledger, address))?;
            Ok(Some(GraphScore::of(scope.parameters, &screened, all)))
        };
        let subject = match &self.conduct {
            Some(conduct) => Subject::Seen(assess::Conduct {
                history: conduct.histories.history(),
                findings: &conduct.findings,
                class: &conduct.class,
                lacks_tables: conduct.lacks_tables,
            }),
            None if scope.place.judged_chain().is_some() => Subject::DataUnavailable,
            None => Subject::UnsupportedChain,
        };
        assess(scope.parameters, own, subject, &mut counterparties)
    }

    /// The moment for which labels are asked.
    #[must_use]
    pub const fn moment(&self) -> &Moment {
        &self.scope.moment
    }

    /// What the address that was read last did; `None` where behaviours are not judged.
    #[must_use]
    pub fn history(&self) -> Option<&History> {
        self.conduct.as_ref().map(|conduct| conduct.histories.history())
    }

    /// Its class, with the aggregates from which features are read; `None` where it is not judged, has no transfers, or the
    /// chain has no classifier.
    #[must_use]
    pub fn verdict(&self) -> Option<(&Verdict, &Base)> {
        let conduct = self.conduct.as_ref()?;
        Some((conduct.verdict.as_ref()?, conduct.bases.base()))
    }
}

impl Reader<'_> {
    fn read(&mut self, scope: &RiskScope<'_>, address: &Address, account: Option<&Account>) -> Result<(), LedgerError> {
        let (ledger, parameters) = (scope.ledger, scope.parameters);
        (self.verdict, self.class) = (None, ClassView::default());
        match account {
            Some(account) => {
                self.histories.read_next(ledger, account, scope.cancel)?;
                if let Some(classifier) = self.classifier {
                    let base = self.bases.read_within(ledger, account, &scope.scan(), scope.cancel)?;
                    self.verdict = classifier.classify(base);
                    // Failed movements, and those to itself, are no conduct.
                    if let Some(verdict) = self.verdict.as_ref().filter(|_| !self.histories.history().all.is_empty()) {
                        self.class = ClassView::of(parameters, classifier, (verdict, base), scope.named_features);
                    }
                }
            }
            None => self.histories.clear(),
        }
        self.findings = parameters.behaviours.scan(address, self.histories.history(), &self.others)?;
        Ok(())
    }
}
