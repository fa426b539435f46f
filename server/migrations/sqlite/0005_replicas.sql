-- What replicas must know together: who has a ticket of the stream, and which receivers are left alone for a while.

-- Tickets that were not used. `digest` is the SHA-256 of the text.
CREATE TABLE stream_ticket (
    digest BLOB PRIMARY KEY CHECK (length(digest) = 32),
    key_id TEXT NOT NULL,
    expires_at_ms INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX stream_ticket_by_key ON stream_ticket (key_id, expires_at_ms);

-- Set where the receiver said that it has too much.
ALTER TABLE webhook_endpoint ADD COLUMN throttled_until_ms INTEGER;
