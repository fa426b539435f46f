//! What rules read of others than the address itself, and how much of it they may read.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use headwater_ledger::LedgerError;
use headwater_ledger::read::TransactionRef;
use headwater_types::{Address, Amount, Asset, Usd};
use rustc_hash::FxHashSet;
use serde::Deserialize;

use super::history::{AssetKind, History};

/// How much one rule may read of others to judge one address. A rule that would need more and has found nothing is
/// deferred.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OthersLimits {
    /// Other addresses whose movements are read.
    pub most_addresses: usize,
    /// An address with more movements than this is not read: what comes out of such a hub is not what went in.
    pub most_transfers: u64,
    /// Movements of all of them together.
    pub most_movements: u64,
    /// Transactions, and first movements of others, that are looked up.
    pub most_lookups: usize,
}

/// Lends rules what they need of others. The answers do not depend on what was asked before.
pub trait Others {
    /// How much may be read.
    fn limits(&self) -> &OthersLimits;

    /// Number of movements of an address over all time; 0 when it was never seen.
    ///
    /// # Errors
    /// When the ledger cannot be read, or the work is cancelled. The same holds of all methods here.
    fn size(&self, of: &Address) -> Result<u64, LedgerError>;

    /// What an address did, read as that of the address that is judged.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn history(&self, of: &Address) -> Result<Rc<History>, LedgerError>;

    /// When an address moved first, epoch seconds; `None` when it was never seen.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn first_seen(&self, of: &Address) -> Result<Option<i64>, LedgerError>;

    /// A transaction with all its movements.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn transaction(&self, of: TransactionRef) -> Result<Rc<WholeTransaction>, LedgerError>;

    /// What left an address of one asset in one block, in the order of the chain.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn sent_in_block(&self, of: &Address, asset: &Asset, block: u64) -> Result<Vec<Sent>, LedgerError>;

    /// Which transaction created a contract; `None` where that is not known.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn creation(&self, of: &Address) -> Result<Option<Creation>, LedgerError>;

    /// What was minted of a token less what was burnt of it, from one time to another, both included, epoch seconds;
    /// `None` where more than `most` movements would have to be read.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn supply(&self, token: &Address, times: (i64, i64), most: u64) -> Result<Option<u128>, LedgerError>;

    /// Whether the balances of an asset follow from its movements alone.
    fn has_whole_history(&self, asset: &Asset) -> bool;
}

/// A transaction as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeTransaction {
    /// Who sent it.
    pub sender: Option<Address>,
    /// Number of its block.
    pub block: u64,
    /// Position in the block.
    pub index: Option<u32>,
    /// Price per gas that was paid.
    pub gas_price: Option<Amount>,
    /// What moved in it, besides the transaction's own value.
    pub movements: Vec<Moved>,
}

/// A movement between any two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// From whom.
    pub from: Address,
    /// To whom.
    pub to: Address,
    /// What the asset counts as.
    pub kind: AssetKind,
    /// In the smallest unit of the asset; at most `u128::MAX`.
    pub raw: u128,
    /// US dollars at its time; zero where it is not valued.
    pub usd: Usd,
}

/// What left an address in a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sent {
    /// The transaction.
    pub transaction: TransactionRef,
    /// To whom.
    pub to: Address,
}

/// How a contract came to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Creation {
    /// When, epoch seconds.
    pub time: i64,
    /// Who sent the transaction.
    pub creator: Address,
}

/// What one rule reads of others for one address, counted against the limits.
pub struct Reading<'o> {
    others: &'o dyn Others,
    subject: Address,
    addresses: RefCell<FxHashSet<Address>>,
    movements: Cell<u64>,
    lookups: Cell<usize>,
    has_missed: Cell<bool>,
}

impl<'o> Reading<'o> {
    /// Nothing was read yet for a rule about an address.
    pub(super) fn new(others: &'o dyn Others, subject: Address) -> Self {
        Self {
            others,
            subject,
            addresses: RefCell::default(),
            movements: Cell::new(0),
            lookups: Cell::new(0),
            has_missed: Cell::new(false),
        }
    }

    /// The address that is judged.
    pub(super) const fn subject(&self) -> Address {
        self.subject
    }

    /// Whether anything was asked for that the limits do not allow.
    pub(super) fn has_missed(&self) -> bool {
        self.has_missed.get()
    }

    /// Notes that the rule cannot be decided by what is known or may be read.
    pub(super) fn miss<T>(&self) -> Option<T> {
        self.has_missed.set(true);
        None
    }

    /// Whether so many movements are more than are read of one address.
    pub(super) fn is_hub(&self, movements: usize) -> bool {
        movements as u64 > self.others.limits().most_transfers
    }

