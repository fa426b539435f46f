//! The movements of others, as rules ask for them within limits, and as a ledger answers.

use std::cell::{Cell, RefCell, RefMut};
use std::rc::Rc;

use headwater_ledger::facts::MovementFact;
use headwater_ledger::read::{Account, Direction, Scan, ScanOrder, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Amount, Asset, Chain, Family, TimeWindow, Usd};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::Deserialize;

use super::gather::HistoryGather;
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

    /// Returns the movements of an address, read as those of the address that is judged.
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

    /// Returns the outflows of an address of one asset in one block, in the order of the chain.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn sent_in_block(&self, of: &Address, asset: &Asset, block: u64) -> Result<Vec<Sent>, LedgerError>;

    /// Which transaction created a contract; `None` where that is not known.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn creation(&self, of: &Address) -> Result<Option<Creation>, LedgerError>;

    /// Returns the minted amount of a token less the burnt one, from one time to another, both included, epoch seconds;
    /// `None` where more than `most` movements would have to be read.
    ///
    /// # Errors
    /// As [`Others::size`].
    fn supply(&self, token: &Address, times: (i64, i64), most: u64) -> Result<Option<u128>, LedgerError>;

    /// Returns true if the balances of an asset follow from its movements alone.
    fn has_whole_history(&self, asset: &Asset) -> bool;
}

/// A transaction as rules see it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WholeTransaction {
    /// Its sender.
    pub sender: Option<Address>,
    /// Number of its block.
    pub block: u64,
    /// Position in the block.
    pub index: Option<u32>,
    /// Price per gas that was paid.
    pub gas_price: Option<Amount>,
    /// Its movements, besides the transaction's own value.
    pub movements: Vec<Moved>,
}

/// A movement between any two addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// From whom.
    pub from: Address,
    /// To whom.
    pub to: Address,
    /// The kind of the asset.
    pub kind: AssetKind,
    /// In the smallest unit of the asset; at most `u128::MAX`.
    pub raw: u128,
    /// US dollars at its time; zero where it is not valued.
    pub usd: Usd,
}

/// The outflows of an address in a block.
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
    /// The sender of the transaction.
    pub creator: Address,
}

/// The reading of others by one rule for one address, counted against the limits.
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

    /// Returns true if anything was asked for that the limits do not allow.
    pub(super) fn has_missed(&self) -> bool {
        self.has_missed.get()
    }

    /// Notes that the rule cannot be decided by what is known or may be read.
    pub(super) fn miss<T>(&self) -> Option<T> {
        self.has_missed.set(true);
        None
    }

    /// Returns true if so many movements are more than are read of one address.
    pub(super) fn is_hub(&self, movements: usize) -> bool {
        movements as u64 > self.others.limits().most_transfers
    }

    /// Returns true if an address is small enough to be read; noted where it is not.
    pub(super) fn is_readable(&self, of: &Address) -> Result<bool, LedgerError> {
        let limits = self.others.limits();
        let is_small = limits.most_addresses > 0 && self.others.size(of)? <= limits.most_transfers;
        if !is_small {
            self.has_missed.set(true);
        }
        Ok(is_small)
    }

    /// Returns the movements of an address; `None`, and noted, where the limits do not allow to read it.
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

    /// Returns true if another look-up is allowed; noted where it is not.
    fn can_look_up(&self) -> bool {
        let can = self.lookups.get() < self.others.limits().most_lookups;
        if can {
            self.lookups.set(self.lookups.get() + 1);
        } else {
            self.has_missed.set(true);
        }
        can
    }

    /// Returns whether an address moved before a time; `None`, and noted, where it may not be looked up.
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

    /// Returns the outflows of an address of an asset in a block; `None`, and noted, where it may not be looked up.
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

    /// Returns true if balances of an asset can be summed from movements; noted where they cannot.
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

/// Movements and transactions of others that are kept for the next address.
const MAX_KEPT: usize = 1 << 17;

