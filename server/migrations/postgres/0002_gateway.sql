-- The whole state as of schema 2: PostgreSQL begins here.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Grows with every change of keys, plans and credits, so that replicas know when to read them anew.
CREATE TABLE roster_version (
    only_row BIGINT PRIMARY KEY CHECK (only_row = 1),
    version BIGINT NOT NULL
);
INSERT INTO roster_version VALUES (1, 1);

-- `leased` of the balance is lent to replicas.
CREATE TABLE account (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name TEXT NOT NULL,
    balance BIGINT NOT NULL CHECK (balance >= 0),
    leased BIGINT NOT NULL DEFAULT 0 CHECK (leased >= 0 AND leased <= balance),
    entries BIGINT NOT NULL DEFAULT 0,
    head BYTEA NOT NULL,
    created_at BIGINT NOT NULL,
    plan TEXT NOT NULL DEFAULT 'default'
);

CREATE TABLE api_key (
    id TEXT PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id),
    name TEXT NOT NULL,
    environment TEXT NOT NULL CHECK (environment IN ('live', 'test')),
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    rotated_to TEXT
);

-- Every change of a balance, never edited. `hash` covers the entry and the hash before it, per account.
CREATE TABLE credit_ledger (
    request_id TEXT PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id),
    entry BIGINT NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('charge', 'grant', 'refund')),
    amount BIGINT NOT NULL,
    balance_after BIGINT NOT NULL CHECK (balance_after >= 0),
    key_id TEXT,
    endpoint TEXT,
    ts_ms BIGINT NOT NULL,
    hash BYTEA NOT NULL CHECK (length(hash) = 32),
    UNIQUE (account_id, entry)
);

-- Credits that a replica may spend without asking. An expired lease gives back what it did not settle.
CREATE TABLE credit_lease (
    id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id),
    run_id TEXT NOT NULL,
    granted BIGINT NOT NULL,
    settled BIGINT NOT NULL DEFAULT 0 CHECK (settled <= granted),
    expires_at_ms BIGINT NOT NULL,
    closed BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX credit_lease_open ON credit_lease (account_id, expires_at_ms) WHERE closed = 0;

-- Every request that reached the gateway, whatever became of it. Status 499: the client went away.
CREATE TABLE audit (
    request_id TEXT PRIMARY KEY,
    correlation_id TEXT,
    key_id TEXT,
    method TEXT NOT NULL,
    endpoint TEXT,
    status BIGINT NOT NULL,
    cost BIGINT NOT NULL,
    duration_ms BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    parameter_hash BYTEA,
    ts_ms BIGINT NOT NULL
);
CREATE INDEX audit_by_key ON audit (key_id, ts_ms);

-- What keys of an account may do: limits as JSON.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

-- Calls and credits of an account by UTC day and endpoint; what /v1/usage sums, whatever the audit still keeps.
CREATE TABLE usage_day (
    account_id BIGINT NOT NULL REFERENCES account (id),
    day BIGINT NOT NULL,
    endpoint TEXT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    credits BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, endpoint)
);

-- Answers that are given again to who repeats a request with its key. `body` is null for a table, which is made again
-- from `generation`, and sealed where it holds a secret.
CREATE TABLE idempotency (
    account_id BIGINT NOT NULL REFERENCES account (id),
    key TEXT NOT NULL,
    request_hash BYTEA NOT NULL,
    request_id TEXT NOT NULL,
    status BIGINT NOT NULL,
    body BYTEA,
    sealed BIGINT NOT NULL,
    generation BIGINT,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (account_id, key)
);
CREATE INDEX idempotency_by_age ON idempotency (created_at_ms);

-- A run of a server: which charged answers were not yet sent at its last commit. One that neither stopped nor beats
-- any more was killed.
CREATE TABLE server_run (
    id TEXT PRIMARY KEY,
    started_at_ms BIGINT NOT NULL,
    beat_at_ms BIGINT NOT NULL,
    stopped_at_ms BIGINT,
    unsent TEXT NOT NULL
);

-- Charges of killed runs whose answers may never have arrived.
CREATE TABLE lost_answer (
    request_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    found_at_ms BIGINT NOT NULL,
    refunded_at_ms BIGINT
);

CREATE TABLE admin_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- Every change that the back office made, with what was there before and after. Never a secret.
CREATE TABLE admin_audit (
    id TEXT PRIMARY KEY,
    ts_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT
);

CREATE TABLE webhook_endpoint (
    id TEXT PRIMARY KEY,
    account_id BIGINT NOT NULL REFERENCES account (id),
    key_id TEXT NOT NULL,
    target_url TEXT NOT NULL,
    event_type TEXT NOT NULL,
    filters TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('active', 'paused', 'disabled')),
    status_reason TEXT,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    failing_since_ms BIGINT
);
CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_id, created_at_ms);

-- Needed in clear to sign, so sealed under the master key. Old ones sign beside the new one until they expire.
CREATE TABLE webhook_secret (
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    PRIMARY KEY (endpoint_id, number)
);

-- Events that some webhook waits for. `body` lacks the id of the webhook.
CREATE TABLE outbox_event (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX outbox_event_by_age ON outbox_event (created_at_ms);

CREATE TABLE webhook_delivery (
    event_id TEXT NOT NULL REFERENCES outbox_event (id) ON DELETE CASCADE,
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    status TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'failed')),
    attempts BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    lease_owner TEXT,
    lease_until_ms BIGINT,
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT,
    PRIMARY KEY (event_id, endpoint_id)
);
-- What is due of one endpoint, whatever else waits.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint_id, status, next_at_ms);
CREATE INDEX webhook_delivery_by_endpoint ON webhook_delivery (endpoint_id, created_at_ms);

CREATE TABLE webhook_attempt (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    status BIGINT,
    duration_ms BIGINT NOT NULL,
    error TEXT,
    PRIMARY KEY (event_id, endpoint_id, number),
    FOREIGN KEY (event_id, endpoint_id) REFERENCES webhook_delivery (event_id, endpoint_id) ON DELETE CASCADE
);

-- Where events stood in the feed, so that a stream can go on behind one.
CREATE TABLE stream_event (
    id TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    at_ms BIGINT NOT NULL
);
CREATE INDEX stream_event_by_position ON stream_event (position);
CREATE INDEX stream_event_by_age ON stream_event (at_ms);

-- How far the feed of the ledger was followed, and behind which positions events were lost.

CREATE TABLE outbox_position (
    name TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    generation BIGINT NOT NULL
);

CREATE FUNCTION headwater_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append only', TG_TABLE_NAME; END $$;
CREATE TRIGGER credit_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION headwater_append_only();
CREATE TRIGGER admin_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON admin_audit
    FOR EACH STATEMENT EXECUTE FUNCTION headwater_append_only();