    /// Whether an address is small enough to be read; noted where it is not.
    pub(super) fn is_readable(&self, of: &Address) -> Result<bool, LedgerError> {
        let limits = self.others.limits();
        let is_small = limits.most_addresses > 0 && self.others.size(of)? <= limits.most_transfers;
        if !is_small {
            self.has_missed.set(true);
        }
        Ok(is_small)
    }

    /// What an address did; `None`, and noted, where the limits do not allow to read it.
    pub(super) fn history(&self, of: &Address) -> Result<Option<Rc<History>>, LedgerError> {
        if !self.is_readable(of)? {
            return Ok(None);
        }
        let mut addresses = self.addresses.borrow_mut();
        if !addresses.contains(of) {
            let limits = self.others.limits();
            let movements = self.movements.get().saturating_add(self.others.size(of)?);
            if addresses.len() >= limits.most_addresses || movements > limits.most_movements {
                return Ok(self.miss());
            }
            addresses.insert(*of);
            self.movements.set(movements);
        }
        Ok(Some(self.others.history(of)?))
    }

    /// Whether another look-up is allowed; noted where it is not.
    fn can_look_up(&self) -> bool {
        let can = self.lookups.get() < self.others.limits().most_lookups;
        if can {
            self.lookups.set(self.lookups.get() + 1);
        } else {
            self.has_missed.set(true);
        }
        can
    }

    /// Whether an address moved before a time; `None`, and noted, where it may not be looked up.
    pub(super) fn moved_before(&self, of: &Address, time: i64) -> Result<Option<bool>, LedgerError> {
        if !self.can_look_up() {
            return Ok(None);
        }
        Ok(Some(self.others.first_seen(of)?.is_some_and(|first| first < time)))
    }

    /// A transaction; `None`, and noted, where it may not be looked up.
    pub(super) fn transaction(&self, of: TransactionRef) -> Result<Option<Rc<WholeTransaction>>, LedgerError> {
        if self.can_look_up() { Ok(Some(self.others.transaction(of)?)) } else { Ok(None) }
    }

    /// What left an address of an asset in a block; `None`, and noted, where it may not be looked up.
    pub(super) fn sent_in_block(
        &self,
        of: &Address,
        asset: &Asset,
        block: u64,
    ) -> Result<Option<Vec<Sent>>, LedgerError> {
        if self.can_look_up() { Ok(Some(self.others.sent_in_block(of, asset, block)?)) } else { Ok(None) }
    }

    /// How a contract came to be; `None`, and noted, where that is not known.
    pub(super) fn creation(&self, of: &Address) -> Result<Option<Creation>, LedgerError> {
        if !self.can_look_up() {
            return Ok(None);
        }
        let creation = self.others.creation(of)?;
        Ok(creation.or_else(|| self.miss()))
    }

    /// The supply of a token that was made within a stretch of time; `None`, and noted, where that is too much to read.
    pub(super) fn supply(&self, token: &Address, times: (i64, i64)) -> Result<Option<u128>, LedgerError> {
        if !self.can_look_up() {
            return Ok(None);
        }
        let supply = self.others.supply(token, times, self.others.limits().most_movements)?;
        Ok(supply.or_else(|| self.miss()))
    }

    /// Whether balances of an asset can be summed from movements; noted where they cannot.
    pub(super) fn has_whole_history(&self, asset: &Asset) -> bool {
        let is_whole = self.others.has_whole_history(asset);
        if !is_whole {
            self.has_missed.set(true);
        }
        is_whole
    }
}

/// Nobody may be read: rules that need others find only what needs none, and are deferred else.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoOthers;

const NOTHING: OthersLimits = OthersLimits { most_addresses: 0, most_transfers: 0, most_movements: 0, most_lookups: 0 };

impl Others for NoOthers {
    fn limits(&self) -> &OthersLimits {
        &NOTHING
    }

    fn size(&self, _: &Address) -> Result<u64, LedgerError> {
        Ok(0)
    }

    fn history(&self, _: &Address) -> Result<Rc<History>, LedgerError> {
        Ok(Rc::default())
    }

    fn first_seen(&self, _: &Address) -> Result<Option<i64>, LedgerError> {
        Ok(None)
    }

    fn transaction(&self, _: TransactionRef) -> Result<Rc<WholeTransaction>, LedgerError> {
        let (sender, index, gas_price) = (None, None, None);
        Ok(Rc::new(WholeTransaction { sender, block: 0, index, gas_price, movements: Vec::new() }))
    }

    fn sent_in_block(&self, _: &Address, _: &Asset, _: u64) -> Result<Vec<Sent>, LedgerError> {
        Ok(Vec::new())
    }

    fn creation(&self, _: &Address) -> Result<Option<Creation>, LedgerError> {
        Ok(None)
    }

    fn supply(&self, _: &Address, _: (i64, i64), _: u64) -> Result<Option<u128>, LedgerError> {
        Ok(None)
    }

    fn has_whole_history(&self, _: &Asset) -> bool {
        false
    }
}
