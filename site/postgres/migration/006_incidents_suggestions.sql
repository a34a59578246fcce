-- For operators:
-- - Failed checks in a row are stored as runs, of which /v1/incidents is made. The migration reads every stored check
--   once.
-- - Facilitators' accounts say when each settled last. The migration reads every stored settlement once.
-- - Readers can send suggestions where a server accepts submissions. "tollbook suggestions" shows them.

-- Failed checks in a row, up to the sealed hour. Uncounted checks are left out. A run is never deleted.
CREATE TABLE failure_runs (
    service_id  bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    first_at    timestamptz NOT NULL,   -- first failed check
    last_at     timestamptz NOT NULL CHECK (last_at >= first_at), -- last failed check
    checks      integer NOT NULL CHECK (checks > 0), -- that failed
    longest_gap bigint NOT NULL CHECK (longest_gap >= 0), -- most milliseconds between two checks, up to ended_at
    ended_at    timestamptz,            -- first success after it; null before
    by_day      boolean NOT NULL,       -- of whole UTC days before the oldest stored check; first_at begins a day
    PRIMARY KEY (service_id, first_at)
);
CREATE UNIQUE INDEX failure_runs_open ON failure_runs (service_id) WHERE ended_at IS NULL;
CREATE INDEX failure_runs_ended ON failure_runs (ended_at);

INSERT INTO failure_runs (service_id, first_at, last_at, checks, longest_gap, ended_at, by_day)
SELECT service_id, min(day)::timestamp AT TIME ZONE 'UTC',
    (max(day) FILTER (WHERE up = 0) + 1)::timestamp AT TIME ZONE 'UTC', sum(counted) FILTER (WHERE up = 0), 0,
    max(day) FILTER (WHERE up > 0)::timestamp AT TIME ZONE 'UTC', true
FROM (
    SELECT service_id, day, counted, up, lag(up) OVER w AS before,
        count(*) FILTER (WHERE up > 0) OVER w - (up > 0)::int AS successes
    FROM check_days WHERE counted > 0 AND service_id IN (SELECT id FROM services)
        AND day < (SELECT (retained_since AT TIME ZONE 'UTC')::date FROM log_seal)
    WINDOW w AS (PARTITION BY service_id ORDER BY day)
) AS days WHERE up = 0 OR before = 0 GROUP BY service_id, successes;

INSERT INTO failure_runs (service_id, first_at, last_at, checks, longest_gap, ended_at, by_day)
SELECT service_id, CASE WHEN successes = 0 THEN coalesce(open_first, first) ELSE first END,
    coalesce(last, open_last), failed + CASE WHEN successes = 0 THEN coalesce(open_checks, 0) ELSE 0 END,
    greatest(gap, CASE WHEN successes = 0 THEN open_gap END, 0)::bigint, ended,
    successes = 0 AND coalesce(open_by_day, false)
FROM (
    SELECT service_id, successes, min(checked_at) FILTER (WHERE NOT is_up) AS first,
        max(checked_at) FILTER (WHERE NOT is_up) AS last, count(*) FILTER (WHERE NOT is_up) AS failed,
        max(extract(epoch FROM date_trunc('milliseconds', checked_at) - date_trunc('milliseconds', before)) * 1000)
            FILTER (WHERE NOT was_up) AS gap, max(checked_at) FILTER (WHERE is_up) AS ended,
        min(open_first) AS open_first, min(open_last) AS open_last, min(open_checks) AS open_checks,
        min(open_gap) AS open_gap, bool_or(open_by_day) AS open_by_day
    FROM (
        SELECT c.service_id, c.checked_at, c.is_up, o.first_at AS open_first, o.last_at AS open_last,
            o.checks AS open_checks, o.longest_gap AS open_gap, o.by_day AS open_by_day,
            coalesce(lag(c.is_up) OVER w, o.service_id IS NULL) AS was_up,
            coalesce(lag(c.checked_at) OVER w, o.last_at) AS before,
            count(*) FILTER (WHERE c.is_up) OVER w - c.is_up::int AS successes
        FROM checks c LEFT JOIN failure_runs o ON o.service_id = c.service_id AND o.ended_at IS NULL
        WHERE c.counted AND c.checked_at < (SELECT through FROM log_seal) AND c.service_id IN (SELECT id FROM services)
        WINDOW w AS (PARTITION BY c.service_id ORDER BY c.checked_at, c.id)
    ) AS list WHERE NOT (is_up AND was_up) GROUP BY service_id, successes
) AS grouped
ORDER BY 1, 2 -- a run ends before the next one of its service begins
ON CONFLICT (service_id, first_at) DO UPDATE SET last_at = excluded.last_at, checks = excluded.checks,
    longest_gap = excluded.longest_gap, ended_at = excluded.ended_at;

-- Settlements of an account on a network, by UTC day, written with the other sums of settlements.
CREATE TABLE settler_days (
    chain_id    smallint NOT NULL,
    settler_id  bigint NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (chain_id, settler_id, day)
);

INSERT INTO settler_days (chain_id, settler_id, day, settlements, last_at)
SELECT chain_id, settler_id, (settled_at AT TIME ZONE 'UTC')::date AS day, count(*), max(settled_at)
FROM settlements GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- Suggestions of readers. The e-mail address is never published.
CREATE TABLE suggestions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,        -- as in submissions
    idempotency_key text,
    content_hash bytea NOT NULL,        -- of the suggestion as it was sent, to recognise a repetition
    text         text NOT NULL CHECK (text <> ''),
    category     text NOT NULL,
    email        text NOT NULL,         -- '' for none
    closed_at    timestamptz,           -- null while it is open
    closed_by    text CHECK ((closed_by IS NULL) = (closed_at IS NULL))
);
CREATE UNIQUE INDEX suggestions_key ON suggestions (client, idempotency_key);
CREATE INDEX suggestions_of_client ON suggestions (client, received_at);
CREATE INDEX suggestions_open ON suggestions (received_at) WHERE closed_at IS NULL;
CREATE INDEX suggestions_text ON suggestions (md5(text), received_at);

---- create above / drop below ----

DROP TABLE suggestions, settler_days, failure_runs;
