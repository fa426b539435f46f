//! The one interface between the rules of a trace and the source of its movements.

use std::cmp::Ordering;

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;

use super::movement::{Movement, Way};
use super::stop::Stop;
use crate::source::{Direction, Node};

/// A source of the movements that traces, paths and exposures follow: [`super::LedgerSource`] reads a ledger.
pub trait TraceSource {
    /// The failure to read it.
    type Error;

    /// Returns whether an account is a service by its labels, or otherwise known: [`Stop::Label`].
    ///
    /// # Errors
    /// When its labels cannot be read.
    fn is_service(&mut self, node: Node) -> Result<bool, Self::Error>;

    /// Returns why an account is not to be looked through; `None` where it is.
    ///
    /// # Errors
    /// When its labels or movements cannot be read.
    fn stop(&mut self, node: Node) -> Result<Option<Stop>, Self::Error>;

    /// Appends the movements of an account in the order of the chain, those that do not count too: balances need them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn movements(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Self::Error>;

    /// Returns sums over the payments of an account by counterparty, largest first, without a look at its movements; `None`
    /// where only these have the answer.
    ///
    /// # Errors
    /// When they cannot be read.
    fn sums(&mut self, _: Node, _: Direction, _: SumQuery) -> Result<Option<PairSums>, Self::Error> {
        Ok(None)
    }

    /// Returns whether a payment of a transaction went back to whoever made it, to an address of theirs: change. Where
    /// accounts hold balances there is none.
    ///
    /// # Errors
    /// When the transaction cannot be read.
    fn is_change(&mut self, _: TransactionRef, _: (Node, Node)) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// Returns the movements on another chain of which a movement of an account is the other side, each with its account:
    /// what those got to whom a bridge brought the money; inward what those paid from whom it came. None where no bridge
    /// took it, or where that is not known.
    ///
    /// # Errors
    /// When the legs of the transfer cannot be read.
    fn other_legs(&mut self, _: (Node, Direction), _: &Movement) -> Result<Vec<(Node, Movement)>, Self::Error> {
        Ok(Vec::new())
    }

    /// Returns how the chain orders two transactions of one time.
    ///
    /// # Errors
    /// When they cannot be read.
    fn order(&mut self, one: TransactionRef, other: TransactionRef) -> Result<Ordering, Self::Error>;

    /// Compares accounts in an order that does not depend on the way of a walk.
    fn compare(&self, one: Node, other: Node) -> Ordering;

    /// Reserves the memory of so many movements, which a trace keeps until it ends.
    ///
    /// # Errors
    /// When that is more than it may take.
    fn keep(&mut self, _: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Returns whether a walk has used up its budget of work or memory.
    fn is_over(&self) -> bool {
        false
    }
}

/// The further needs of a search for paths.
pub trait PathSource: TraceSource {
    /// Returns the number of movements of an account, in which the work of a search is counted.
    ///
    /// # Errors
    /// When they cannot be counted.
    fn size(&mut self, node: Node) -> Result<u64, Self::Error>;

    /// Appends the movements of an account as [`TraceSource::movements`] does; those with accounts without a number may be
    /// left out.
    ///
    /// # Errors
    /// When they cannot be read.
    fn payments(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Self::Error>;

    /// Returns whether an asset can have gone from one account to another, as far as sums say without a look at movements.
    ///
    /// # Errors
    /// When they cannot be read.
    fn may_move(&mut self, ends: (Node, Node), asset: u32) -> Result<bool, Self::Error>;

    /// Compares assets in an order that does not depend on the way of a search.
    fn compare_assets(&self, one: u32, other: u32) -> Ordering;
}

/// The sums that are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SumQuery {
    /// The number of counterparties, at most.
    pub limit: usize,
    /// True where counterparties without a number may be left out.
    pub is_numbered_only: bool,
}

impl SumQuery {
    /// The sums of all counterparties.
    pub const ALL: Self = Self { limit: usize::MAX, is_numbered_only: false };
}

/// Sums over the payments of an account in one direction: by US dollars, then by number of payments, then in the order of
/// counterparties.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PairSums {
    /// One sum per counterparty.
    pub pairs: Vec<PairSum>,
    /// True where there are more.
    pub is_cut: bool,
}

/// The payments between an account and a counterparty in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PairSum {
    /// The counterparty.
    pub other: Node,
    /// US dollars of the payments that have a price.
    pub usd: Usd,
    /// Payments.
    pub payments: u64,
    /// Payments without a price.
    pub unpriced: u64,
}

impl PairSum {
    /// The US dollars of all payments; `None` where none has a price.
    #[must_use]
    pub fn worth(&self) -> Option<Usd> {
        (self.unpriced < self.payments).then_some(self.usd)
    }
}

/// The direction of a walk that goes along movements of a way.
pub(crate) const fn direction_of(way: Way) -> Direction {
    match way {
        Way::Out | Way::Fee => Direction::Outgoing,
        Way::In => Direction::Incoming,
    }
}
