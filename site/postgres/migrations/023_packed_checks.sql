-- Checks are kept packed: while their hour is open a row for each batch that was told at once, from then on a row for each service
-- and hour. A check is 41 bytes, as checkpack.go writes them; its texts stand beside, each once, and it names them by number, behind
-- those that most checks have. What was a row a check, and a row of sums an hour, are views for whoever asks by SQL.
CREATE TABLE check_batches (
    id       bigint GENERATED ALWAYS AS IDENTITY,
    hour     timestamptz NOT NULL,      -- that its checks are of; it is open
    services bigint[] NOT NULL,         -- of each check
    checks   bytea NOT NULL,
    texts    text[],
    PRIMARY KEY (hour, id)
);

-- Partitions are UTC days, and dropped as such.
CREATE TABLE check_packs (
    service_id bigint NOT NULL,
    hour       timestamptz NOT NULL,    -- sealed
    checks     bytea NOT NULL,          -- in the order of the log
    texts      text[],
    PRIMARY KEY (service_id, hour)
) PARTITION BY RANGE (hour);

CREATE INDEX check_packs_hour ON check_packs USING brin (hour) WITH (pages_per_range = 16);

-- Ids are random: nothing is gained by compressing them.
ALTER TABLE check_batches ALTER COLUMN services SET STORAGE EXTERNAL, ALTER COLUMN checks SET STORAGE EXTERNAL;
ALTER TABLE check_packs ALTER COLUMN checks SET STORAGE EXTERNAL;

-- How many rows of sealed hours each service's log has ever had: of 128 services in one row, by their ids, 0 being the log of all.
CREATE TABLE log_places (
    chunk bigint PRIMARY KEY,           -- service_id / 128
    rows  bigint[] NOT NULL             -- the number of the first row after them
);

ALTER TABLE log_places ALTER COLUMN rows SET STORAGE PLAIN;

CREATE FUNCTION check_of(hour timestamptz, checks bytea, texts text[], n bigint) RETURNS TABLE (
    checked_at timestamptz, id uuid, counted boolean, status text, is_up boolean, status_code integer, response_time_ms integer, endpoints_found integer,
    error_message text, consecutive_failures integer
) LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT hour + ('x' || encode(substring(c FROM 17 FOR 4), 'hex'))::bit(32)::bigint * interval '1 microsecond',
        encode(substring(c FROM 1 FOR 16), 'hex')::uuid,
        get_byte(c, 20) & 1 <> 0,
        words[get_byte(c, 21) * 256 + get_byte(c, 22)],
        get_byte(c, 20) & 2 <> 0,
        CASE WHEN get_byte(c, 20) & 4 <> 0 THEN ('x' || encode(substring(c FROM 26 FOR 4), 'hex'))::bit(32)::integer END,
        CASE WHEN get_byte(c, 20) & 8 <> 0 THEN ('x' || encode(substring(c FROM 30 FOR 4), 'hex'))::bit(32)::integer END,
        ('x' || encode(substring(c FROM 34 FOR 4), 'hex'))::bit(32)::integer,
        words[get_byte(c, 23) * 256 + get_byte(c, 24)],
        ('x' || encode(substring(c FROM 38 FOR 4), 'hex'))::bit(32)::integer
    FROM (SELECT substring(checks FROM (41 * (n - 1) + 1)::integer FOR 41) AS c, ARRAY['online', 'degraded', 'offline'] || texts AS words OFFSET 0) AS r
$$;

CREATE FUNCTION pack_check(id uuid, after interval, counted boolean, status smallint, is_up boolean, status_code integer, response_time_ms integer,
    endpoints_found integer, error_message smallint, consecutive_failures integer) RETURNS bytea LANGUAGE sql IMMUTABLE AS $$
    SELECT uuid_send(id) || substring(int8send((extract(epoch FROM after) * 1000000)::bigint) FROM 5)
        || substring(int2send((counted::int + 2 * is_up::int + 4 * (status_code IS NOT NULL)::int + 8 * (response_time_ms IS NOT NULL)::int)::smallint) FROM 2)
        || int2send(status) || int2send(error_message) || int4send(coalesce(status_code, 0)) || int4send(coalesce(response_time_ms, 0))
        || int4send(endpoints_found) || int4send(consecutive_failures)
