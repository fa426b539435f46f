//! Reads the movements of one account that a scope is about, for lists, sums and balances.

use std::ops::ControlFlow;

use headwater_ledger::memory::{Reservation, table_bytes};
use headwater_ledger::read::{Account, AccountRef, ColumnSet, Direction, Posting, PostingKey, Scan};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::utxo_attribution::Attribution;
use headwater_types::{Address, Family};
use rustc_hash::FxHashMap;

use crate::Error;
use crate::asset_book::AssetBook;
use crate::purposes::COUNTERPARTIES;
use crate::scope::{Judged, Rule, Scope, Verdict};

/// The token to stop is looked at once per so many movements.
pub(crate) const CANCEL_EVERY: usize = 4096;

/// Accounts of more movements are divided between threads.
const PARALLEL_POSTINGS: u64 = 1 << 16;

/// A movement of the account, with the number of its asset. Where only movements with one counterparty are read, the
/// amount is what moved between the two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    pub posting: Posting,
    pub asset: usize,
}

/// The visitor of each movement; breaking ends the read.
pub(crate) type Visit<'v, 'a> = &'v mut dyn FnMut(&mut AssetBook<'a>, Flow, Verdict) -> Result<ControlFlow<()>, Error>;

/// The movements of one account under one scope.
pub(crate) struct MovementReader<'a> {
    pub ledger: &'a dyn Ledger,
    pub book: AssetBook<'a>,
    scope: &'a Scope,
    address: Address,
    other: Option<Address>,
    /// The account that is scanned; `None` when it was never seen.
    account: Option<Account>,
    /// True where the scanned account is the counterparty, because it has less to scan.
    mirrored: bool,
    matches: FxHashMap<AccountRef, bool>,
    held: Reservation,
    /// The rules of the assets of the book, by their numbers; those that were met.
    rules: Vec<Option<Rule>>,
}

/// The rule of an asset, which is made once.
fn rule_of<'r>(rules: &'r mut Vec<Option<Rule>>, scope: &Scope, book: &AssetBook<'_>, asset: usize) -> &'r Rule {
    if asset >= rules.len() {
        rules.resize(asset + 1, None);
    }
    rules[asset].get_or_insert_with(|| scope.rule(book.view(asset)))
}

impl<'a> MovementReader<'a> {
    /// All movements of an account.
    pub fn new(ledger: &'a dyn Ledger, scope: &'a Scope, address: Address, cancel: &Cancel) -> Result<Self, Error> {
        let account = ledger.account(scope.chain, &address)?;
        let book = AssetBook::within(ledger, scope.chain, cancel);
        let (matches, held, rules) = (FxHashMap::default(), cancel.holding(COUNTERPARTIES), Vec::new());
        Ok(Self { ledger, book, scope, address, other: None, account, mirrored: false, matches, held, rules })
    }

    /// Only the movements between the account and another; of an account with itself when both are one.
    pub fn between(
        ledger: &'a dyn Ledger,
        scope: &'a Scope,
        (address, other): (Address, Address),
        cancel: &Cancel,
    ) -> Result<Self, Error> {
        let mut reader = Self { other: Some(other), ..Self::new(ledger, scope, address, cancel)? };
        // A UTXO row is numbered by the place of its own address, so there the account itself is always read.
        if scope.chain.family() != Family::Utxo && other != address {
            match (&reader.account, ledger.account(scope.chain, &other)?) {
                (_, None) => reader.account = None,
                (Some(own), Some(of_other)) if of_other.postings < own.postings => {
                    reader.account = Some(of_other);
                    reader.mirrored = true;
                }
                (_, Some(_)) => {}
            }
        }
        Ok(reader)
    }

