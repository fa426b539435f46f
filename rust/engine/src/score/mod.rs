//! Risk, class and features of very many addresses, one row for each.
//!
//! The numbers are those that `address-risk` and `address-classify` give for one address, without what explains them.

mod addresses;
mod columns;
mod description;
mod error;
mod folder;
mod format;
mod job;
mod part;
mod plan;
mod row;

use std::collections::BTreeSet;
use std::sync::Arc;

use headwater_intel::classify::Classifier;
use headwater_intel::risk::{Assessor, RiskScope, judged_chain};
use headwater_ledger::labels::{ListOrigin, Scope};
use headwater_ledger::read::Coverage;
use headwater_ledger::{Cancel, Ledger, LedgerError};
pub use headwater_metrics::features::ObservationSample;
use headwater_metrics::features::{self, Base, BaseGather, Feature};
use headwater_types::{Address, Chain, TimeWindow};
use rayon::prelude::*;

pub use self::addresses::{AddressList, AddressParts, Addresses};
pub use self::columns::ScoreColumns;
pub use self::description::JobDescription;
pub use self::error::ScoreError;
pub use self::folder::{FolderLock, PartFolder, parts_folder};
pub use self::format::{PartCounts, ScoreFormat};
pub use self::job::{
    JoinReport, PartFile, ScoreJob, ScoreProgress, ScoreReport, ShardReport, join_parts, part_file, score_parts,
};
pub use self::part::{PartAddresses, PlannedPart};
pub use self::plan::{ADDRESSES_PER_PART, HUB_MOVEMENTS, PartSize, PlannedParts, ScorePlan, Shard};
pub use self::row::{ClassScore, RiskScore, ScoreRow};
use crate::core_prices_end::CorePricesEnd;
use crate::labels::LabelListRecord;
use crate::request::Warnings;
use crate::{Error, ErrorKind, Intelligence, Reason, Warning, coverage, labels};

/// Addresses that one thread takes at a time: enough that caches of labels and assets pay, few enough to share the work.
const ADDRESSES_PER_TASK: usize = 256;

/// Scores addresses of one chain of one generation.
pub struct Scorer {
    ledger: Arc<dyn Ledger>,
    intelligence: Intelligence,
    chain: Chain,
    columns: ScoreColumns,
    /// Identifies the content of the generation.
    store: Option<String>,
    observed: Option<ObservationSample>,
    classifier: Option<Arc<Classifier>>,
    features: Vec<&'static Feature>,
}

impl Scorer {
    pub(crate) fn new(
        (ledger, store): (Arc<dyn Ledger>, Option<String>),
        intelligence: Intelligence,
        chain: Chain,
        columns: ScoreColumns,
    ) -> Result<Self, Error> {
        let classifier = intelligence.classifiers.of(chain).map(Arc::clone);
        if columns.class && classifier.is_none() {
            return Err(Error::invalid(
                Reason::UnsupportedChain,
                "columns",
                format!("columns: there is no classifier of {chain}; leave `class` out, or name a model of the chain"),
            ));
        }
        coverage::check_any(&*ledger, Some("blockchain"), chain.name(), &[chain])?;
        let features = if columns.features { features::features_of(chain.family()).collect() } else { Vec::new() };
        Ok(Self { ledger, intelligence, chain, columns, store, observed: None, classifier, features })
    }

    /// The same with features as if only some addresses had been observed. Risk and class do not change.
    ///
    /// # Errors
    /// When the share is not above 0 and at most 1.
    pub fn observed(self, observed: Option<ObservationSample>) -> Result<Self, Error> {
        match observed {
            Some(ObservationSample { share, .. }) if !(share > 0.0 && share <= 1.0) => Err(Error::invalid(
                Reason::InvalidValue,
                "observed",
                format!("observed: the share is {share}; give a number above 0 and at most 1"),
            )),
            observed => Ok(Self { observed, ..self }),
        }
    }

