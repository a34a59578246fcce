-- For operators:
-- - Each build records the verdict on each service by day, too. A change of a verdict gets a change record.

ALTER TABLE assessments
    ADD verdict text; -- good, caution, unknown or do_not_pay; null on the days before it was recorded

-- The next change of the verdict on a service is a change from this one. A service without a row had none that counts.
CREATE TABLE verdict_baselines (
    service_id  bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    verdict     text NOT NULL,          -- as change records have it: good, caution or do_not_pay
    methodology smallint NOT NULL,
    recorded_at timestamptz             -- of the last change record of the verdict; null without one
);

---- create above / drop below ----

DROP TABLE verdict_baselines;
ALTER TABLE assessments DROP verdict;