$$;

DO $$
DECLARE
    day date;
BEGIN
    FOR day IN SELECT DISTINCT (checked_at AT TIME ZONE 'UTC')::date FROM checks WHERE checked_at < (SELECT through FROM log_seal) LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF check_packs FOR VALUES FROM (%L) TO (%L)',
            'check_packs_' || to_char(day, 'YYYYMMDD'), day || 'T00:00:00Z', (day + 1) || 'T00:00:00Z');
    END LOOP;
END
$$;

-- Of sealed hours a group is a service's hour, of open ones 1,000 services' hour.
CREATE TEMP VIEW old_checks AS
SELECT *, date_trunc('hour', checked_at, 'UTC') AS hour, checked_at < (SELECT through FROM log_seal) AS sealed,
    CASE WHEN checked_at < (SELECT through FROM log_seal) THEN service_id ELSE service_id / 1000 END AS among
FROM checks;

CREATE TEMP TABLE old_texts AS
SELECT sealed, among, hour, array_agg(DISTINCT word) FILTER (WHERE word NOT IN ('online', 'degraded', 'offline')) AS texts
FROM old_checks, unnest(ARRAY[status, error_message]) AS word GROUP BY 1, 2, 3;

CREATE TEMP TABLE new_packs AS
SELECT sealed, among, hour, texts, array_agg(service_id ORDER BY service_id, checked_at, id) AS services,
    string_agg(pack_check(id, checked_at - hour, counted, coalesce(array_position(words, status), 0)::smallint, is_up, status_code, response_time_ms,
        endpoints_found, coalesce(array_position(words, error_message), 0)::smallint, consecutive_failures), '' ORDER BY service_id, checked_at, id) AS checks
FROM old_checks JOIN (SELECT *, ARRAY['online', 'degraded', 'offline'] || texts AS words FROM old_texts) AS t USING (sealed, among, hour)
GROUP BY 1, 2, 3, 4;

INSERT INTO check_packs SELECT among, hour, checks, texts FROM new_packs WHERE sealed ORDER BY hour, among;
INSERT INTO check_batches (hour, services, checks, texts) SELECT hour, services, checks, texts FROM new_packs WHERE NOT sealed;

INSERT INTO log_places
SELECT c, ARRAY(SELECT coalesce((SELECT rows FROM log_positions WHERE service_id = i), 0) FROM generate_series(128 * c, 128 * c + 127) AS i ORDER BY i)
FROM (SELECT DISTINCT service_id / 128 AS c FROM log_positions) AS chunks;

-- Days are summed when they are over: those of the day that is open are the sums of its packs.
DELETE FROM check_days WHERE day >= (SELECT (through AT TIME ZONE 'UTC')::date FROM log_seal);

DROP VIEW old_checks;
DROP TABLE checks, check_hours, log_positions, old_texts, new_packs;
DROP FUNCTION pack_check;

CREATE VIEW checks AS
SELECT service_id, c.*
FROM check_packs, generate_series(1, length(checks) / 41) AS n, check_of(hour, checks, texts, n) AS c
UNION ALL
SELECT service_id, c.*
FROM check_batches, unnest(services) WITH ORDINALITY AS s (service_id, n), check_of(hour, checks, texts, n) AS c;

CREATE VIEW check_hours AS
SELECT service_id, hour, count(*)::integer AS checks, (count(*) FILTER (WHERE counted))::integer AS counted, (count(*) FILTER (WHERE counted AND is_up))::integer AS up,
    (count(response_time_ms) FILTER (WHERE counted))::integer AS timed, coalesce(sum(response_time_ms) FILTER (WHERE counted), 0)::bigint AS response_ms
FROM check_packs, generate_series(1, length(checks) / 41) AS n, check_of(hour, checks, texts, n)
WHERE service_id IN (SELECT services.id FROM services)
GROUP BY service_id, hour;