    /// What a reader of the rows should know: data that is not held, and a risk that rests on labels alone.
    #[must_use]
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Warnings::default();
        let judged = judged_chain(Scope::Chain(self.chain));
        if self.columns.risk {
            labels::warn(&*self.ledger, &mut warnings);
            labels::warn_of_old_sanctions(&*self.ledger, &self.intelligence, &mut warnings);
        }
        if self.columns.risk && judged.is_none() {
            let message = format!(
                "the risk of {} rests on labels alone: behaviours and counterparties are judged on ethereum and tron only",
                self.chain
            );
            warnings.add("labels_only", None, message);
        }
        if judged.is_some() || self.columns.class || self.columns.features {
            coverage::warn(&*self.ledger, self.chain, TimeWindow::ALL, &mut warnings);
            let mut end = CorePricesEnd::new(&*self.ledger);
            end.note_chain(self.chain);
            end.warn(&mut warnings);
        }
        warnings.into_list()
    }

    /// The classifier, where rows need it: for the class, and for the context of a risk that has behaviours.
    fn classifier_in_use(&self) -> Option<&Classifier> {
        let of_risk = self.columns.risk && judged_chain(Scope::Chain(self.chain)).is_some();
        self.classifier.as_deref().filter(|_| self.columns.class || of_risk)
    }

    /// The chain.
    #[must_use]
    pub const fn chain(&self) -> Chain {
        self.chain
    }

    /// What the rows hold.
    #[must_use]
    pub const fn columns(&self) -> ScoreColumns {
        self.columns
    }

    /// The classes whose probabilities rows hold, in their order.
    #[must_use]
    pub fn classes(&self) -> &[String] {
        match &self.classifier {
            Some(classifier) if self.columns.class => classifier.model().classes(),
            _ => &[],
        }
    }

    /// The features that rows hold, in their order.
    #[must_use]
    pub fn features(&self) -> &[&'static Feature] {
        &self.features
    }

    /// Addresses of the chain in order, after one of them: to score all that the ledger holds.
    ///
    /// # Errors
    /// When the ledger cannot be read.
    pub fn addresses(&self, after: Option<&Address>, limit: usize) -> Result<Vec<Address>, Error> {
        Ok(self.ledger.addresses(self.chain, after, limit)?)
    }

    /// Counts the movements of an address; 0 where the ledger does not hold it.
    fn movements(&self, address: &Address) -> Result<u64, Error> {
        Ok(self.ledger.account(self.chain, address)?.map_or(0, |account| account.postings))
    }

    /// What the rows were made with, by name: a table of scores says it, and only equal ones may be joined.
    #[must_use]
    pub fn versions(&self) -> Vec<(&'static str, String)> {
        let mut versions = vec![
            ("program", env!("CARGO_PKG_VERSION").to_owned()),
            ("chain", self.chain.to_string()),
            ("columns", self.columns.to_string()),
            ("generation", self.ledger.generation().to_string()),
            // Two stores may have generations of one number.
            ("data", self.ledger.coverage().get(&self.chain).map_or_else(|| "none".to_owned(), extent)),
        ];
        if self.columns.risk {
            versions.push(("risk_parameters", self.intelligence.parameters.version.clone()));
            let labels = self.ledger.labels();
            versions.push(("labels", format!("{:016x}", labels.digest())));
            versions.push(("label_lists", label_lists(labels.origins())));
        }
        if let Some(classifier) = self.classifier_in_use() {
            let model = classifier.model();
            versions.push(("model", format!("{} ({})", model.version(), model.digest())));
        }
        if self.columns.features || self.columns.class {
            versions.push(("features", features::VERSION.to_string()));
        }
        if let Some(ObservationSample { share, seed }) = self.observed {
            versions.push(("observed", format!("share {share}, seed {seed}")));
        }
        versions
    }

    /// Rows of addresses as they were written, in their order. A text that is not an address of the chain, or is missing,
    /// makes a row with an error.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the work is cancelled.
    pub fn score_texts(&self, texts: &[Option<&str>], cancel: &Cancel) -> Result<Vec<ScoreRow>, Error> {
        self.in_tasks(
            texts,
            |task, text| {
                let Some(text) = text else { return Ok(ScoreRow::failed(None, "the address is missing".to_owned())) };
                match Address::parse(self.chain, text.trim()) {
                    Ok(address) => task.row(&address),
                    Err(error) => Ok(ScoreRow::failed(Some((*text).to_owned()), error.to_string())),
                }
            },
            cancel,
        )
    }

    /// Rows of addresses, in their order.
    ///
    /// # Errors
    /// As [`Scorer::score_texts`].
    #[expect(clippy::redundant_closure_for_method_calls, reason = "the method is one of a task of a certain lifetime")]
    pub fn score(&self, addresses: &[Address], cancel: &Cancel) -> Result<Vec<ScoreRow>, Error> {
        self.in_tasks(addresses, |task, address| task.row(address), cancel)
    }

    fn in_tasks<T: Sync>(
        &self,
        items: &[T],
        row: impl Fn(&mut Task<'_>, &T) -> Result<ScoreRow, Error> + Sync,
        cancel: &Cancel,
    ) -> Result<Vec<ScoreRow>, Error> {
        let of_some = |items: &[T]| {
            let mut task = Task::new(self, cancel);
            items
                .iter()
                .map(|item| {
                    cancel.check().map_err(LedgerError::from)?;
                    row(&mut task, item)
                })
                .collect::<Result<Vec<_>, Error>>()
        };
        let rows: Result<Vec<_>, Error> = items.par_chunks(ADDRESSES_PER_TASK).map(of_some).collect();
        Ok(rows?.into_iter().flatten().collect())
    }
}

