-- The audit in pages: requests that were committed together, as a JSON array of an array for each.
CREATE TABLE audit_page (
    last_id TEXT PRIMARY KEY,
    first_id TEXT NOT NULL,
    last_ms INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    body TEXT NOT NULL,
    -- A checksum of the page; -1 in those made of the rows of an earlier schema.
    sum INTEGER NOT NULL DEFAULT -1
) STRICT;

INSERT INTO audit_page (last_id, first_id, last_ms, requests, body)
SELECT max(request_id), min(request_id), max(ts_ms), count(*),
       json_group_array(json_array(request_id, correlation_id, key_id, method, endpoint, status, cost, duration_ms,
                                   bytes, nullif(lower(hex(parameter_hash)), ''), ts_ms))
FROM (SELECT * FROM audit ORDER BY request_id) GROUP BY ts_ms / 10000;

DROP TABLE audit;

CREATE VIEW audit AS
SELECT line.value ->> 0 AS request_id, line.value ->> 1 AS correlation_id, line.value ->> 2 AS key_id,
       line.value ->> 3 AS method, line.value ->> 4 AS endpoint, line.value ->> 5 AS status, line.value ->> 6 AS cost,
       line.value ->> 7 AS duration_ms, line.value ->> 8 AS bytes, unhex(line.value ->> 9) AS parameter_hash,
       line.value ->> 10 AS ts_ms
FROM audit_page, json_each(audit_page.body) AS line;
