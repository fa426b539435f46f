//! Walks the movements of an account that a scope is about.

use std::collections::HashMap;
use std::ops::ControlFlow;

use headwater_ledger::read::{
    Account, AccountRef, AssetRef, ColumnSet, Direction, Posting, Scan, Transaction, TransactionRef,
};
use headwater_ledger::{Cancel, Ledger, LedgerError};
use headwater_metrics::utxo_attribution::{Attribution, Shape, pairs};
use headwater_types::{Address, Amount, Family};

use crate::Error;
use crate::asset_book::AssetBook;
use crate::scope::{Judged, Scope, Verdict};

/// The token to stop is looked at once per so many movements.
const CANCEL_EVERY: usize = 4096;

/// Accounts of more movements are divided between threads.
const PARALLEL_POSTINGS: u64 = 1 << 16;

/// A movement of the account, with the number of its asset. Where only movements with one counterparty are walked, the
/// amount is what moved between the two.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Flow {
    pub posting: Posting,
    pub asset: usize,
}

/// What is done with each movement; breaking ends the walk.
pub(crate) type Visit<'v, 'a> = &'v mut dyn FnMut(&mut AssetBook<'a>, Flow, Verdict) -> Result<ControlFlow<()>, Error>;

/// The movements of one account under one scope.
pub(crate) struct Walk<'a> {
    pub ledger: &'a dyn Ledger,
    pub book: AssetBook<'a>,
    scope: &'a Scope,
    address: Address,
    other: Option<Address>,
    /// The account that is scanned; `None` when it was never seen.
    account: Option<Account>,
    /// Whether the scanned account is the counterparty, because it has less to scan.
    mirrored: bool,
    matches: HashMap<AccountRef, bool>,
}

impl<'a> Walk<'a> {
    /// All movements of an account.
    pub fn new(ledger: &'a dyn Ledger, scope: &'a Scope, address: Address) -> Result<Self, Error> {
        let account = ledger.account(scope.chain, &address)?;
        let book = AssetBook::new(ledger, scope.chain);
        Ok(Self { ledger, book, scope, address, other: None, account, mirrored: false, matches: HashMap::new() })
    }

    /// Only the movements between the account and another; of an account with itself when both are one.
    pub fn between(ledger: &'a dyn Ledger, scope: &'a Scope, address: Address, other: Address) -> Result<Self, Error> {
        let mut walk = Self { other: Some(other), ..Self::new(ledger, scope, address)? };
        // A UTXO row is numbered by the place of its own address, so there the account itself is always walked.
        if scope.chain.family() != Family::Utxo && other != address {
            match (&walk.account, ledger.account(scope.chain, &other)?) {
                (_, None) => walk.account = None,
                (Some(own), Some(of_other)) if of_other.postings < own.postings => {
                    walk.account = Some(of_other);
                    walk.mirrored = true;
                }
                (_, Some(_)) => {}
            }
        }
        Ok(walk)
    }

    /// The account that is scanned.
    pub fn account(&self) -> Option<&Account> {
        self.account.as_ref()
    }

    /// Number of movements that a full walk looks at.
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
            let Some(posting) = self.seen(posting?)? else { continue };
            let asset = self.book.of_ref(posting.asset)?;
            let verdict = self.scope.judge(&posting, self.book.view(asset));
            if visit(&mut self.book, Flow { posting, asset }, verdict)?.is_break() {
                break;
            }
        }
        Ok(())
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
        let (book, scope) = (&mut self.book, self.scope);
        let wanted = (ColumnSet::ASSETS.with(ColumnSet::AMOUNTS), cancel);
        // What was asked of the book last: movements of one asset come in runs.
        let mut known: Option<(AssetRef, usize)> = None;
        let mut failure = None;
        self.ledger.posting_columns(account, scan, wanted, &mut |columns| {
            for (at, (flags, number)) in columns.flags().iter().zip(columns.assets()).enumerate() {
                let asset = columns.asset(*number);
                let number = match known {
                    Some((held, number)) if held == asset => number,
                    _ => match book.of_ref(asset) {
                        Ok(number) => number,
                        Err(error) => {
                            failure = Some(error);
                            return Ok(ControlFlow::Break(()));
                        }
                    },
                };
                known = Some((asset, number));
                let (direction, status, amount) = (flags.direction(), flags.status(), columns.amount(at));
                add(scope.judge_movement(&Judged { direction, status, amount }, book.view(number)));
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
            let attribution = attribution(&self.ledger.transaction(posting.transaction)?);
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

/// Who paid whom in a UTXO transaction.
pub(crate) fn attribution(transaction: &Transaction) -> Attribution {
    let Some(utxo) = &transaction.facts.utxo else { return pairs(&[], &[], Shape::Ordinary) };
    let spent = |input: &headwater_ledger::facts::InputFacts| match &input.spent {
        Some(output) => (output.owner, Some(output.amount)),
        None => (None, None),
    };
    let inputs: Vec<_> = utxo.inputs.iter().map(spent).collect();
    let outputs: Vec<_> = utxo.outputs.iter().map(|output| (output.owner, output.amount)).collect();
    pairs(&inputs, &outputs, Shape::Ordinary)
}

/// The counterparties of an account in a UTXO transaction with what moved between them.
pub(crate) fn counterparties(
    ledger: &dyn Ledger,
    transaction: TransactionRef,
    address: &Address,
) -> Result<Vec<(Address, Amount)>, Error> {
    let attribution = attribution(&ledger.transaction(transaction)?);
    let other =
        |pair: headwater_metrics::utxo_attribution::Pair| if pair.from == *address { pair.to } else { pair.from };
    Ok(attribution.of(address).map(|pair| (other(pair), pair.value)).collect())
}
