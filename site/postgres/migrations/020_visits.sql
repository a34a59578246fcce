-- What every visit changes of its service, apart from what hardly ever changes: a visit writes a narrow row and two indexes, where
-- it wrote a wide row and six.
CREATE TABLE service_states (
    service_id      bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_check_at   timestamptz NOT NULL, -- while somebody visits it, when his lease ends
    last_checked_at timestamptz,        -- last visit, inconclusive ones too
    last_status     text,               -- of the last conclusive visit: online, degraded, offline
    last_success_at timestamptz,        -- last usable 402
    consecutive_failures integer NOT NULL DEFAULT 0,  -- conclusive offline visits in a row
    failing_since   timestamptz,        -- first of them
    newest_check_at timestamptz NOT NULL DEFAULT '-infinity' -- no check of it that is kept is later
) WITH (fillfactor = 50);               -- a new version of a row has room on its page

INSERT INTO service_states
SELECT id, next_check_at, last_checked_at, last_status, last_success_at, consecutive_failures, failing_since,
    coalesce((SELECT max(checked_at) FROM checks WHERE service_id = services.id), '-infinity')
FROM services;

DROP INDEX services_due;
CREATE INDEX services_due ON service_states (next_check_at, service_id); -- the order in which services are taken

ALTER TABLE services DROP COLUMN next_check_at, DROP COLUMN last_checked_at, DROP COLUMN last_status, DROP COLUMN last_success_at,
    DROP COLUMN consecutive_failures, DROP COLUMN failing_since;

-- Hours and days are summed when their hours are sealed, all checks of an hour together; until then its checks themselves say
-- what they add up to. What was summed of open hours is taken out again.
DELETE FROM check_hours WHERE hour >= (SELECT through FROM log_seal);

UPDATE check_days d SET checks = d.checks - o.checks, counted = d.counted - o.counted, up = d.up - o.up, timed = d.timed - o.timed,
    response_ms = d.response_ms - o.response_ms,
    histogram = ARRAY(SELECT d.histogram[n] - cardinality(array_positions(o.buckets, n)) FROM generate_series(1, 64) n)
FROM (
    SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date AS day, count(*) AS checks, count(*) FILTER (WHERE counted) AS counted,
        count(*) FILTER (WHERE counted AND is_up) AS up, count(response_time_ms) FILTER (WHERE counted) AS timed,
        coalesce(sum(response_time_ms) FILTER (WHERE counted), 0) AS response_ms,
        coalesce(array_agg(width_bucket(response_time_ms, ARRAY[ -- the least time of each of site.HistogramBuckets
            0, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216, 256, 305, 363, 431,
            512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897, 3445, 4096, 4871, 5793, 6889, 8192, 9742, 11586, 13778, 16384, 19484, 23171,
            27555, 32768, 38968, 46341, 55109])) FILTER (WHERE counted AND response_time_ms IS NOT NULL), '{}') AS buckets
    FROM checks WHERE checked_at >= (SELECT through FROM log_seal) GROUP BY 1, 2
) o
WHERE d.service_id = o.service_id AND d.day = o.day;

DELETE FROM check_days WHERE checks = 0;

ALTER TABLE log_positions SET (fillfactor = 50); -- all of it changes with each hour
---- create above / drop below ----
ALTER TABLE log_positions RESET (fillfactor);

ALTER TABLE services ADD COLUMN next_check_at timestamptz, ADD COLUMN last_checked_at timestamptz, ADD COLUMN last_status text,
    ADD COLUMN last_success_at timestamptz, ADD COLUMN consecutive_failures integer NOT NULL DEFAULT 0, ADD COLUMN failing_since timestamptz;

UPDATE services s SET next_check_at = v.next_check_at, last_checked_at = v.last_checked_at, last_status = v.last_status,
    last_success_at = v.last_success_at, consecutive_failures = v.consecutive_failures, failing_since = v.failing_since
FROM service_states v WHERE v.service_id = s.id;

ALTER TABLE services ALTER COLUMN next_check_at SET NOT NULL;
DROP TABLE service_states;
CREATE INDEX services_due ON services (next_check_at, id);

INSERT INTO check_hours (service_id, hour, checks, counted, up, timed, response_ms)
SELECT service_id, date_trunc('hour', checked_at, 'UTC'), count(*), count(*) FILTER (WHERE counted), count(*) FILTER (WHERE counted AND is_up),
    count(response_time_ms) FILTER (WHERE counted), coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)
FROM checks WHERE checked_at >= (SELECT through FROM log_seal) GROUP BY 1, 2;

INSERT INTO check_days AS d (service_id, day, checks, counted, up, timed, response_ms, histogram)
SELECT service_id, day, checks, counted, up, timed, response_ms, ARRAY(SELECT cardinality(array_positions(o.buckets, n)) FROM generate_series(1, 64) n)
FROM (
    SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date AS day, count(*) AS checks, count(*) FILTER (WHERE counted) AS counted,
        count(*) FILTER (WHERE counted AND is_up) AS up, count(response_time_ms) FILTER (WHERE counted) AS timed,
        coalesce(sum(response_time_ms) FILTER (WHERE counted), 0) AS response_ms,
        coalesce(array_agg(width_bucket(response_time_ms, ARRAY[
            0, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216, 256, 305, 363, 431,
            512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897, 3445, 4096, 4871, 5793, 6889, 8192, 9742, 11586, 13778, 16384, 19484, 23171,
            27555, 32768, 38968, 46341, 55109])) FILTER (WHERE counted AND response_time_ms IS NOT NULL), '{}') AS buckets
    FROM checks WHERE checked_at >= (SELECT through FROM log_seal) AND service_id IN (SELECT id FROM services) GROUP BY 1, 2
) o
ON CONFLICT (service_id, day) DO UPDATE SET checks = d.checks + excluded.checks, counted = d.counted + excluded.counted, up = d.up + excluded.up,
    timed = d.timed + excluded.timed, response_ms = d.response_ms + excluded.response_ms, histogram = histogram_add(d.histogram, excluded.histogram);
