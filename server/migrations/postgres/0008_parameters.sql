-- Where the server is told to keep them, the first request of a page with some parameters ends with them.
-- In its place, so that what others have built on the view stays.
CREATE OR REPLACE VIEW audit AS
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
