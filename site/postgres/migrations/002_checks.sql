-- One row a visit, partitioned by UTC day and dropped by whole days; hours and days are rolled up in the same
-- transaction, so that ninety days of uptime never scan checks. A partition is made by whoever first writes its day.

CREATE TABLE checks (
    service_id       bigint NOT NULL,
    checked_at       timestamptz NOT NULL,
    id               uuid NOT NULL,
    counted          boolean NOT NULL,  -- conclusive
    status           text,              -- of this visit, or of the last conclusive one before it
    is_up            boolean NOT NULL,
    status_code      integer,
    response_time_ms integer,           -- median to the response headers
    endpoints_found  integer NOT NULL,  -- paid in this visit
    error_message    text,
    consecutive_failures integer NOT NULL -- after this visit
) PARTITION BY RANGE (checked_at);

-- BRIN finds an hour, the btree finds a service's newest rows without a look at other days.
CREATE INDEX checks_time ON checks USING brin (checked_at) WITH (pages_per_range = 16);
CREATE INDEX checks_of_service ON checks (service_id, checked_at);

CREATE TABLE check_hours (
    service_id  bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    hour        timestamptz NOT NULL,
    checks      integer NOT NULL,       -- all visits
    counted     integer NOT NULL,
    up          integer NOT NULL,       -- among the counted
    timed       integer NOT NULL,       -- counted ones with a response time
    response_ms bigint NOT NULL,        -- sum over the timed
    histogram   integer[] NOT NULL,     -- site.HistogramBuckets log-spaced buckets of the timed
    PRIMARY KEY (service_id, hour)
);

CREATE TABLE check_days (
    service_id  bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    day         date NOT NULL,
    checks      integer NOT NULL,
    counted     integer NOT NULL,
    up          integer NOT NULL,
    timed       integer NOT NULL,
    response_ms bigint NOT NULL,
    histogram   integer[] NOT NULL,
    PRIMARY KEY (service_id, day)
);

CREATE FUNCTION histogram_add(a integer[], b integer[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT array_agg(coalesce(x, 0) + coalesce(y, 0) ORDER BY n) FROM unnest(a, b) WITH ORDINALITY AS t(x, y, n));
-- Logs number their rows from the oldest ever. Hours are sealed one after another, once they are over: from then on no
-- check of theirs is taken, and each block of 100 rows that they filled has its place.

CREATE TABLE log_seal (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    through    timestamptz NOT NULL,    -- every hour before is sealed
    kept_since timestamptz NOT NULL     -- start of the oldest UTC day whose checks are kept
);

CREATE TABLE log_positions (
    service_id bigint PRIMARY KEY,      -- 0 for the log of all services
    rows       bigint NOT NULL          -- in sealed hours, ever: the number of the first row after them
);

CREATE TABLE log_blocks (
    service_id bigint NOT NULL,         -- 0 for the log of all services
    block      bigint NOT NULL,
    hour       timestamptz NOT NULL,    -- of its last row
    rows_after integer NOT NULL,        -- rows of that hour after its last row
    PRIMARY KEY (service_id, block)
);

CREATE INDEX log_blocks_hour ON log_blocks (hour);
---- create above / drop below ----
DROP TABLE log_blocks, log_positions, log_seal;
DROP FUNCTION histogram_add;
DROP TABLE check_days, check_hours, checks;
