-- For operators:
-- - Each build records what it published of each service: grade, failed checks, risk, lowest price, response time.
--   It stores one row for each service and day, about 200 bytes. /v1/services/<slug>/scores has the history.
-- - A service's change of grade gets a change record, with the checks that began to pass or fail.
-- - Failed checks in a row are stored as runs, of which /v1/incidents is made. The migration reads every stored check
--   once.

-- The last assessment of a service that a build published on a UTC day. The row of a day that is over never changes. A
-- day on which no build published the service has no row.
CREATE TABLE assessments (
    service_id  bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    day         date NOT NULL,
    grade       text NOT NULL,          -- A, B, C, D, F or unknown
    checks      smallint NOT NULL CHECK (checks >= cardinality(failed)), -- number of compliance checks
    failed      text[] NOT NULL,        -- ids of those that failed, in the order of the checks
    risk_level  text NOT NULL,          -- clean, warning or danger
    risk_flags  text[] NOT NULL,        -- codes, the most serious first
    min_price_usd numeric CHECK (min_price_usd >= 0), -- lowest counted price; null without one
    response_p95_ms integer CHECK (response_p95_ms >= 0), -- of 7 days; null without response times
    methodology smallint NOT NULL,      -- version of the rules that judged
    PRIMARY KEY (service_id, day)
) WITH (fillfactor = 90);               -- builds of the same day change some rows
CREATE INDEX assessments_day ON assessments USING brin (day) WITH (pages_per_range = 16);

-- The next change of a service's grade is a change from this one. A service without a row never had a grade.
CREATE TABLE grade_baselines (
    service_id  bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    grade       text NOT NULL,          -- as change records have it: A, B, C, D or F
    failed      text[] NOT NULL,        -- ids of the checks that failed with that grade
    reasons     text[] NOT NULL,        -- why, for each of them
    methodology smallint NOT NULL,
    recorded_at timestamptz             -- of the last change record of the grade; null without one
);

-- The one row says when the newest recorded build was; without it, no build recorded anything. Builds lock it, so that
-- they record one after the other.
CREATE TABLE assessment_seal (
    only_row    boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    recorded_at timestamptz NOT NULL    -- time of that build; older builds record nothing
);

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

---- create above / drop below ----

DROP TABLE failure_runs, assessment_seal, grade_baselines, assessments;
