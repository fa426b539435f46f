-- Where the server is told to keep them, the first request of a page with some parameters ends with them.
DROP VIEW audit;
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