/// What one thread needs for one address after the other.
struct Task<'a> {
    scorer: &'a Scorer,
    cancel: &'a Cancel,
    /// For rows with a risk.
    assessor: Option<Assessor<'a>>,
    bases: BaseGather,
    observed: BaseGather,
}

impl<'a> Task<'a> {
    fn new(scorer: &'a Scorer, cancel: &'a Cancel) -> Self {
        let scope = || RiskScope::present(&*scorer.ledger, &scorer.intelligence, Scope::Chain(scorer.chain), cancel);
        Self {
            scorer,
            cancel,
            assessor: scorer.columns.risk.then(|| Assessor::new(scope())),
            bases: BaseGather::new(scorer.chain),
            observed: BaseGather::new(scorer.chain).observed(scorer.observed),
        }
    }

    fn row(&mut self, address: &Address) -> Result<ScoreRow, Error> {
        match self.try_row(address) {
            // One address that is too large for the memory of the work keeps no other from its row.
            Err(error) if error.kind == ErrorKind::InvalidInput(Reason::QueryTooLarge) => {
                Ok(ScoreRow::failed(Some(address.to_string()), error.message))
            }
            row => row,
        }
    }

    fn try_row(&mut self, address: &Address) -> Result<ScoreRow, Error> {
        let Scorer { ledger, columns, features, observed, .. } = self.scorer;
        let mut row = ScoreRow::of(address.to_string());
        let assessment = match &mut self.assessor {
            Some(assessor) => Some(assessor.assess(address)?),
            None => None,
        };
        row.risk = assessment.as_ref().map(RiskScore::from);
        if !columns.class && !columns.features {
            return Ok(row);
        }
        let Some(account) = ledger.account(self.scorer.chain, address)? else {
            row.error = Some(no_activity(self.scorer.chain));
            return Ok(row);
        };
        if columns.features && observed.is_some() {
            row.features = Some(values(self.observed.read(&**ledger, &account, self.cancel)?, features));
        }
        let (verdict, base) = match assessment.and_then(|assessment| assessment.class) {
            Some((verdict, base)) => (Some(verdict.clone()), base),
            None => {
                let base = self.bases.read(&**ledger, &account, self.cancel)?;
                (self.scorer.classifier.as_ref().and_then(|classifier| classifier.classify(base)), base)
            }
        };
        if columns.features && row.features.is_none() {
            row.features = Some(values(base, features));
        }
        row.class = verdict.filter(|_| columns.class).map(ClassScore::from);
        if columns.class && row.class.is_none() {
            row.error = Some(no_activity(self.scorer.chain));
        }
        Ok(row)
    }
}

/// Why an address has neither class nor features, as `address-classify` says it.
fn no_activity(chain: Chain) -> String {
    format!("no activity: no transfers of the address are held on {chain}")
}

/// The lists of labels in force with their licences, as JSON.
fn label_lists<'o>(origins: impl Iterator<Item = &'o ListOrigin>) -> String {
    let lists: BTreeSet<LabelListRecord> = origins.map(LabelListRecord::from).collect();
    serde_json::to_string(&lists).expect("texts have a JSON form")
}

/// What is held of a chain, in words.
fn extent(of: &Coverage) -> String {
    let blocks = of.first_block.zip(of.last_block);
    let blocks = blocks.map(|(first, last)| format!(" in blocks {first} to {last}")).unwrap_or_default();
    format!("{} transactions, {} movements{blocks}", of.transactions, of.movements)
}

fn values(base: &Base, features: &[&'static Feature]) -> Vec<f64> {
    let mut values = Vec::with_capacity(features.len());
    features::values(base, features.iter().copied(), &mut values);
    values
}
