//! The credit ledger: every change of a balance is one entry, chained by hash to the one before it.

use std::collections::{BTreeMap, HashSet};

use sha2::{Digest, Sha256};
use tokio::runtime::Handle;
use tokio::sync::oneshot;

use super::StateError;
use super::account_cache::Hold;
use super::audit::{AuditRow, Page};
use super::db::{Db, Insert, Row, Tx, Value};
use super::idempotency::{self, AnswerRecord};
use super::lease::{self, Leases};

/// The kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Credits paid for an answer.
    Charge,
    /// Credits given by the back office.
    Grant,
    /// A charge given back.
    Refund,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Charge, Self::Grant, Self::Refund];

    fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| one.name() == name)
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Grant => "grant",
            Self::Refund => "refund",
        }
    }
}

/// An entry to be booked.
#[derive(Debug, Clone)]
pub(super) struct Entry<'a> {
    /// Id of the request or of the act that caused it.
    pub request_id: &'a str,
    /// The account.
    pub account: i64,
    /// The kind.
    pub kind: Kind,
    /// The change of the balance: negative for a charge.
    pub amount: i64,
    /// The key that was used.
    pub key_id: Option<&'a str>,
    /// The endpoint that was called.
    pub endpoint: Option<&'a str>,
    /// Unix milliseconds.
    pub ts_ms: i64,
}

/// The first link of every chain.
pub(super) const GENESIS: [u8; 32] = [0; 32];

/// The fields of an entry.
const LEDGER: Insert = Insert {
    head: "INSERT INTO credit_ledger
           (request_id, account_id, entry, kind, amount, balance_after, key_id, endpoint, ts_ms, hash)",
    columns: 10,
};

/// The head of the chain of an account, inside an open transaction that has locked the account.
#[derive(Debug)]
pub(super) struct Chain {
    account: i64,
    pub balance: i64,
    entries: i64,
    head: [u8; 32],
    before: i64,
}

/// An entry with its place in the chain, ready to be written.
#[derive(Debug)]
pub(super) struct Link<'a> {
    entry: Entry<'a>,
    number: i64,
    pub after: i64,
    hash: [u8; 32],
}

impl Chain {
    /// Reads where the chain is, and locks the account until the transaction ends.
    pub fn of(tx: &mut Tx<'_>, account: i64) -> Result<Option<Self>, StateError> {
        let row = tx.row("SELECT balance, entries, head FROM account WHERE id = ?1 /*lock*/", &[account.into()])?;
        row.map(|row| {
            let entries = row.int(1)?;
            Ok(Self { account, balance: row.int(0)?, entries, head: row.digest(2)?, before: entries })
        })
        .transpose()
    }

    /// Checks that the account ends with its last entry, so that nothing is booked on what was damaged, which would fit
    /// from then on. Asked once the account is locked: before, a shared database shows the entry of another moment.
    fn check_end(&self, tx: &mut Tx<'_>) -> Result<(), StateError> {
        if self.entries == 0 {
            return Ok(());
        }
        let row = tx.row(
            "SELECT balance_after, hash FROM credit_ledger WHERE account_id = ?1 AND entry = ?2",
            &[self.account.into(), self.entries.into()],
        )?;
        let end = row.and_then(|row| Some((row.int(0).ok()?, row.digest(1).ok()?)));
        if end == Some((self.balance, self.head)) {
            return Ok(());
        }
        let what = "the account does not end with its last entry";
        Err(StateError::BrokenLedger { account: self.account, entry: self.entries, what })
    }

    /// The next link; `None` where the balance does not allow it.
    pub fn link<'a>(&mut self, entry: Entry<'a>) -> Option<Link<'a>> {
        let after = self.balance.checked_add(entry.amount).filter(|after| *after >= 0)?;
        self.entries += 1;
        self.balance = after;
        self.head = link(&self.head, &entry, self.entries, after);
        Some(Link { entry, number: self.entries, after, hash: self.head })
    }

    /// Writes links and the balance after them: all together, or the transaction must not be committed.
    pub fn write(&self, tx: &mut Tx<'_>, links: &[Link<'_>]) -> Result<(), StateError> {
        let rows: Vec<Vec<Value<'_>>> = links
            .iter()
            .map(|link| {
                let entry = &link.entry;
                vec![
                    entry.request_id.into(),
                    entry.account.into(),
                    link.number.into(),
                    entry.kind.name().into(),
                    entry.amount.into(),
                    link.after.into(),
                    entry.key_id.into(),
                    entry.endpoint.into(),
                    entry.ts_ms.into(),
                    (&link.hash).into(),
                ]
            })
            .collect();
        let broken = |what| StateError::BrokenLedger { account: self.account, entry: self.entries, what };
        if tx.insert(&LEDGER, &rows)? != links.len() as u64 {
            // Request ids are ours and unique; a second entry under one id must never move the balance again.
            return Err(broken("an entry of this request is there already"));
        }
        let changed = tx.execute(
            "UPDATE account SET balance = ?2, entries = ?3, head = ?4 WHERE id = ?1 AND entries = ?5",
            &[self.account.into(), self.balance.into(), self.entries.into(), (&self.head).into(), self.before.into()],
        )?;
        if changed == 1 { Ok(()) } else { Err(broken("the account was changed under its lock")) }
    }
}

