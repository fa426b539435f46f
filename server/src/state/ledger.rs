//! The credit ledger: every change of a balance is one entry, chained by hash to the one before it.

use rusqlite::{Connection, Row, params};
use sha2::{Digest, Sha256};

use super::StateError;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Credits paid for an answer.
    Charge,
    /// Credits given by the back office.
    Grant,
}

impl Kind {
    const fn name(self) -> &'static str {
        match self {
            Self::Charge => "charge",
            Self::Grant => "grant",
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
    /// What it is.
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

/// How a booking ended, where the database itself did not fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Booked {
    /// The balance after it.
    Done(i64),
    /// The balance does not allow it; nothing was changed.
    Refused,
}

/// The first link of every chain.
pub(super) const GENESIS: [u8; 32] = [0; 32];

/// Books an entry inside the open transaction: entry and balance together, or neither.
pub(super) fn book(connection: &Connection, entry: &Entry<'_>) -> rusqlite::Result<Booked> {
    let (balance, entries, head): (i64, i64, [u8; 32]) = connection
        .prepare_cached("SELECT balance, entries, head FROM account WHERE id = ?1")?
        .query_row([entry.account], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let Some(after) = balance.checked_add(entry.amount).filter(|after| *after >= 0) else {
        return Ok(Booked::Refused);
    };
    let number = entries + 1;
    let hash = link(&head, entry, number, after);
    let inserted = connection
        .prepare_cached(
            "INSERT INTO credit_ledger
             (request_id, account_id, entry, kind, amount, balance_after, key_id, endpoint, ts_ms, hash)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT (request_id) DO NOTHING",
        )?
        .execute(params![
            entry.request_id,
            entry.account,
            number,
            entry.kind.name(),
            entry.amount,
            after,
            entry.key_id,
            entry.endpoint,
            entry.ts_ms,
            hash.as_slice()
        ])?;
    if inserted == 0 {
        // Request ids are ours and unique; a second entry under one id must never move the balance again.
        return Ok(Booked::Refused);
    }
    let changed = connection
        .prepare_cached(
            "UPDATE account SET balance = balance + ?2, entries = ?3, head = ?4
             WHERE id = ?1 AND balance = ?5 AND balance + ?2 >= 0",
        )?
        .execute(params![entry.account, entry.amount, number, hash.as_slice(), balance])?;
    // The caller rolls the whole transaction back on an error, the entry included.
    if changed == 1 { Ok(Booked::Done(after)) } else { Err(rusqlite::Error::StatementChangedRows(changed)) }
}

/// Checks every chain and every balance; gives the number of entries.
///
/// # Errors
/// [`StateError::BrokenLedger`] naming the first entry that does not fit.
pub fn check_ledger(connection: &Connection) -> Result<u64, StateError> {
    let failed = |source| StateError::Database { path: connection.path().map(Into::into).unwrap_or_default(), source };
    let mut accounts =
        connection.prepare("SELECT id, balance, entries, head FROM account ORDER BY id").map_err(failed)?;
    let accounts = accounts
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))
        .and_then(Iterator::collect::<rusqlite::Result<Vec<(i64, i64, i64, [u8; 32])>>>)
        .map_err(failed)?;
    let mut checked = 0;
    for (account, balance, entries, head) in accounts {
        let (count, sum, last) = check_chain(connection, account)?;
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
        checked += count.unsigned_abs();
    }
    Ok(checked)
}

/// An entry as it is stored.
struct Stored {
    number: i64,
    request_id: String,
    kind: String,
    amount: i64,
    after: i64,
    key_id: Option<String>,
    endpoint: Option<String>,
    ts_ms: i64,
    hash: [u8; 32],
}

impl Stored {
    fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            number: row.get("entry")?,
            request_id: row.get("request_id")?,
            kind: row.get("kind")?,
            amount: row.get("amount")?,
            after: row.get("balance_after")?,
            key_id: row.get("key_id")?,
            endpoint: row.get("endpoint")?,
            ts_ms: row.get("ts_ms")?,
            hash: row.get("hash")?,
        })
    }

    fn entry(&self, account: i64) -> Entry<'_> {
        Entry {
            request_id: &self.request_id,
            account,
            kind: if self.kind == Kind::Charge.name() { Kind::Charge } else { Kind::Grant },
            amount: self.amount,
            key_id: self.key_id.as_deref(),
            endpoint: self.endpoint.as_deref(),
            ts_ms: self.ts_ms,
        }
    }
}

/// Number of entries, their sum and the last hash of one account.
fn check_chain(connection: &Connection, account: i64) -> Result<(i64, i64, [u8; 32]), StateError> {
    let failed = |source| StateError::Database { path: connection.path().map(Into::into).unwrap_or_default(), source };
    let mut statement = connection
        .prepare_cached("SELECT * FROM credit_ledger WHERE account_id = ?1 ORDER BY entry")
        .map_err(failed)?;
    let stored = statement.query_map([account], Stored::read).map_err(failed)?;
    let (mut count, mut sum, mut head) = (0_i64, 0_i64, GENESIS);
    for stored in stored {
        let stored = stored.map_err(failed)?;
        let broken = |what| StateError::BrokenLedger { account, entry: stored.number, what };
        count += 1;
        sum = sum.checked_add(stored.amount).ok_or_else(|| broken("the sum passes 2^63"))?;
        if stored.number != count {
            return Err(broken("an entry is missing before it"));
        }
        if sum != stored.after {
            return Err(broken("the balance after it is not the sum so far"));
        }
        if link(&head, &stored.entry(account), count, sum) != stored.hash {
            return Err(broken("its hash does not fit"));
        }
        head = stored.hash;
    }
    Ok((count, sum, head))
}

fn link(head: &[u8; 32], entry: &Entry<'_>, number: i64, after: i64) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(head);
    for value in [entry.account, number, entry.amount, after, entry.ts_ms] {
        hash.update(value.to_be_bytes());
    }
    for text in [Some(entry.request_id), Some(entry.kind.name()), entry.key_id, entry.endpoint] {
        // The length tells an absent text from an empty one, and where one text ends.
        hash.update(text.map_or(u64::MAX, |text| text.len() as u64).to_be_bytes());
        hash.update(text.unwrap_or_default().as_bytes());
    }
    hash.finalize().into()
}
