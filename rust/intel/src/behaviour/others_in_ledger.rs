//! What rules read of others, from a ledger.

use std::cell::{RefCell, RefMut};
use std::rc::Rc;

use headwater_ledger::facts::MovementFact;
use headwater_ledger::read::{Account, Direction, Scan, ScanOrder, TransactionRef};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_types::{Address, Asset, Chain, Family, TimeWindow};
use rustc_hash::FxHashMap;

use super::gather::HistoryGather;
use super::history::History;
use super::others::{Creation, Moved, Others, OthersLimits, Sent, WholeTransaction};

/// Movements and transactions of others that are kept for the next address.
const MOST_KEPT: usize = 1 << 17;

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

/// What was read.
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

    /// What is kept, emptied where it has grown large.
    fn kept(&self) -> RefMut<'_, Kept> {
        let mut kept = self.kept.borrow_mut();
        if kept.size + kept.accounts.len() + kept.first_seen.len() + kept.creations.len() > MOST_KEPT {
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