    /// The scope of the movements.
    pub fn scope(&self) -> &'a Scope {
        self.scope
    }

    /// The account that is scanned.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Returns the number of movements that a full read looks at.
    pub fn length(&self) -> u64 {
        self.account.as_ref().map_or(0, |account| account.postings)
    }

    /// A scan in parts for threads, no transaction in two of them: the whole of it where it is short, or where there is
    /// one thread.
    pub fn parts(&self, scan: &Scan) -> Result<Vec<Scan>, Error> {
        match &self.account {
            Some(account) if account.postings > PARALLEL_POSTINGS => {
                Ok(self.ledger.split(account, scan, rayon::current_num_threads())?)
            }
            _ => Ok(vec![scan.clone()]),
        }
    }

    /// Shows every movement to `visit`, with its verdict, in the order of the scan, until it breaks off.
    pub fn visit(&mut self, scan: &Scan, cancel: &Cancel, visit: Visit<'_, 'a>) -> Result<(), Error> {
        let Some(account) = self.account.clone() else { return Ok(()) };
        for (count, posting) in self.ledger.postings(&account, scan)?.enumerate() {
            if count % CANCEL_EVERY == 0 {
                cancel.check().map_err(LedgerError::from)?;
            }
            if self.show(posting?, visit)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// The same for a visit that most often ends after `likely` movements: so many are read in one piece, and what
    /// follows only where they were not enough.
    pub fn visit_first(
        &mut self,
        scan: &Scan,
        likely: usize,
        cancel: &Cancel,
        visit: Visit<'_, 'a>,
    ) -> Result<(), Error> {
        // Those with one counterparty lie anywhere among the movements of the account.
        let Some(account) = self.account.clone().filter(|_| self.other.is_none()) else {
            return self.visit(scan, cancel, visit);
        };
        let first = self.ledger.page(&account, scan, likely)?;
        for posting in &first {
            if self.show(*posting, visit)?.is_break() {
                return Ok(());
            }
        }
        match first.last() {
            Some(last) if first.len() == likely => {
                let after = Some(key(self.ledger, last)?);
                self.visit(&Scan { after, ..scan.clone() }, cancel, visit)
            }
            _ => Ok(()),
        }
    }

    fn show(&mut self, posting: Posting, visit: Visit<'_, 'a>) -> Result<ControlFlow<()>, Error> {
        let Some(posting) = self.seen(posting)? else { return Ok(ControlFlow::Continue(())) };
        let asset = self.book.of_ref(posting.asset)?;
        let verdict = rule_of(&mut self.rules, self.scope, &self.book, asset).judge(&Judged::from(&posting));
        visit(&mut self.book, Flow { posting, asset }, verdict)
    }

    /// Shows the verdict on every movement to `add`, in no particular order: by column, as no row is wanted.
    pub fn verdicts(&mut self, scan: &Scan, cancel: &Cancel, add: &mut dyn FnMut(Verdict)) -> Result<(), Error> {
        if self.other.is_some() {
            return self.visit(scan, cancel, &mut |_, _, verdict| {
                add(verdict);
                Ok(ControlFlow::Continue(()))
            });
        }
        let Some(account) = &self.account else { return Ok(()) };
        let (book, rules, scope) = (&mut self.book, &mut self.rules, self.scope);
        let wanted = (ColumnSet::ASSETS.with(ColumnSet::AMOUNTS), cancel);
        // The numbers in the book of the assets of a part, by their numbers there.
        let (mut part, mut known): (_, Vec<Option<usize>>) = (None, Vec::new());
        let mut failure = None;
        self.ledger.posting_columns(account, scan, wanted, &mut |columns| {
            if part.replace(columns.part()) != Some(columns.part()) {
                known.clear();
            }
            for (at, (flags, number)) in columns.flags().iter().zip(columns.assets()).enumerate() {
                let place = *number as usize;
                if place >= known.len() {
                    known.resize(place + 1, None);
                }
                let number = match known[place] {
                    Some(number) => number,
                    None => match book.of_ref(columns.asset(*number)) {
                        Ok(number) => *known[place].insert(number),
                        Err(error) => {
                            failure = Some(error);
                            return Ok(ControlFlow::Break(()));
                        }
                    },
                };
                let (direction, status, amount) = (flags.direction(), flags.status(), columns.amount(at));
                add(rule_of(rules, scope, book, number).judge(&Judged { direction, status, amount }));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        failure.map_or(Ok(()), Err)
    }

    /// The posting as seen from the account, `None` when it is not with the counterparty asked for.
    fn seen(&mut self, posting: Posting) -> Result<Option<Posting>, Error> {
        let Some(other) = self.other else { return Ok(Some(posting)) };
        if other == self.address || posting.direction == Direction::Own {
            let own = other == self.address && posting.direction == Direction::Own;
            return Ok(own.then_some(posting));
        }
        if self.scope.chain.family() == Family::Utxo {
            let attribution = Attribution::of_transaction(&self.ledger.transaction(posting.transaction)?);
            let value = match posting.direction {
                Direction::Out => attribution.value(&self.address, &other),
                Direction::In | Direction::Own => attribution.value(&other, &self.address),
            };
            return Ok(value.map(|amount| Posting { amount, ..posting }));
        }
        let Some(counterparty) = posting.counterparty else { return Ok(None) };
        let wanted = if self.mirrored { self.address } else { other };
        let matches = match self.matches.get(&counterparty) {
            Some(matches) => *matches,
            None => {
                let matches = self.ledger.address(counterparty)? == wanted;
                self.held.reach(table_bytes::<(AccountRef, bool)>(self.matches.len() + 1))?;
                self.matches.insert(counterparty, matches);
                matches
            }
        };
        let direction = match (self.mirrored, posting.direction) {
            (true, Direction::In) => Direction::Out,
            (true, Direction::Out) => Direction::In,
            (_, direction) => direction,
        };
        Ok(matches.then_some(Posting { direction, ..posting }))
    }
}

/// Returns the place of a movement, from which a scan continues.
pub(crate) fn key(ledger: &dyn Ledger, posting: &Posting) -> Result<PostingKey, Error> {
    let head = ledger.transaction_head(posting.transaction)?;
    Ok(PostingKey {
        block: head.block,
        index: head.index,
        hash: head.hash,
        kind: posting.kind,
        ordinal: posting.ordinal,
    })
}
