-- Digests of the rows that say who may do what, so that damage to one is seen and not acted on.
CREATE TABLE seal (
    of_table TEXT NOT NULL,
    row_id TEXT NOT NULL,
    digest BLOB NOT NULL CHECK (length(digest) = 32),
    PRIMARY KEY (of_table, row_id)
) STRICT, WITHOUT ROWID;

-- Grows with every commit; what was told as done is noted beside the database, so that a loss of commits is seen.
CREATE TABLE commit_count (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    number INTEGER NOT NULL
) STRICT;
INSERT INTO commit_count VALUES (1, 0);

-- Checksums of rows, for damage on the disk; -1 in those of a schema before this one.
ALTER TABLE admin_audit ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
ALTER TABLE idempotency ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
ALTER TABLE outbox_event ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
ALTER TABLE webhook_attempt ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
ALTER TABLE stream_event ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
ALTER TABLE webhook_endpoint ADD COLUMN sum INTEGER NOT NULL DEFAULT -1;
