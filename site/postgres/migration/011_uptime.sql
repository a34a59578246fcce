-- For operators:
-- - Uptime is measured by time: hours and days store for how long the state of a service was known, and how long it was
--   up. The migration reads every stored check once. Of older days it takes the share of visits that were up.
-- - A run of failed checks ends where nobody looked for longer than planned.

-- The state that a counted check found is known until the next counted check, but no longer than twice interval_s, at
-- least an hour.
ALTER TABLE checks
    ADD interval_s integer NOT NULL DEFAULT 0; -- seconds until the next visit as it was planned then; 0 if unknown

ALTER TABLE check_hours
    ADD known_ms bigint NOT NULL DEFAULT 0  -- milliseconds in which the state was known
        CHECK (known_ms BETWEEN 0 AND 3600000),
    ADD up_ms bigint NOT NULL DEFAULT 0 CHECK (up_ms BETWEEN 0 AND known_ms); -- of these, in which it was up
ALTER TABLE check_days
    ADD known_ms bigint NOT NULL DEFAULT 0 CHECK (known_ms BETWEEN 0 AND 86400000),
    ADD up_ms bigint NOT NULL DEFAULT 0 CHECK (up_ms BETWEEN 0 AND known_ms);

-- The state after the last counted check of sealed hours.
CREATE TABLE sealed_states (
    service_id  bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    checked_at  timestamptz NOT NULL,   -- of that check
    is_up       boolean NOT NULL,
    known_until timestamptz NOT NULL    -- unless another check follows before
) WITH (fillfactor = 50);               -- each hour changes most rows

-- The first failed check after the last success, across times in which nobody looked.
ALTER TABLE failure_runs ADD began_at timestamptz;
UPDATE failure_runs SET began_at = first_at;
ALTER TABLE failure_runs ALTER began_at SET NOT NULL,
    ADD ends_in_gap boolean NOT NULL DEFAULT false; -- ended_at is when the state was not known any more, no success

-- Checks of open hours keep the state of services that are visited rarely known until their next visit.
UPDATE checks c SET interval_s = least(extract(epoch FROM CASE
        WHEN t.failing_since <= c.checked_at - interval '7 days' THEN greatest(s.check_interval, interval '1 day')
        WHEN t.failing_since <= c.checked_at - interval '1 day' THEN greatest(s.check_interval, interval '1 hour')
        ELSE s.check_interval END), 1000000)
FROM services s JOIN service_states t ON t.service_id = s.id
WHERE c.service_id = s.id AND c.checked_at >= (SELECT through FROM log_seal);

-- States of the stored checks of sealed hours.
CREATE TEMPORARY TABLE states AS
SELECT service_id, is_up, checked_at, at, at + greatest(2 * CASE
        WHEN failing_since <= checked_at - interval '7 days' THEN greatest(check_interval, interval '1 day')
        WHEN failing_since <= checked_at - interval '1 day' THEN greatest(check_interval, interval '1 hour')
        ELSE check_interval END, interval '1 hour') AS known_until,
    lead(at) OVER (PARTITION BY service_id ORDER BY at, id) AS next_at
FROM (
    SELECT c.service_id, c.id, c.is_up, c.checked_at, date_trunc('milliseconds', c.checked_at) AS at, s.check_interval,
        CASE WHEN NOT c.is_up THEN (SELECT max(first_at) FROM failure_runs r
            WHERE r.service_id = c.service_id AND r.first_at <= c.checked_at) END AS failing_since
    FROM checks c JOIN services s ON s.id = c.service_id
    WHERE c.counted AND c.checked_at < (SELECT through FROM log_seal)
) AS counted;

INSERT INTO sealed_states (service_id, checked_at, is_up, known_until)
SELECT service_id, checked_at, is_up, known_until FROM states WHERE next_at IS NULL;

CREATE TEMPORARY TABLE known AS
SELECT service_id, hour, sum(ms)::bigint AS known_ms, coalesce(sum(ms) FILTER (WHERE is_up), 0)::bigint AS up_ms
FROM (
    SELECT service_id, is_up, hour,
        extract(epoch FROM least(until, hour + interval '1 hour') - greatest(at, hour)) * 1000 AS ms
    FROM (
        SELECT service_id, is_up, at, least(known_until, next_at, (SELECT through FROM log_seal)) AS until FROM states
    ) AS spans, generate_series(date_trunc('hour', at, 'UTC'), until - interval '1 millisecond', interval '1 hour') AS hour
    WHERE at < until
) AS parts GROUP BY service_id, hour;

INSERT INTO check_hours AS old (service_id, hour, checks, counted, up, timed, response_ms, known_ms, up_ms)
SELECT service_id, hour, 0, 0, 0, 0, 0, known_ms, up_ms FROM known
ON CONFLICT (hour, service_id) DO UPDATE SET known_ms = excluded.known_ms, up_ms = excluded.up_ms;

INSERT INTO check_days AS old (service_id, day, checks, counted, up, timed, response_ms, histogram, known_ms, up_ms)
SELECT service_id, (hour AT TIME ZONE 'UTC')::date, 0, 0, 0, 0, 0, array_fill(0, ARRAY[64]), sum(known_ms), sum(up_ms)
FROM known GROUP BY 1, 2
ON CONFLICT (service_id, day) DO UPDATE SET known_ms = excluded.known_ms, up_ms = excluded.up_ms;

DROP TABLE known, states;

-- Days whose checks are deleted: the share of the visits that were up is taken for that of the time since the listing.
UPDATE check_days d SET known_ms = of.known_ms, up_ms = round(of.known_ms::numeric * d.up / d.counted)
FROM (
    SELECT service_id, day, (extract(epoch FROM least(interval '1 day', greatest(interval '0',
        (day + 1)::timestamp AT TIME ZONE 'UTC' - s.created_at))) * 1000)::bigint AS known_ms
    FROM check_days JOIN services s ON s.id = service_id
    WHERE day < coalesce((SELECT (retained_since AT TIME ZONE 'UTC')::date FROM log_seal), 'infinity')
) AS of
WHERE of.service_id = d.service_id AND of.day = d.day AND d.counted > 0;
---- create above / drop below ----
ALTER TABLE failure_runs DROP began_at, DROP ends_in_gap;
DROP TABLE sealed_states;
ALTER TABLE check_days DROP known_ms, DROP up_ms;
ALTER TABLE check_hours DROP known_ms, DROP up_ms;
ALTER TABLE checks DROP interval_s;
