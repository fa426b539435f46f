-- Keys, credits, the credit ledger and the audit.
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