/// Books one entry; gives the balance after it, or `None` where the account does not exist or allow it.
pub(super) fn book(tx: &mut Tx<'_>, entry: Entry<'_>) -> Result<Option<i64>, StateError> {
    let Some(mut chain) = Chain::of(tx, entry.account)? else { return Ok(None) };
    chain.check_end(tx)?;
    let Some(link) = chain.link(entry) else { return Ok(None) };
    chain.write(tx, std::slice::from_ref(&link))?;
    Ok(Some(link.after))
}

/// Checks every chain and every balance; gives the number of entries.
///
/// # Errors
/// [`StateError::BrokenLedger`] naming the first entry that does not fit.
pub fn check_ledger(db: &mut Db) -> Result<u64, StateError> {
    check_all(db, Err)
}

/// Checks every chain and every balance, and hands the first thing that does not fit of each account to `broken`; goes
/// on with the next account where that allows it. Gives the number of entries of those that fit.
fn check_all(db: &mut Db, mut broken: impl FnMut(StateError) -> Result<(), StateError>) -> Result<u64, StateError> {
    // One transaction, so that what is written meanwhile is not half seen.
    db.transaction(|tx| {
        tx.repeatable_read()?;
        let mut checked = 0;
        for row in tx.rows("SELECT id FROM account ORDER BY id", &[])? {
            match check_account(tx, row.int(0)?) {
                Ok(entries) => checked += entries,
                Err(error) => broken(error)?,
            }
        }
        Ok(checked)
    })
}

/// Checks that the last entry of every account is the one that the account keeps, so that no balance is served that the
/// ledger does not end with. Cheap enough for every start; what lies before the last entry only [`check_ledger`] sees.
pub(super) fn check_ends(tx: &mut Tx<'_>) -> Result<(), StateError> {
    let rows = tx.rows(
        "SELECT account.id, balance, entries, head,
                (SELECT max(entry) FROM credit_ledger WHERE account_id = account.id),
                (SELECT hash FROM credit_ledger WHERE account_id = account.id AND entry = account.entries - 1),
                request_id, kind, amount, balance_after, key_id, endpoint, ts_ms, hash
         FROM account LEFT JOIN credit_ledger ON account_id = account.id AND entry = entries ORDER BY account.id",
        &[],
    )?;
    for row in &rows {
        let (account, balance, entries, head) = (row.int(0)?, row.int(1)?, row.int(2)?, row.digest(3)?);
        let broken = |what| Err(StateError::BrokenLedger { account, entry: entries, what });
        if row.maybe_int(4)?.unwrap_or(0) != entries {
            return broken("the account counts another number of entries");
        }
        if entries == 0 {
            if balance != 0 || head != GENESIS {
                return broken("there is a balance without an entry");
            }
            continue;
        }
        let before = if entries == 1 { Some(GENESIS) } else { row.digest(5).ok() };
        let (Some(before), Some((entry, after, hash))) = (before, entry_of(row, account, 6)) else {
            return broken("a value of it is of another kind");
        };
        if after != balance || hash != head || link(&before, &entry, entries, balance) != head {
            return broken("the account does not end with its last entry");
        }
    }
    Ok(())
}

/// Checks the chain and the balance of one account; gives the number of entries.
fn check_account(tx: &mut Tx<'_>, account: i64) -> Result<u64, StateError> {
    let row = tx.row("SELECT balance, entries, head FROM account WHERE id = ?1", &[account.into()])?;
    let Some(row) = row else { return Ok(0) };
    let (balance, entries, head) = (row.int(0)?, row.int(1)?, row.digest(2)?);
    let (count, sum, last) = check_chain(tx, account)?;
    let broken = |what| StateError::BrokenLedger { account, entry: count, what };
    if count != entries {
        return Err(broken("the account counts another number of entries"));
    }
    if sum != balance {
        return Err(broken("the sum of the entries is not the balance"));
    }
    if last != head {
        return Err(broken("the last hash is not the one that the account keeps"));
    }
    Ok(count.unsigned_abs())
}

