//! What a trace reads: the movements of an account in the order of the chain.

use std::cmp::Ordering;

use headwater_ledger::read::TransactionRef;
use headwater_types::Usd;

use crate::source::{Direction, Node};

/// Which way a movement went, as seen from the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the account.
    In,
    /// From it.
    Out,
    /// From it to whoever made the block.
    Fee,
}

/// A movement of an account.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Movement {
    /// Its transaction; movements of one transaction come one after the other.
    pub transaction: TransactionRef,
    /// Epoch seconds.
    pub time: i64,
    /// The number of the asset.
    pub asset: u32,
    /// In its smallest unit.
    pub amount: u128,
    /// What it was worth; `None` without a price.
    pub usd: Option<Usd>,
    /// The other side; `None` for nobody, such as a mint, and for fees.
    pub other: Option<Node>,
    /// Which way.
    pub way: Way,
    /// Why it is not followed: it is outside of the time or of the filters; `None` where it may be.
    pub left_out: Option<Stop>,
}

/// Why an account is not looked through.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// The walk has gone as far as was asked.
    DepthLimit,
    /// It is a service by its labels: what comes out of it is other people's money.
    Label,
    /// It deals with too many.
    Hub,
    /// It is a contract.
    Contract,
    /// It has no owner: anybody can spend what it holds.
    NoOwner,
    /// Nothing left it, or came to it.
    NoOutflow,
    /// What did is outside of the filters.
    Filtered,
    /// There was no room for it.
    FanoutLimit,
    /// What did is outside of the time.
    TimeRange,
    /// Only a part of what it did is held.
    NotHeld,
    /// The work was over before it.
    TimeBudget,
}

impl Stop {
    /// The text in answers.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::DepthLimit => "depth_limit",
            Self::Label => "label",
            Self::Hub => "hub",
            Self::Contract => "contract",
            Self::NoOwner => "no_owner",
            Self::NoOutflow => "no_outflow",
            Self::Filtered => "filtered",
            Self::FanoutLimit => "fanout_limit",
            Self::TimeRange => "time_range",
            Self::NotHeld => "not_held",
            Self::TimeBudget => "time_budget",
        }
    }
}

/// Where movements come from.
pub trait Movements {
    /// Why they cannot be read.
    type Error;

    /// Whether an account is a service by its labels, or otherwise known: [`Stop::Label`].
    ///
    /// # Errors
    /// When that cannot be told.
    fn is_service(&mut self, node: Node) -> Result<bool, Self::Error>;

    /// Why an account is not to be looked through; `None` where it is.
    ///
    /// # Errors
    /// When that cannot be told.
    fn stop(&mut self, node: Node) -> Result<Option<Stop>, Self::Error>;

    /// The movements of an account in the order of the chain, those that do not count too: balances need them.
    ///
    /// # Errors
    /// When they cannot be read.
    fn movements(&mut self, node: Node, into: &mut Vec<Movement>) -> Result<(), Self::Error>;

    /// Accounts for the memory of so many movements, which a trace keeps until it ends.
    ///
    /// # Errors
    /// When that is more than it may take.
    fn keep(&mut self, _: usize) -> Result<(), Self::Error> {
        Ok(())
    }

    /// How the chain orders two transactions of one time.
    ///
    /// # Errors
    /// When that cannot be told.
    fn order(&mut self, one: TransactionRef, other: TransactionRef) -> Result<Ordering, Self::Error>;

    /// Whether a payment of a transaction went back to whoever made it, to an address of theirs: change. Where accounts hold
    /// balances there is none.
    ///
    /// # Errors
    /// When that cannot be told.
    fn is_change(&mut self, _: TransactionRef, _: (Node, Node)) -> Result<bool, Self::Error> {
        Ok(false)
    }

    /// The movements on another chain of which a movement of an account is the other side, each with its account: what those got
    /// to whom a bridge brought the money; inward what those paid from whom it came. None where no bridge took it, or that
    /// cannot be told.
    ///
    /// # Errors
    /// When movements cannot be read.
    fn beyond(&mut self, _: (Node, Direction), _: &Movement) -> Result<Vec<(Node, Movement)>, Self::Error> {
        Ok(Vec::new())
    }
}
