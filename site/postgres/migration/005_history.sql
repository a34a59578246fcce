-- For operators:
-- - Each build records what it published of each service: grade, failed checks, risk, lowest price, response time.
--   It stores one row for each service and day, about 200 bytes. /v1/services/<slug>/scores has the history.
-- - A service's change of grade gets a change record, with the checks that began to pass or fail.

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

---- create above / drop below ----

DROP TABLE assessment_seal, grade_baselines, assessments;