/// Number of entries, their sum and the last hash of one account.
fn check_chain(tx: &mut Tx<'_>, account: i64) -> Result<(i64, i64, [u8; 32]), StateError> {
    /// Entries read at a time.
    const PAGE: i64 = 10_000;
    let (mut count, mut sum, mut head) = (0_i64, 0_i64, GENESIS);
    loop {
        let page = tx.rows(
            "SELECT entry, request_id, kind, amount, balance_after, key_id, endpoint, ts_ms, hash
             FROM credit_ledger WHERE account_id = ?1 AND entry > ?2 ORDER BY entry LIMIT ?3",
            &[account.into(), count.into(), PAGE.into()],
        )?;
        for row in &page {
            let number = row.int(0)?;
            let broken = |what| StateError::BrokenLedger { account, entry: number, what };
            let read = entry_of(row, account, 1);
            let (entry, after, hash) = read.ok_or_else(|| broken("a value of it is of another kind"))?;
            count += 1;
            sum = sum.checked_add(entry.amount).ok_or_else(|| broken("the sum passes 2^63"))?;
            if number != count {
                return Err(broken("an entry is missing before it"));
            }
            if sum != after {
                return Err(broken("the balance after it is not the sum so far"));
            }
            if link(&head, &entry, count, sum) != hash {
                return Err(broken("its hash does not fit"));
            }
            head = hash;
        }
        if page.len() < usize::try_from(PAGE).expect("a page is small") {
            return Ok((count, sum, head));
        }
    }
}

/// The entry whose columns begin at `first`, the balance after it and its hash; `None` where a value is none of its column.
fn entry_of(row: &Row, account: i64, first: usize) -> Option<(Entry<'_>, i64, [u8; 32])> {
    let entry = Entry {
        request_id: row.text(first).ok()?,
        account,
        kind: Kind::named(row.text(first + 1).ok()?)?,
        amount: row.int(first + 2).ok()?,
        key_id: row.maybe_text(first + 4).ok()?,
        endpoint: row.maybe_text(first + 5).ok()?,
        ts_ms: row.int(first + 6).ok()?,
    };
    Some((entry, row.int(first + 3).ok()?, row.digest(first + 7).ok()?))
}

fn link(head: &[u8; 32], entry: &Entry<'_>, number: i64, after: i64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(head);
    for value in [entry.account, number, entry.amount, after, entry.ts_ms] {
        hash.update(value.to_be_bytes());
    }
    for text in [Some(entry.request_id), Some(entry.kind.name()), entry.key_id, entry.endpoint] {
        // The length separates an absent text from an empty one, and shows where one text ends.
        hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
        hash.update(text.unwrap_or_default().as_bytes());
    }
    hash.finalize().into()
}

/// An answer to be paid for. `audit.bytes` is the size of its body without the digits of the balance.
pub(super) struct Charge {
    pub hold: Hold,
    pub audit: AuditRow,
    /// The record of the answer for a client that repeats the request.
    pub keep: Option<AnswerRecord>,
    pub done: oneshot::Sender<Result<i64, StateError>>,
    /// The runtime where the caller waits.
    pub runtime: Option<Handle>,
}

/// The result of a booking, where the database itself did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BookingResult {
    Done(i64),
    Insufficient,
    Repeated,
    CalledIn,
}

impl Charge {
    /// Ends the hold; returns the receiver of the balance of a charge that is done.
    pub fn finish(self, outcome: BookingResult) -> Option<(oneshot::Sender<Result<i64, StateError>>, i64)> {
        let refused = match outcome {
            BookingResult::Done(balance) => {
                self.hold.settle(balance);
                return Some((self.done, balance));
            }
            BookingResult::Insufficient => StateError::Insufficient { cost: self.hold.cost() },
            BookingResult::Repeated => StateError::Repeated,
            BookingResult::CalledIn => {
                StateError::NotCommitted("the credits lent to this replica were called in".to_owned())
            }
        };
        self.fail(refused);
        None
    }

