-- The audit in pages: requests that were committed together, as a JSON array of an array for each.
CREATE TABLE audit_page (
    last_id TEXT PRIMARY KEY,
    first_id TEXT NOT NULL,
    last_ms BIGINT NOT NULL,
    requests BIGINT NOT NULL,
    body TEXT NOT NULL,
    -- A checksum of the page; -1 in those made of the rows of an earlier schema.
    sum BIGINT NOT NULL DEFAULT -1
);

INSERT INTO audit_page (last_id, first_id, last_ms, requests, body)
SELECT max(request_id), min(request_id), max(ts_ms), count(*),
       json_agg(json_build_array(request_id, correlation_id, key_id, method, endpoint, status, cost, duration_ms, bytes,
                                 encode(parameter_hash, 'hex'), ts_ms) ORDER BY request_id)::text
FROM audit GROUP BY ts_ms / 10000;

DROP TABLE audit;

CREATE VIEW audit AS
SELECT line ->> 0 AS request_id, line ->> 1 AS correlation_id, line ->> 2 AS key_id, line ->> 3 AS method,
       line ->> 4 AS endpoint, (line ->> 5)::BIGINT AS status, (line ->> 6)::BIGINT AS cost,
       (line ->> 7)::BIGINT AS duration_ms, (line ->> 8)::BIGINT AS bytes, decode(line ->> 9, 'hex') AS parameter_hash,
       (line ->> 10)::BIGINT AS ts_ms
FROM audit_page, jsonb_array_elements(audit_page.body::JSONB) AS line;
