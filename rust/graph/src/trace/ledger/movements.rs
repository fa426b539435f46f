//! Postings of a ledger as movements of a walk.

use headwater_ledger::LedgerError;
use headwater_ledger::read::{Direction, MovementKind, Posting, Scan, ScanOrder};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Amount, Asset, Timestamp, Usd};

use super::assets::Inclusion;
use super::{CANCEL_EVERY, LedgerSource};
use crate::source::Node;
use crate::trace::movement::{Movement, Way};
use crate::trace::stop::Stop;

/// The counterparties with whom movements are read.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Counterparties {
    All,
    /// Accounts that have a handle with a node.
    Numbered,
}

impl LedgerSource<'_> {
    /// Appends the movements of an account, with the fees that it paid where all are read.
    pub(super) fn read(
        &mut self,
        node: Node,
        with: Counterparties,
        into: &mut Vec<Movement>,
    ) -> Result<(), LedgerError> {
        let Some(account) = self.account_of(node)? else { return Ok(()) };
        let of_all = usize::try_from(account.postings).unwrap_or(usize::MAX);
        let oldest_first = Scan { order: ScanOrder::OldestFirst, ..Scan::default() };
        if with == Counterparties::All {
            let movements = of_all.saturating_mul(2).saturating_add(self.kept);
            self.memory.reach(movements.saturating_mul(size_of::<Movement>()))?;
        }
        for (count, posting) in self.ledger.postings(&account, &oldest_first)?.enumerate() {
            if count % CANCEL_EVERY == 0 {
                self.cancel.check()?;
            }
            let posting = posting?;
            self.work += 1;
            let is_numbered = || posting.counterparty.is_some_and(|other| self.by_handle.contains_key(&other));
            if with == Counterparties::Numbered && !is_numbered() {
                continue;
            }
            self.add(node, &posting, into)?;
            if with == Counterparties::All && !self.is_utxo(node) && is_sent(&posting) {
                self.add_fee(node, &posting, into)?;
            }
        }
        Ok(())
    }

    /// Appends a movement of an account: on UTXO chains one for each other side.
    pub(super) fn add(&mut self, node: Node, posting: &Posting, into: &mut Vec<Movement>) -> Result<(), LedgerError> {
        let chain = self.chain(node);
        let asset = self.assets.of_handle(chain, posting.asset)?;
        let left_out = match self.asset(asset).inclusion(posting) {
            Inclusion::LeftOut => return Ok(()),
            Inclusion::Followed if self.scope.window.contains(posting.time) => None,
            Inclusion::Followed => Some(Stop::TimeRange),
            Inclusion::BalanceOnly => Some(Stop::Filtered),
        };
        let way = match posting.direction {
            Direction::In => Way::In,
            Direction::Out => Way::Out,
            Direction::Own => return Ok(()),
        };
        let movement = |source: &Self, raw: Amount, other: Option<Node>, way: Way| {
            let (amount, usd) = source.valued(asset, raw, posting.time);
            let (transaction, time) = (posting.transaction, posting.time.secs());
            Movement { transaction, time, asset, amount, usd, other, way, left_out }
        };
        if !self.is_utxo(node) {
            let other = posting.counterparty.map(|handle| self.node_of(chain, handle)).transpose()?.flatten();
            into.push(movement(self, posting.amount, other, way));
            return Ok(());
        }
        let attribution = Attribution::of_transaction(&self.ledger.transaction(posting.transaction)?);
        let mut rest = posting.amount;
        for (address, value) in attribution.bounded_counterparties(self.address(node)) {
            let other = self.node_on(chain, address);
            rest = rest.checked_sub(value).unwrap_or(Amount::ZERO);
            into.push(movement(self, value, Some(other), way));
        }
        if !rest.is_zero() {
            into.push(movement(self, rest, None, if way == Way::Out { Way::Fee } else { way }));
        }
        Ok(())
    }

    /// Appends the fee of a transaction that the account sent.
    fn add_fee(&mut self, node: Node, posting: &Posting, into: &mut Vec<Movement>) -> Result<(), LedgerError> {
        let Some(raw) = self.ledger.fee(posting.transaction)?.filter(|fee| !fee.is_zero()) else { return Ok(()) };
        let asset = self.assets.of_asset(self.chain(node), Asset::Native)?;
        let (amount, usd) = self.valued(asset, raw, posting.time);
        let (transaction, time) = (posting.transaction, posting.time.secs());
        into.push(Movement { transaction, time, asset, amount, usd, other: None, way: Way::Fee, left_out: None });
        Ok(())
    }

    /// Returns an amount as walks count it, and what it was worth. Larger amounts are beyond every supply that has a worth.
    fn valued(&self, asset: u32, raw: Amount, time: Timestamp) -> (u128, Option<Usd>) {
        let usd = self.asset(asset).terms.value(self.prices, raw, time);
        (raw.to_u128().unwrap_or(u128::MAX), usd.and_then(Usd::from_f64))
    }
}

/// Returns whether the account sent the transaction: its own value left it.
fn is_sent(posting: &Posting) -> bool {
    posting.kind == MovementKind::Native && posting.direction != Direction::In
}
