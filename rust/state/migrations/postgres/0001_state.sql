-- The state of the gateway: keys, plans, credits, the credit ledger, the audit, webhooks.

CREATE TABLE setting (
    name TEXT PRIMARY KEY,
    value BYTEA NOT NULL
);

-- Grows with every change of keys, plans and credits, so that replicas reload them.
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

-- What keys of an account may do: limits as JSON.
CREATE TABLE plan (
    name TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL
);

CREATE TABLE admin_key (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- MACs, under the pepper, of the rows of the four tables above, so that a changed row is rejected.
CREATE TABLE row_mac (
    of_table TEXT NOT NULL,
    row_id TEXT NOT NULL,
    mac BYTEA NOT NULL CHECK (length(mac) = 32),
    PRIMARY KEY (of_table, row_id)
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

CREATE FUNCTION headwater_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '% is append only', TG_TABLE_NAME; END $$;
CREATE TRIGGER credit_ledger_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_ledger
    FOR EACH STATEMENT EXECUTE FUNCTION headwater_append_only();

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

-- The audit in pages: requests that were committed together, as a JSON array of an array for each. A key, a method, an
-- endpoint or parameters that an earlier request of the page has too are replaced by the number of that request. Where
-- the server keeps parameters, the first request of a page with some parameters ends with them. `checksum` is the
-- checksum of the other columns, here and below.
CREATE TABLE audit_page (
    last_id TEXT PRIMARY KEY,
    first_id TEXT NOT NULL,
    last_ms BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL
);

-- Every request that reached the gateway, whatever its outcome. Status 499: the client closed the connection.
CREATE VIEW audit AS
SELECT line ->> 0 AS request_id, line ->> 1 AS correlation_id,
       CASE jsonb_typeof(line -> 2) WHEN 'number' THEN page.body -> (line ->> 2)::INT ->> 2 ELSE line ->> 2 END AS key_id,
       CASE jsonb_typeof(line -> 3) WHEN 'number' THEN page.body -> (line ->> 3)::INT ->> 3 ELSE line ->> 3 END AS method,
       CASE jsonb_typeof(line -> 4) WHEN 'number' THEN page.body -> (line ->> 4)::INT ->> 4 ELSE line ->> 4 END AS endpoint,
       (line ->> 5)::BIGINT AS status, (line ->> 6)::BIGINT AS cost, (line ->> 7)::BIGINT AS duration_ms,
       (line ->> 8)::BIGINT AS bytes,
       decode(CASE jsonb_typeof(line -> 9) WHEN 'number' THEN page.body -> (line ->> 9)::INT ->> 9
                                           ELSE line ->> 9 END, 'hex') AS parameter_hash,
       (line ->> 10)::BIGINT AS ts_ms,
       CASE jsonb_typeof(line -> 9) WHEN 'number' THEN page.body -> (line ->> 9)::INT ->> 11
                                    ELSE line ->> 11 END AS parameters
-- Read once for all requests of a page.
FROM (SELECT body::JSONB AS body FROM audit_page OFFSET 0) AS page, jsonb_array_elements(page.body) AS line;

-- Calls and credits of an account by UTC day, endpoint and key; what /v1/usage sums, whatever the audit still keeps.
CREATE TABLE usage_day (
    account_id BIGINT NOT NULL REFERENCES account (id),
    day BIGINT NOT NULL,
    endpoint TEXT NOT NULL,
    key_id TEXT NOT NULL,
    calls BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    credits BIGINT NOT NULL,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (account_id, day, endpoint, key_id)
);
-- A month of every key, whatever came in other months.
CREATE INDEX usage_day_by_day ON usage_day (day);

-- Answers that are replayed to requests with the same idempotency key. `body` is null for a table, which is made again
-- from `generation`, and encrypted where it contains a secret.
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
    checksum BIGINT NOT NULL,
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
    unsent TEXT NOT NULL,
    checksum BIGINT NOT NULL DEFAULT 0
);

-- Charges of killed runs whose answers may never have arrived.
CREATE TABLE lost_answer (
    request_id TEXT PRIMARY KEY,
    run_id TEXT NOT NULL,
    found_at_ms BIGINT NOT NULL,
    refunded_at_ms BIGINT,
    checksum BIGINT NOT NULL DEFAULT 0
);

-- Every change that the back office made, with the values before and after. Never a secret.
CREATE TABLE admin_audit (
    id TEXT PRIMARY KEY,
    ts_ms BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    before_json TEXT,
    after_json TEXT,
    checksum BIGINT NOT NULL
);

CREATE TRIGGER admin_audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON admin_audit
    FOR EACH STATEMENT EXECUTE FUNCTION headwater_append_only();

-- `throttled_until_ms` is set where the receiver asked for a pause; the checksum does not cover it.
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
    failing_since_ms BIGINT,
    throttled_until_ms BIGINT,
    checksum BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX webhook_endpoint_by_account ON webhook_endpoint (account_id, created_at_ms);

-- Needed in clear to sign, so encrypted under the master key. Old ones sign beside the new one until they expire.
CREATE TABLE webhook_secret (
    endpoint_id TEXT NOT NULL REFERENCES webhook_endpoint (id) ON DELETE CASCADE,
    number BIGINT NOT NULL,
    sealed BYTEA NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT,
    PRIMARY KEY (endpoint_id, number)
);

-- Events with webhook deliveries. `body` lacks the id of the webhook.
CREATE TABLE outbox_event (
    seq BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    type TEXT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    body TEXT NOT NULL,
    checksum BIGINT NOT NULL
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
    checksum BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (event_id, endpoint_id)
);
-- Due deliveries of one endpoint, however many other rows there are.
CREATE INDEX webhook_delivery_waiting ON webhook_delivery (endpoint_id, status, next_at_ms);
CREATE INDEX webhook_delivery_by_endpoint ON webhook_delivery (endpoint_id, created_at_ms);
-- Deliveries in progress: they are counted whenever one begins.
CREATE INDEX webhook_delivery_leased ON webhook_delivery (endpoint_id, lease_until_ms) WHERE lease_until_ms IS NOT NULL;

CREATE TABLE webhook_attempt (
    event_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    number BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    status BIGINT,
    duration_ms BIGINT NOT NULL,
    error TEXT,
    checksum BIGINT NOT NULL,
    PRIMARY KEY (event_id, endpoint_id, number),
    FOREIGN KEY (event_id, endpoint_id) REFERENCES webhook_delivery (event_id, endpoint_id) ON DELETE CASCADE
);

-- Positions of events in the feed, so that a stream can resume after one.
CREATE TABLE stream_event (
    id TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    at_ms BIGINT NOT NULL,
    checksum BIGINT NOT NULL
);
CREATE INDEX stream_event_by_position ON stream_event (position);
CREATE INDEX stream_event_by_age ON stream_event (at_ms);

-- Unused tickets of the stream. `digest` is the SHA-256 of the text.
CREATE TABLE stream_ticket (
    digest BYTEA PRIMARY KEY CHECK (length(digest) = 32),
    key_id TEXT NOT NULL,
    expires_at_ms BIGINT NOT NULL
);
CREATE INDEX stream_ticket_by_key ON stream_ticket (key_id, expires_at_ms);

-- How far the feed of the ledger was followed, and behind which positions events were lost.
CREATE TABLE outbox_position (
    name TEXT PRIMARY KEY,
    position BIGINT NOT NULL,
    generation BIGINT NOT NULL,
    checksum BIGINT NOT NULL DEFAULT 0
);
