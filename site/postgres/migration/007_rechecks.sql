-- For operators:
-- - Where a server accepts submissions, anybody can have a service checked again, within limits.
-- - The command of [submissions] notify also runs for suggestions of readers.

-- Requests to visit a service before its time, of the last day.
CREATE TABLE rechecks (
    service_id   bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    requested_at timestamptz NOT NULL,
    client       bytea NOT NULL,        -- as in submissions
    PRIMARY KEY (service_id, requested_at)
);
CREATE INDEX rechecks_of_client ON rechecks (client, requested_at);
CREATE INDEX rechecks_old ON rechecks (requested_at);

ALTER TABLE service_states
    ADD lease_ends timestamptz;         -- next_check_at if a worker visits the service; otherwise another time, or null

ALTER TABLE suggestions
    ADD notified_at timestamptz;        -- null if the operator's command has not run since

---- create above / drop below ----

ALTER TABLE suggestions DROP notified_at;
ALTER TABLE service_states DROP lease_ends;
DROP TABLE rechecks;