/// Reads others from a ledger. What was read is kept, so that one object serves one address after the other.
pub struct OthersInLedger<'a> {
    ledger: &'a dyn Ledger,
    limits: OthersLimits,
    cancel: &'a Cancel,
    chain: Chain,
    scan: Scan,
    gather: RefCell<HistoryGather<'a>>,
    kept: RefCell<Kept>,
}

/// The answers that were read.
#[derive(Default)]
struct Kept {
    accounts: FxHashMap<Address, Option<Account>>,
    histories: FxHashMap<Address, Rc<History>>,
    first_seen: FxHashMap<Address, Option<i64>>,
    transactions: FxHashMap<TransactionRef, Rc<WholeTransaction>>,
    creations: FxHashMap<Address, Option<Creation>>,
    /// Movements and transactions among them.
    size: usize,
}

impl<'a> OthersInLedger<'a> {
    /// Reads others as `gather` reads the address itself: by the same labels, in the same data.
    #[must_use]
    pub fn new(ledger: &'a dyn Ledger, gather: HistoryGather<'a>, limits: OthersLimits, cancel: &'a Cancel) -> Self {
        let (chain, scan) = (gather.chain(), gather.scan().clone());
        let (gather, kept) = (RefCell::new(gather), RefCell::default());
        Self { ledger, limits, cancel, chain, scan, gather, kept }
    }

    /// Returns the kept answers, emptied where they have grown large.
    fn kept(&self) -> RefMut<'_, Kept> {
        let mut kept = self.kept.borrow_mut();
        if kept.size + kept.accounts.len() + kept.first_seen.len() + kept.creations.len() > MAX_KEPT {
            *kept = Kept::default();
        }
        kept
    }

    fn account(&self, of: &Address) -> Result<Option<Account>, LedgerError> {
        if let Some(account) = self.kept().accounts.get(of) {
            return Ok(account.clone());
        }
        let account = self.ledger.account(self.chain, of)?;
        self.kept().accounts.insert(*of, account.clone());
        Ok(account)
    }

    fn oldest_first(&self) -> Scan {
        Scan { order: ScanOrder::OldestFirst, ..self.scan.clone() }
    }

    fn zero(&self) -> Address {
        match self.chain.family() {
            Family::Tron => Address::Tron([0; 20]),
            Family::Evm | Family::Utxo => Address::Evm([0; 20]),
        }
    }
}

