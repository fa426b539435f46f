-- Requests that were refused or came without a key, by endpoint and status: of each minute, and after some days of each
-- day of UTC. `minute` counts from 1970 and is the first one of the `span`, which is 1 or 1440 minutes. `endpoint` is
-- empty where there is no such route. The requests themselves are lines of the audit log, beside the database.
CREATE TABLE request_sum (
    span INTEGER NOT NULL CHECK (span = 1 OR span = 1440),
    minute INTEGER NOT NULL,
    endpoint TEXT NOT NULL,
    status INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    checksum INTEGER NOT NULL,
    PRIMARY KEY (span, minute, endpoint, status)
) STRICT, WITHOUT ROWID;
