-- The state of the gateway: keys, plans, credits, the credit ledger, the audit, webhooks.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BLOB NOT NULL
) STRICT, WITHOUT ROWID;

-- Grows with every commit. The watermark file beside the database holds the number of the last acknowledged commit, so
-- that a loss of commits is detected.
CREATE TABLE commit_count (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO commit_count VALUES (1, 0);

CREATE TABLE account (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    balance INTEGER NOT NULL CHECK (balance >= 0),
    entries INTEGER NOT NULL DEFAULT 0,
    head BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    plan TEXT NOT NULL DEFAULT 'default'
) STRICT;

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account_id INTEGER NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    rotated_to TEXT
) STRICT, WITHOUT ROWID;

-- What keys of an account may do: limits as JSON.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE admin_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;

-- MACs, under the pepper, of the rows of the four tables above, so that a changed row is rejected.
CREATE TABLE row_mac (
    of_table TEXT NOT NULL,
    row_id TEXT NOT NULL,
    mac BLOB NOT NULL CHECK (length(mac) = 32),
    PRIMARY KEY (of_table, row_id)
) STRICT, WITHOUT ROWID;

-- Every change of a balance, never edited. `hash` covers the entry and the hash before it, per account. SQLite looks up
-- a list of more than two values in a temporary table for every row that is written; comparisons avoid that.
CREATE TABLE credit_ledger (
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

CREATE TRIGGER credit_ledger_no_update BEFORE UPDATE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;
CREATE TRIGGER credit_ledger_no_delete BEFORE DELETE ON credit_ledger
BEGIN SELECT RAISE(ABORT, 'the credit ledger is append only'); END;

-- The audit in pages: requests that were committed together, as a JSON array of an array for each. A key, a method, an
-- endpoint or parameters that an earlier request of the page has too are replaced by the number of that request. Where
-- the server keeps parameters, the first request of a page with some parameters ends with them. `checksum` is the
-- checksum of the other columns, here and below.
CREATE TABLE audit_page (
    last_id TEXT PRIMARY KEY,
    first_id TEXT NOT NULL,
    last_ms INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum INTEGER NOT NULL
) STRICT;

-- Every request that reached the gateway, whatever its outcome. Status 499: the client closed the connection.
CREATE VIEW audit AS
SELECT line.value ->> 0 AS request_id, line.value ->> 1 AS correlation_id,
       CASE json_type(line.value, '$[2]') WHEN 'integer' THEN page.body -> (line.value ->> 2) ->> 2
                                          ELSE line.value ->> 2 END AS key_id,
       CASE json_type(line.value, '$[3]') WHEN 'integer' THEN page.body -> (line.value ->> 3) ->> 3
                                          ELSE line.value ->> 3 END AS method,
       CASE json_type(line.value, '$[4]') WHEN 'integer' THEN page.body -> (line.value ->> 4) ->> 4
                                          ELSE line.value ->> 4 END AS endpoint,
       line.value ->> 5 AS status, line.value ->> 6 AS cost, line.value ->> 7 AS duration_ms, line.value ->> 8 AS bytes,
       unhex(CASE json_type(line.value, '$[9]') WHEN 'integer' THEN page.body -> (line.value ->> 9) ->> 9
                                                ELSE line.value ->> 9 END) AS parameter_hash,
       line.value ->> 10 AS ts_ms,
       CASE json_type(line.value, '$[9]') WHEN 'integer' THEN page.body -> (line.value ->> 9) ->> 11
                                          ELSE line.value ->> 11 END AS parameters
FROM audit_page AS page, json_each(page.body) AS line;

-- Calls and credits of an account by UTC day, endpoint and key; what /v1/usage sums, whatever the audit still keeps.
CREATE TABLE usage_day (
    account_id INTEGER NOT NULL REFERENCES account (id),
    day INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    key_id TEXT NOT NULL,
    calls INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    credits INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (account_id, day, endpoint, key_id)
) STRICT, WITHOUT ROWID;
-- A month of every key, whatever came in other months.
CREATE INDEX usage_day_by_day ON usage_day (day);

-- Answers that are replayed to requests with the same idempotency key. `body` is null for a table, which is made again
-- from `generation`, and encrypted where it contains a secret.
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
    checksum INTEGER NOT NULL,
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
    unsent TEXT NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Charges of killed runs whose answers may never have arrived.
CREATE TABLE lost_answer (
    request_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    found_at_ms INTEGER NOT NULL,
    refunded_at_ms INTEGER,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- Every change that the back office made, with the values before and after. Never a secret.
CREATE TABLE admin_audit (
    id TEXT PRIMARY KEY,
    ts_ms INTEGER NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT,
    checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TRIGGER admin_audit_no_update BEFORE UPDATE ON admin_audit
BEGIN SELECT RAISE(ABORT, 'the audit of the back office is append only'); END;
CREATE TRIGGER admin_audit_no_delete BEFORE DELETE ON admin_audit
BEGIN SELECT RAISE(ABORT, 'the audit of the back office is append only'); END;

-- `throttled_until_ms` is set where the receiver asked for a pause; the checksum does not cover it.
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
    failing_since_ms INTEGER,
    throttled_until_ms INTEGER,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_id, created_at_ms);

-- Needed in clear to sign, so encrypted under the master key. Old ones sign beside the new one until they expire.
CREATE TABLE webhook_secret (
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    created_at_ms INTEGER NOT NULL,
    expires_at_ms INTEGER,
    PRIMARY KEY (endpoint_id, number)
) STRICT, WITHOUT ROWID;

-- Events with webhook deliveries. `body` lacks the id of the webhook.
CREATE TABLE outbox_event (
    seq INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    created_at_ms INTEGER NOT NULL,
    body TEXT NOT NULL,
    checksum INTEGER NOT NULL
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
    checksum INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, endpoint_id)
) STRICT, WITHOUT ROWID;
-- Due deliveries of one endpoint, however many other rows there are.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint_id, status, next_at_ms);
CREATE INDEX webhook_delivery_by_endpoint ON webhook_delivery (endpoint_id, created_at_ms);
-- Deliveries in progress: they are counted whenever one begins.
CREATE INDEX webhook_delivery_leased ON webhook_delivery (endpoint_id, lease_until_ms) WHERE lease_until_ms IS NOT NULL;

CREATE TABLE webhook_attempt (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    status INTEGER,
    duration_ms INTEGER NOT NULL,
    error TEXT,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (event_id, endpoint_id, number),
    FOREIGN KEY (event_id, endpoint_id) REFERENCES webhook_delivery (event_id, endpoint_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- Positions of events in the feed, so that a stream can resume after one.
CREATE TABLE stream_event (
    id TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    at_ms INTEGER NOT NULL,
    checksum INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_event_by_position ON stream_event (position);
CREATE INDEX stream_event_by_age ON stream_event (at_ms);

-- Unused tickets of the stream. `digest` is the SHA-256 of the text.
CREATE TABLE stream_ticket (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    key_id TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_ticket_by_key ON stream_ticket (key_id, expires_at_ms);

-- How far the feed of the ledger was followed, and behind which positions events were lost.
CREATE TABLE outbox_position (
    name TEXT PRIMARY KEY,
    position INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    checksum INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