CREATE VIEW log_positions AS
SELECT 128 * chunk + n - 1 AS service_id, r AS rows FROM log_places, unnest(rows) WITH ORDINALITY AS u (r, n) WHERE r > 0;
---- create above / drop below ----
CREATE TABLE old_checks AS SELECT * FROM checks;
CREATE TABLE old_hours AS SELECT * FROM check_hours;
CREATE TABLE old_positions AS SELECT * FROM log_positions;
DROP VIEW checks, check_hours, log_positions;
DROP TABLE check_batches, check_packs, log_places;
DROP FUNCTION check_of;

CREATE TABLE checks (
    service_id       bigint NOT NULL,
    checked_at       timestamptz NOT NULL,
    id               uuid NOT NULL,
    counted          boolean NOT NULL,
    status           text,
    is_up            boolean NOT NULL,
    status_code      integer,
    response_time_ms integer,
    endpoints_found  integer NOT NULL,
    error_message    text,
    consecutive_failures integer NOT NULL
) PARTITION BY RANGE (checked_at);

CREATE INDEX checks_time ON checks USING brin (checked_at) WITH (pages_per_range = 16);
CREATE INDEX checks_of_service ON checks (service_id, checked_at);

DO $$
DECLARE
    day date;
BEGIN
    FOR day IN SELECT DISTINCT (checked_at AT TIME ZONE 'UTC')::date FROM old_checks LOOP
        EXECUTE format('CREATE TABLE %I PARTITION OF checks FOR VALUES FROM (%L) TO (%L)',
            'checks_' || to_char(day, 'YYYYMMDD'), day || 'T00:00:00Z', (day + 1) || 'T00:00:00Z');
    END LOOP;
END
$$;

INSERT INTO checks SELECT * FROM old_checks ORDER BY checked_at;

CREATE TABLE check_hours (
    service_id  bigint NOT NULL,
    hour        timestamptz NOT NULL,
    checks      integer NOT NULL,
    counted     integer NOT NULL,
    up          integer NOT NULL,
    timed       integer NOT NULL,
    response_ms bigint NOT NULL,
    PRIMARY KEY (service_id, hour)
);

INSERT INTO check_hours SELECT * FROM old_hours;

CREATE TABLE log_positions (
    service_id bigint PRIMARY KEY,
    rows       bigint NOT NULL
) WITH (fillfactor = 50);

INSERT INTO log_positions SELECT * FROM old_positions;

INSERT INTO check_days
SELECT service_id, day, checks, counted, up, timed, response_ms, ARRAY(SELECT cardinality(array_positions(o.buckets, n)) FROM generate_series(1, 64) n)
FROM (
    SELECT service_id, (checked_at AT TIME ZONE 'UTC')::date AS day, count(*) AS checks, count(*) FILTER (WHERE counted) AS counted,
        count(*) FILTER (WHERE counted AND is_up) AS up, count(response_time_ms) FILTER (WHERE counted) AS timed,
        coalesce(sum(response_time_ms) FILTER (WHERE counted), 0) AS response_ms,
        coalesce(array_agg(width_bucket(response_time_ms, ARRAY[ -- the least time of each of site.HistogramBuckets
            0, 2, 2, 2, 2, 3, 3, 4, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 23, 27, 32, 39, 46, 54, 64, 77, 91, 108, 128, 153, 182, 216, 256, 305, 363, 431,
            512, 609, 725, 862, 1024, 1218, 1449, 1723, 2048, 2436, 2897, 3445, 4096, 4871, 5793, 6889, 8192, 9742, 11586, 13778, 16384, 19484, 23171,
            27555, 32768, 38968, 46341, 55109])) FILTER (WHERE counted AND response_time_ms IS NOT NULL), '{}') AS buckets
    FROM checks WHERE checked_at >= (SELECT date_trunc('day', through, 'UTC') FROM log_seal) AND checked_at < (SELECT through FROM log_seal)
        AND service_id IN (SELECT id FROM services)
    GROUP BY 1, 2
) o;

DROP TABLE old_checks, old_hours, old_positions;