impl Others for OthersInLedger<'_> {
    fn limits(&self) -> &OthersLimits {
        &self.limits
    }

    fn size(&self, of: &Address) -> Result<u64, LedgerError> {
        if let Some(account) = self.kept().accounts.get(of) {
            return Ok(account.as_ref().map_or(0, |account| account.postings));
        }
        Ok(self.account(of)?.map_or(0, |account| account.postings))
    }

    fn history(&self, of: &Address) -> Result<Rc<History>, LedgerError> {
        if let Some(history) = self.kept().histories.get(of) {
            return Ok(Rc::clone(history));
        }
        let account = self.account(of)?;
        let history = Rc::new(self.gather.borrow_mut().read_apart(self.ledger, account.as_ref(), self.cancel)?);
        let mut kept = self.kept();
        kept.size += history.all.len();
        kept.histories.insert(*of, Rc::clone(&history));
        Ok(history)
    }

    fn first_seen(&self, of: &Address) -> Result<Option<i64>, LedgerError> {
        if let Some(first) = self.kept().first_seen.get(of) {
            return Ok(*first);
        }
        let first = match self.account(of)? {
            Some(account) => {
                self.ledger.page(&account, &self.oldest_first(), 1)?.first().map(|first| first.time.secs())
            }
            None => None,
        };
        self.kept().first_seen.insert(*of, first);
        Ok(first)
    }

    fn transaction(&self, of: TransactionRef) -> Result<Rc<WholeTransaction>, LedgerError> {
        if let Some(transaction) = self.kept().transactions.get(&of) {
            return Ok(Rc::clone(transaction));
        }
        let read = self.ledger.transaction(of)?;
        let time = read.head.time.secs();
        let mut gather = self.gather.borrow_mut();
        let counts = |kind: MovementFact| matches!(kind, MovementFact::Internal | MovementFact::Token);
        let mut movements = Vec::new();
        for movement in read.facts.movements.iter().filter(|movement| counts(movement.kind)) {
            if let (Some(from), Some(to)) = (movement.from, movement.to) {
                let raw = movement.amount.to_u128().unwrap_or(u128::MAX);
                let (kind, usd) = gather.worth_of(self.ledger, movement.asset, raw, time)?;
                movements.push(Moved { from, to, kind, raw, usd });
            }
        }
        let (head, facts) = (read.head, read.facts);
        let whole = Rc::new(WholeTransaction {
            sender: facts.body.and_then(|body| body.from),
            block: head.block,
            index: head.index,
            gas_price: facts.effective_gas_price.or(facts.gas_price),
            movements,
        });
        let mut kept = self.kept();
        kept.size += 1 + whole.movements.len();
        kept.transactions.insert(of, Rc::clone(&whole));
        Ok(whole)
    }

    fn sent_in_block(&self, of: &Address, asset: &Asset, block: u64) -> Result<Vec<Sent>, LedgerError> {
        let Some(account) = self.account(of)? else { return Ok(Vec::new()) };
        let assets = Some(vec![*asset]);
        let scan = Scan { assets, from_block: Some(block), up_to_block: Some(block), ..self.oldest_first() };
        let mut sent = Vec::new();
        for posting in self.ledger.postings(&account, &scan)? {
            let posting = posting?;
            if posting.direction == Direction::Out
                && let Some(other) = posting.counterparty
            {
                sent.push(Sent { transaction: posting.transaction, to: self.ledger.address(other)? });
            }
        }
        Ok(sent)
    }

    fn creation(&self, of: &Address) -> Result<Option<Creation>, LedgerError> {
        if let Some(creation) = self.kept().creations.get(of) {
            return Ok(*creation);
        }
        let mut creation = None;
        if let Some(account) = self.account(of)?
            && let Some(first) = self.ledger.page(&account, &self.oldest_first(), 1)?.first()
            && first.creates_contract
            && let Some(creator) = first.counterparty
        {
            creation = Some(Creation { time: first.time.secs(), creator: self.ledger.address(creator)? });
        }
        self.kept().creations.insert(*of, creation);
        Ok(creation)
    }

    fn supply(&self, token: &Address, (from, until): (i64, i64), most: u64) -> Result<Option<u128>, LedgerError> {
        let Some(nobody) = self.account(&self.zero())? else { return Ok(Some(0)) };
        let until = self.scan.window.end().map_or(until, |end| end.secs().min(until));
        let Ok(window) = TimeWindow::new(Some(from), Some(until)) else { return Ok(Some(0)) };
        let all = Scan { window, ..self.oldest_first() };
        if self.ledger.count_postings(&nobody, &all, self.cancel)? > most {
            return Ok(None);
        }
        let (mut minted, mut burnt) = (0_u128, 0_u128);
        for posting in self.ledger.postings(&nobody, &Scan { assets: Some(vec![Asset::Token(*token)]), ..all })? {
            let posting = posting?;
            let raw = posting.amount.to_u128().unwrap_or(u128::MAX);
            match posting.direction {
                Direction::Out => minted = minted.saturating_add(raw),
                Direction::In => burnt = burnt.saturating_add(raw),
                Direction::Own => {}
            }
        }
        Ok(Some(minted.saturating_sub(burnt)))
    }

    fn has_whole_history(&self, asset: &Asset) -> bool {
        self.ledger.opening(self.chain, asset).is_none()
    }
}
