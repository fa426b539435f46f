//! The facts about an account of a ledger that stop rules ask for.

use std::ops::ControlFlow;

use headwater_intel::label::CodeConfidence;
use headwater_ledger::LedgerError;
use headwater_ledger::read::{Account, ColumnSet, Scan};
use rustc_hash::FxHashSet;

use super::LedgerSource;
use super::movements::Counterparties;
use crate::source::Node;
use crate::trace::stop::AccountFacts;

/// The facts about one account.
pub(super) struct AccountReader<'s, 'a> {
    source: &'s mut LedgerSource<'a>,
    node: Node,
}

impl<'s, 'a> AccountReader<'s, 'a> {
    pub fn new(source: &'s mut LedgerSource<'a>, node: Node) -> Self {
        Self { source, node }
    }
}

impl AccountFacts for AccountReader<'_, '_> {
    type Error = LedgerError;

    fn is_keyless(&self) -> bool {
        self.source.address(self.node).is_keyless()
    }

    fn codes(&self) -> Result<Vec<CodeConfidence>, LedgerError> {
        Ok(self.source.labels(self.node)?.codes)
    }

    /// Not where the store has of the chain only exports of other accounts.
    fn has_history(&self) -> bool {
        let Self { source, node } = self;
        let chain = source.chain(*node);
        let coverage = source.ledger.coverage().get(&chain);
        let is_of_exports = coverage.is_some_and(|held| held.ranges.is_empty() && !held.accounts.is_empty());
        !is_of_exports || source.ledger.has_whole_history(chain, source.address(*node))
    }

    fn is_contract(&mut self) -> Result<bool, LedgerError> {
        Ok(self.source.account_of(self.node)?.is_some_and(|account| account.is_contract))
    }

    fn deals_with_more_than(&mut self, limit: usize) -> Result<bool, LedgerError> {
        match self.source.account_of(self.node)? {
            Some(account) => self.source.has_more_counterparties(self.node, &account, limit),
            None => Ok(false),
        }
    }
}

impl LedgerSource<'_> {
    /// Looks at no more movements than it takes to decide. On UTXO chains they are kept for the walk, which reads them next.
    fn has_more_counterparties(&mut self, node: Node, account: &Account, limit: usize) -> Result<bool, LedgerError> {
        if self.is_utxo(node) {
            let mut movements = Vec::new();
            self.read(node, Counterparties::All, &mut movements)?;
            let others: FxHashSet<Node> = movements.iter().filter_map(|movement| movement.other).collect();
            self.read_ahead = Some((node, movements));
            return Ok(others.len() > limit);
        }
        if account.postings <= limit as u64 {
            return Ok(false);
        }
        let known = self.ledger.counterparty_bounds(account)?;
        if *known.start() > limit as u64 || *known.end() <= limit as u64 {
            return Ok(*known.start() > limit as u64);
        }
        let mut others = FxHashSet::default();
        let wanted = (ColumnSet::COUNTERPARTIES, self.cancel);
        self.ledger.posting_columns(account, &Scan::default(), wanted, &mut |columns| {
            others.extend(columns.counterparties().iter().filter_map(|other| columns.counterparty(*other)));
            Ok(if others.len() > limit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
        })?;
        Ok(others.len() > limit)
    }
}