    pub fn fail(self, error: StateError) {
        // Given back before anybody hears of it.
        drop(self.hold);
        let _ = self.done.send(Err(error));
    }

    fn entry(&self) -> Entry<'_> {
        Entry {
            request_id: &self.audit.request_id,
            account: self.hold.account().id(),
            kind: Kind::Charge,
            amount: -self.hold.cost(),
            key_id: self.audit.key_id.as_deref(),
            endpoint: self.audit.endpoint,
            ts_ms: self.audit.ts_ms,
        }
    }
}

/// Books charges account by account, in order of their numbers so that replicas never wait for one another in a
/// circle. Gives outcomes in the order of the charges, and the page of the audit, which is still to be written.
pub(super) fn write_charges(
    tx: &mut Tx<'_>,
    charges: &[Charge],
    leases: &Leases,
    spent: &mut lease::SettledLoans,
) -> Result<(Vec<BookingResult>, Option<Page>), StateError> {
    let mut by_account: BTreeMap<i64, Vec<usize>> = BTreeMap::new();
    for (place, charge) in charges.iter().enumerate() {
        by_account.entry(charge.hold.account().id()).or_default().push(place);
    }
    let mut outcomes = vec![BookingResult::Insufficient; charges.len()];
    for (account, places) in by_account {
        let Some(mut chain) = Chain::of(tx, account)? else { continue };
        let mut links: Vec<Link<'_>> = Vec::with_capacity(places.len());
        let mut booked: HashSet<&str> = HashSet::new();
        for &place in &places {
            let charge = &charges[place];
            if !charge.hold.is_current() {
                outcomes[place] = BookingResult::CalledIn;
                continue;
            }
            if let Some(keep) = &charge.keep
                && (!booked.insert(&keep.key) || idempotency::is_kept(tx, account, &keep.key)?)
            {
                outcomes[place] = BookingResult::Repeated;
                continue;
            }
            if let Some(link) = chain.link(charge.entry()) {
                outcomes[place] = BookingResult::Done(link.after);
                links.push(link);
            }
        }
        let credits: i64 = places
            .iter()
            .filter(|place| matches!(outcomes[**place], BookingResult::Done(_)))
            .map(|place| charges[*place].hold.cost())
            .sum();
        // First, since no more may be lent than the balance holds.
        if leases.settle(tx, account, credits, spent)? {
            chain.write(tx, &links)?;
        } else {
            for place in places {
                outcomes[place] = BookingResult::CalledIn;
            }
        }
    }
    let done = charges.iter().zip(&outcomes).filter_map(|(charge, outcome)| match outcome {
        BookingResult::Done(balance) => Some((charge, *balance)),
        BookingResult::Insufficient | BookingResult::Repeated | BookingResult::CalledIn => None,
    });
    for (charge, balance) in done.clone() {
        if let Some(keep) = &charge.keep {
            let answered = (charge.audit.request_id.as_str(), charge.audit.status);
            idempotency::keep(tx, charge.hold.account().id(), keep, answered, balance)?;
        }
    }
    let rows: Vec<AuditRow> = done
        .map(|(charge, balance)| {
            // The body of an envelope holds the balance, which is known only now; that of a table is still to be written.
            let digits = u64::from(balance.checked_ilog10().unwrap_or(0) + 1);
            let bytes = if charge.audit.bytes == 0 { 0 } else { charge.audit.bytes + digits };
            AuditRow { bytes, ..charge.audit.clone() }
        })
        .collect();
    Ok((outcomes, Page::of(&rows)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Access, Environment, Home};

    #[test]
    fn booking_on_a_balance_that_differs_from_the_ledger_is_refused() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let key = home.admin("t", |admin| admin.create_key("t", Environment::Live, 50, None)).unwrap().id;
        let mut db = home.connect(Access::Write).unwrap();
        let charge = Entry {
            request_id: "lost",
            account: 1,
            kind: Kind::Charge,
            amount: -5,
            key_id: Some(&key),
            endpoint: None,
            ts_ms: 1,
        };
        db.transaction(|tx| {
            book(tx, charge.clone())?;
            tx.execute("INSERT INTO lost_answer (request_id, run_id, found_at_ms) VALUES ('lost', 'a', 1)", &[])?;
            crate::checksums::renew(tx, &crate::checksums::LOST, &["lost".into()])?;
            tx.execute("UPDATE account SET balance = balance + 1048576", &[])
        })
        .unwrap();
        let is_broken = |error: StateError| matches!(error, StateError::BrokenLedger { account: 1, entry: 2, .. });
        assert!(is_broken(home.admin("t", |admin| admin.add_credits(&key, 1)).unwrap_err()));
        assert!(is_broken(home.admin("t", |admin| admin.refund("lost")).unwrap_err()));
        // What other accounts lost is given back all the same.
        let other = home.admin("t", |admin| admin.create_key("t", Environment::Live, 50, None)).unwrap().id;
        db.transaction(|tx| {
            book(tx, Entry { request_id: "other", account: 2, key_id: Some(&other), ..charge })?;
            tx.execute("INSERT INTO lost_answer (request_id, run_id, found_at_ms) VALUES ('other', 'a', 1)", &[])?;
            crate::checksums::renew(tx, &crate::checksums::LOST, &["other".into()])
        })
        .unwrap();
        #[expect(clippy::redundant_closure_for_method_calls, reason = "`AdminService` has two lifetimes")]
        let refund = || home.admin("t", |admin| admin.refund_lost());
        assert_eq!(refund().unwrap(), 1);
        assert!(is_broken(refund().unwrap_err()));
        let options = crate::Options { refund_lost: true, ..crate::Options::default() };
        let started = crate::State::start(&home, options, Box::new(|| ()));
        assert!(is_broken(started.err().unwrap()));
        let counted = db.transaction(|tx| {
            tx.row("SELECT (SELECT count(*) FROM credit_ledger), (SELECT count(*) FROM server_run)", &[])
        });
        let counted = counted.unwrap().unwrap();
        assert_eq!((counted.int(0).unwrap(), counted.int(1).unwrap()), (5, 0), "and no run has begun");
    }

    #[test]
    fn what_was_given_back_before_it_was_found_lost_is_shown_so() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        home.admin("t", |admin| admin.create_key("t", Environment::Live, 50, None)).unwrap();
        let mut db = home.connect(Access::Write).unwrap();
        let (request_id, kind) = ("lost", Kind::Charge);
        let charge = Entry { request_id, account: 1, kind, amount: -5, key_id: None, endpoint: None, ts_ms: 1 };
        db.transaction(|tx| book(tx, charge)).unwrap();
        home.admin("t", |admin| admin.refund("lost")).unwrap();
        db.transaction(|tx| {
            tx.execute("INSERT INTO lost_answer (request_id, run_id, found_at_ms) VALUES ('lost', 'a', 1)", &[])?;
            crate::checksums::renew(tx, &crate::checksums::LOST, &["lost".into()])
        })
        .unwrap();
        let (lost, open) = home.consult(|admin| Ok((admin.lost_answers(9)?, admin.open_losses()?))).unwrap();
        assert!(lost.len() == 1 && lost[0].refunded_at_ms.is_some(), "{lost:?}");
        assert_eq!(open, 0);
    }

    /// Entries of so many accounts, so many each.
    fn ledger(home: &Home, accounts: i64, entries: i64) -> Db {
        let mut db = home.connect(Access::Write).unwrap();
        let key = home.admin("t", |admin| admin.create_key("t", Environment::Live, 0, None)).unwrap();
        for account in 1..=accounts {
            db.transaction(|tx| {
                if account > 1 {
                    tx.execute(
                        "INSERT INTO account (id, name, balance, head, created_at) VALUES (?1, 't', 0, ?2, 1)",
                        &[account.into(), (&GENESIS).into()],
                    )?;
                }
                let mut chain = Chain::of(tx, account)?.unwrap();
                let ids: Vec<String> = (0..entries)
                    .map(|entry| {
                        let number = account * entries + entry;
                        // In order, as ids made by time are, and so far apart that no flipped bit makes one of another.
                        format!("{number:012}-{:016x}", number.wrapping_mul(-7_046_029_254_386_353_131))
                    })
                    .collect();
                let links: Vec<Link<'_>> = ids
                    .iter()
                    .zip(0..)
                    .filter_map(|(id, number): (&String, i64)| {
                        chain.link(Entry {
                            request_id: id,
                            account,
                            kind: if number % 2 == 0 { Kind::Grant } else { Kind::Charge },
                            amount: if number % 2 == 0 { 7 } else { -5 },
                            key_id: Some(&key.id),
                            endpoint: (number % 3 > 0).then_some("/v1/transactions"),
                            ts_ms: 1_700_000_000_000 + number,
                        })
                    })
                    .collect();
                chain.write(tx, &links)
            })
            .unwrap();
        }
        db
    }

    /// Flips one bit of a value of one entry; of the low bits of a letter, so that text stays text.
    fn flip(file: &rusqlite::Connection, place: (i64, i64), column: &str, next: &mut impl FnMut(u64) -> u64) {
        use rusqlite::types::Value;
        let select = format!("SELECT {column} FROM credit_ledger WHERE account_id = ?1 AND entry = ?2");
        let flipped = match file.query_row(&select, [place.0, place.1], |row| row.get(0)).unwrap() {
            // Where an entry is must stay unique, which a low bit may not leave it.
            Value::Integer(value) if column == "account_id" || column == "entry" => {
                Value::Integer(value ^ (1 << (32 + next(31))))
            }
            Value::Integer(value) => Value::Integer(value ^ (1 << next(63))),
            Value::Text(mut text) => {
                let place = usize::try_from(next(text.len() as u64)).unwrap();
                let byte = char::from(text.as_bytes()[place] ^ (1 << next(5)));
                text.replace_range(place..=place, &byte.to_string());
                Value::Text(text)
            }
            Value::Blob(mut bytes) => {
                let place = usize::try_from(next(bytes.len() as u64)).unwrap();
                bytes[place] ^= 1 << next(8);
                Value::Blob(bytes)
            }
            // An endpoint that is none has no bits.
            _ => Value::Text("\u{1}".to_owned()),
        };
        let set = format!("UPDATE credit_ledger SET {column} = ?3 WHERE account_id = ?1 AND entry = ?2");
        file.execute(&set, rusqlite::params![place.0, place.1, flipped]).unwrap();
    }

    #[test]
    fn no_table_is_made_to_check_an_entry() {
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        drop(ledger(&home, 1, 1));
        let db = rusqlite::Connection::open(home.database().unwrap()).unwrap();
        let sql = format!("EXPLAIN {} VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)", LEDGER.head);
        let mut steps = db.prepare(&sql).unwrap();
        let steps: Vec<String> =
            steps.query_map([None::<i64>; 10], |row| row.get(1)).unwrap().map(Result::unwrap).collect();
        assert!(steps.iter().any(|step| step == "OpenWrite"), "{steps:?}");
        assert!(steps.iter().all(|step| step != "OpenEphemeral"), "{steps:?}");
    }

    #[test]
    fn one_flipped_bit_anywhere_in_the_ledger_is_found() {
        const COLUMNS: [&str; 10] = [
            "request_id",
            "account_id",
            "entry",
            "kind",
            "amount",
            "balance_after",
            "key_id",
            "endpoint",
            "ts_ms",
            "hash",
        ];
        let (accounts, entries) = if headwater_testkit::is_full() { (1000, 10_000) } else { (200, 50) };
        let place = tempfile::tempdir().unwrap();
        let home = Home::in_folder(place.path()).unwrap();
        let mut db = ledger(&home, accounts, entries);
        let begun = std::time::Instant::now();
        assert_eq!(check_ledger(&mut db).unwrap(), (accounts * entries).unsigned_abs());
        let took = begun.elapsed();
        // One bit in each account's chain, and one look at all of them: nothing of one account reaches another's.
        let file = rusqlite::Connection::open(home.database().unwrap()).unwrap();
        let unguarded = "DROP TRIGGER credit_ledger_no_update; PRAGMA ignore_check_constraints = ON;
                         PRAGMA foreign_keys = OFF; PRAGMA synchronous = OFF; BEGIN";
        file.execute_batch(unguarded).unwrap();
        let mut seed = 20_260_101_u64;
        let mut next = |below: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (seed >> 33) % below
        };
        for account in 1..=accounts {
            let entry = i64::try_from(next(entries.unsigned_abs())).unwrap() + 1;
            let column = COLUMNS[usize::try_from(account).unwrap() % COLUMNS.len()];
            flip(&file, (account, entry), column, &mut next);
        }
        file.execute_batch("COMMIT").unwrap();
        drop(file);
        let mut found = std::collections::BTreeSet::new();
        let sound = check_all(&mut db, |error| {
            match error {
                StateError::BrokenLedger { account, .. } => found.insert(account),
                other => panic!("{other}"),
            };
            Ok(())
        });
        println!(
            "{} entries, checked in {took:.1?}; {} of {accounts} flipped bits found",
            accounts * entries,
            found.len()
        );
        assert_eq!(found.len(), usize::try_from(accounts).unwrap());
        assert_eq!(sound.unwrap(), 0);
    }
}
