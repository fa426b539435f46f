//! The back office: keys and credits, as the command line changes them, with a server running or not.

use rusqlite::{Connection, OptionalExtension, Row, TransactionBehavior, params};
use serde::Serialize;
use uuid::Uuid;

use super::ledger::{Booked, Entry, GENESIS, Kind, book};
use super::{Environment, KeyText, StateError, StateFolder, now_ms};

/// A key as lists show it: never its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KeyListing {
    /// Public id.
    pub id: String,
    /// Name given at creation.
    pub name: String,
    /// `live` or `test`.
    pub environment: String,
    /// Credits left.
    pub credits: i64,
    /// Unix seconds.
    pub created_at: i64,
    /// Unix seconds; null while it is valid.
    pub revoked_at: Option<i64>,
}

/// A key that was just made.
#[derive(Debug)]
pub struct NewKey {
    /// Public id.
    pub id: String,
    /// The whole key: the only time it is there.
    pub key: KeyText,
    /// Credits it begins with.
    pub credits: i64,
}

/// Keys and credits of one state folder.
#[derive(Debug)]
pub struct BackOffice {
    folder: StateFolder,
    connection: Connection,
}

impl BackOffice {
    /// Opens the back office of a state folder. A server may be running on it.
    ///
    /// # Errors
    /// When the database cannot be opened.
    pub fn open(folder: StateFolder) -> Result<Self, StateError> {
        let connection = folder.writer()?;
        Ok(Self { folder, connection })
    }

    /// Makes an account with a key and gives it credits.
    ///
    /// # Errors
    /// When `credits` is negative or the database fails.
    pub fn create_key(&mut self, name: &str, environment: Environment, credits: i64) -> Result<NewKey, StateError> {
        if credits < 0 {
            return Err(StateError::BadAmount { amount: credits });
        }
        let key = KeyText::generate(environment)?;
        let digest = self.folder.pepper().key_digest(&key);
        let now = now_ms();
        self.commit(|connection| {
            connection.execute(
                "INSERT INTO account (name, balance, head, created_at) VALUES (?1, 0, ?2, ?3)",
                params![name, GENESIS.as_slice(), now / 1000],
            )?;
            let account = connection.last_insert_rowid();
            connection.execute(
                "INSERT INTO api_key (id, account_id, name, environment, digest, created_at)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
                params![key.id(), account, name, environment.name(), digest.as_slice(), now / 1000],
            )?;
            if credits > 0 {
                grant(connection, account, key.id(), credits)?;
            }
            Ok(())
        })?;
        Ok(NewKey { id: key.id().to_owned(), key, credits })
    }

    /// All keys, oldest first.
    ///
    /// # Errors
    /// When the database fails.
    pub fn list_keys(&self) -> Result<Vec<KeyListing>, StateError> {
        let list = || {
            let mut statement = self.connection.prepare(
                "SELECT api_key.id, api_key.name, environment, balance, api_key.created_at, revoked_at
                 FROM api_key JOIN account ON account.id = account_id ORDER BY api_key.created_at, api_key.id",
            )?;
            statement.query_map([], read_listing)?.collect::<rusqlite::Result<_>>()
        };
        list().map_err(|source| self.failed(source))
    }

    /// Revokes a key: the next request with it is refused. A key that is revoked already stays as it is.
    ///
    /// # Errors
    /// When there is no such key.
    pub fn revoke_key(&mut self, id: &str) -> Result<(), StateError> {
        let known = self.commit(|connection| {
            connection.execute(
                "UPDATE api_key SET revoked_at = coalesce(revoked_at, ?2) WHERE id = ?1",
                params![id, now_ms() / 1000],
            )
        })?;
        if known == 1 { Ok(()) } else { Err(StateError::UnknownKey(id.to_owned())) }
    }

    /// Adds credits to the account of a key; gives the balance after it.
    ///
    /// # Errors
    /// When there is no such key, or `amount` is not above 0 or more than a balance can hold.
    pub fn add_credits(&mut self, id: &str, amount: i64) -> Result<i64, StateError> {
        if amount <= 0 {
            return Err(StateError::BadAmount { amount });
        }
        let booked = self.commit(|connection| {
            let account: Option<i64> = connection
                .query_row("SELECT account_id FROM api_key WHERE id = ?1", [id], |row| row.get(0))
                .optional()?;
            account.map(|account| grant(connection, account, id, amount)).transpose()
        })?;
        match booked {
            Some(Booked::Done(balance)) => Ok(balance),
            Some(Booked::Refused) => Err(StateError::BadAmount { amount }),
            None => Err(StateError::UnknownKey(id.to_owned())),
        }
    }

    fn commit<T>(&mut self, work: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Result<T, StateError> {
        let path = self.folder.database();
        let run = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        run().map_err(|source| StateError::Database { path, source })
    }

    fn failed(&self, source: rusqlite::Error) -> StateError {
        StateError::Database { path: self.folder.database(), source }
    }
}

fn grant(connection: &Connection, account: i64, key_id: &str, amount: i64) -> rusqlite::Result<Booked> {
    let request_id = Uuid::now_v7().to_string();
    let entry = Entry {
        request_id: &request_id,
        account,
        kind: Kind::Grant,
        amount,
        key_id: Some(key_id),
        endpoint: None,
        ts_ms: now_ms(),
    };
    book(connection, &entry)
}

fn read_listing(row: &Row<'_>) -> rusqlite::Result<KeyListing> {
    Ok(KeyListing {
        id: row.get(0)?,
        name: row.get(1)?,
        environment: row.get(2)?,
        credits: row.get(3)?,
        created_at: row.get(4)?,
        revoked_at: row.get(5)?,
    })
}
