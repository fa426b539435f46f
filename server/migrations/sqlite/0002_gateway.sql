-- Plans, usage, idempotency, refunds, the back office, webhooks.

-- The ledger takes refunds too: a constraint can only be changed by copying the table.
DROP TRIGGER credit_ledger_no_update;
DROP TRIGGER credit_ledger_no_delete;
CREATE TABLE credit_ledger_copy (
    request_id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    entry INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'grant', 'refund')),
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

ALTER TABLE account ADD COLUMN plan TEXT NOT NULL DEFAULT 'default';
ALTER TABLE api_key ADD COLUMN rotated_to TEXT;
CREATE INDEX audit_by_key ON audit (key_id, ts_ms);

-- What keys of an account may do: limits as JSON.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Calls and credits of an account by UTC day and endpoint; what /v1/usage sums, whatever the audit still keeps.
CREATE TABLE usage_day (
    account_id INTEGER NOT NULL REFERENCES account (id),
    day INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, endpoint)
) STRICT, WITHOUT ROWID;

-- Answers that are given again to who repeats a request with its key. `body` is null for a table, which is made again
-- from `generation`, and sealed where it holds a secret.
CREATE TABLE idempotency (
    account_id INTEGER NOT NULL REFERENCES account (id),
    key TEXT NOT NULL,
    request_hash BLOB NOT NULL,
    request_id TEXT NOT NULL,
    status INTEGER NOT NULL,
    body BLOB,
    sealed INTEGER NOT NULL,
    generation INTEGER,
    created_at_ms INTEGER NOT NULL,
    PRIMARY KEY (account_id, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created_at_ms);

-- A run of a server: which charged answers were not yet sent at its last commit. One that neither stopped nor beats
-- any more was killed.
CREATE TABLE server_run (
    id TEXT PRIMARY KEY,
    started_at_ms INTEGER NOT NULL,
    beat_at_ms INTEGER NOT NULL,
    stopped_at_ms INTEGER,
    unsent TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Charges of killed runs whose answers may never have arrived.
CREATE TABLE lost_answer (
    request_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    found_at_ms INTEGER NOT NULL,
    refunded_at_ms INTEGER
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- Every change that the back office made, with what was there before and after. Never a secret.
CREATE TABLE admin_audit (
    id TEXT PRIMARY KEY,
    ts_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT
) STRICT, WITHOUT ROWID;

CREATE TABLE webhook_endpoint (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    key_id TEXT NOT NULL,
    target_url TEXT NOT NULL,
    event_type TEXT NOT NULL,
    filters TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
    status_reason TEXT,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    failing_since_ms INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_id, created_at_ms);

-- Needed in clear to sign, so sealed under the master key. Old ones sign beside the new one until they expire.
CREATE TABLE webhook_secret (
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    PRIMARY KEY (endpoint_id, number)
) STRICT, WITHOUT ROWID;

-- Events that some webhook waits for. `body` lacks the id of the webhook.
CREATE TABLE outbox_event (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL
) STRICT;
CREATE INDEX outbox_event_by_age ON outbox_event (created_at_ms);

CREATE TABLE webhook_delivery (
    event_id TEXT NOT NULL REFERENCES outbox_event (id) ON DELETE CASCADE,
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts INTEGER NOT NULL,
    next_at_ms INTEGER NOT NULL,
    lease_owner TEXT,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    finished_at_ms INTEGER,
    PRIMARY KEY (event_id, endpoint_id)
) STRICT, WITHOUT ROWID;
-- What is due of one endpoint, whatever else waits.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint_id, status, next_at_ms);
CREATE INDEX webhook_delivery_by_endpoint ON webhook_delivery (endpoint_id, created_at_ms);

CREATE TABLE webhook_attempt (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    status INTEGER,
    duration_ms INTEGER NOT NULL,
    error TEXT,
    PRIMARY KEY (event_id, endpoint_id, number),
    FOREIGN KEY (event_id, endpoint_id) REFERENCES webhook_delivery (event_id, endpoint_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Where events stood in the feed, so that a stream can go on behind one.
CREATE TABLE stream_event (
    id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_event_by_position ON stream_event (position);
CREATE INDEX stream_event_by_age ON stream_event (at_ms);

-- How far the feed of the ledger was followed, and behind which positions events were lost.

CREATE TABLE outbox_position (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    generation INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER admin_audit_no_update BEFORE UPDATE ON admin_audit
BEGIN SELECT RAISE(ABORT, 'the audit of the back office is append only'); END;
CREATE TRIGGER admin_audit_no_delete BEFORE DELETE ON admin_audit
BEGIN SELECT RAISE(ABORT, 'the audit of the back office is append only'); END;
