-- A list of more than two values in a check is looked up in a table that SQLite makes for it, for every row that is
-- written: it took longer than all the rest of an entry. Comparisons do without. A constraint can only be changed by
-- copying the table.
DROP TRIGGER credit_ledger_no_update;
DROP TRIGGER credit_ledger_no_delete;
CREATE TABLE credit_ledger_copy (
    request_id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    entry INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'charge' OR kind = 'grant' OR kind = 'refund'),
    amount INTEGER NOT NULL,
    balance_after INTEGER NOT NULL CHECK (balance_after >= 0),
    key_id TEXT,
    endpoint TEXT,
    ts_ms INTEGER NOT NULL,
    hash BLOB NOT NULL CHECK (length(hash) = 32),
    UNIQUE (account_id, entry)
) STRICT, WITHOUT ROWID;

INSERT INTO credit_ledger_copy SELECT * FROM credit_ledger;
DROP TABLE credit_ledger;
ALTER TABLE credit_ledger_copy RENAME TO credit_ledger;
CREATE TRIGGER credit_ledger_no_update BEFORE UPDATE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;
CREATE TRIGGER credit_ledger_no_delete BEFORE DELETE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;

-- Deliveries under way, however many wait: they are counted for every one that is begun.
CREATE INDEX webhook_delivery_leased ON webhook_delivery (endpoint_id, lease_until_ms) WHERE lease_until_ms IS NOT NULL;
