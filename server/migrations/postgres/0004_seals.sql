-- Digests of the rows that say who may do what, so that damage to one is seen and not acted on.
CREATE TABLE seal (
    of_table TEXT NOT NULL,
    row_id TEXT NOT NULL,
    digest BYTEA NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (of_table, row_id)
);

-- Checksums of rows, for damage on the disk; -1 in those of a schema before this one.
ALTER TABLE admin_audit ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
ALTER TABLE idempotency ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
ALTER TABLE outbox_event ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
ALTER TABLE webhook_attempt ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
ALTER TABLE stream_event ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
ALTER TABLE webhook_endpoint ADD COLUMN sum BIGINT NOT NULL DEFAULT -1;
