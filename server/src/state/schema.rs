//! Tables of the gateway's state, and how a connection to them is set up.

use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags};

use super::StateError;

/// Schema of this version, kept in `user_version`.
const VERSION: i64 = 1;

const TABLES: &str = "
CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    entries INTEGER NOT NULL DEFAULT 0,
    head BLOB NOT NULL,
    created_at INTEGER NOT NULL
) STRICT;

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Every change of a balance, never edited. `hash` covers the entry and the hash before it, per account.
CREATE TABLE credit_ledger (
    request_id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    entry INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'grant')),
    amount INTEGER NOT NULL,
    balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
    key_id TEXT,
    endpoint TEXT,
    ts_ms INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    UNIQUE (account_id, entry)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER credit_ledger_no_update BEFORE UPDATE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;
CREATE TRIGGER credit_ledger_no_delete BEFORE DELETE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;

-- Every request that reached the gateway, whatever became of it. Status 499: the client went away.
CREATE TABLE audit (
    request_id TEXT PRIMARY KEY,
    correlation_id TEXT,
    key_id TEXT,
    method TEXT NOT NULL,
    endpoint TEXT,
    status INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    duration_ms INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    parameter_hash BLOB,
    ts_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
";

/// Opens the database for writing and brings its schema up to this version.
pub(super) fn open_writer(path: &Path) -> Result<Connection, StateError> {
    let failed = |source| StateError::Database { path: path.to_owned(), source };
    let mut connection = Connection::open(path).map_err(failed)?;
    connection.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
    connection.pragma_update(None, "journal_mode", "WAL").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "FULL").map_err(failed)?;
    connection.pragma_update(None, "foreign_keys", true).map_err(failed)?;
    connection.pragma_update(None, "trusted_schema", false).map_err(failed)?;
    connection.set_prepared_statement_cache_capacity(32);

    let migration = connection.transaction_with_behavior(rusqlite::TransactionBehavior::Immediate).map_err(failed)?;
    let found: i64 = migration.pragma_query_value(None, "user_version", |row| row.get(0)).map_err(failed)?;
    match found {
        0 => {
            migration.execute_batch(TABLES).map_err(failed)?;
            migration.pragma_update(None, "user_version", VERSION).map_err(failed)?;
        }
        VERSION => {}
        _ => return Err(StateError::NewerSchema { path: path.to_owned(), found, known: VERSION }),
    }
    migration.commit().map_err(failed)?;
    Ok(connection)
}

/// Opens the database for reading only.
pub(super) fn open_reader(path: &Path) -> Result<Connection, StateError> {
    let failed = |source| StateError::Database { path: path.to_owned(), source };
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(failed)?;
    connection.busy_timeout(Duration::from_secs(5)).map_err(failed)?;
    Ok(connection)
}
