-- Uptime of a service on each UTC day, its visits, and their average response time.
-- methodology#uptime-and-response-times
-- /v1/services/{slug}/uptime?period=90d
SELECT slug, day, floor((20000.0 * up_ms + known_ms) / (2.0 * known_ms)) / 100.0
    AS "data[period_start={day}T00:00:00.000Z].uptime_percentage",
  known_ms AS "data[period_start={day}T00:00:00.000Z].known_ms", up_ms AS "data[period_start={day}T00:00:00.000Z].up_ms",
  counted AS "data[period_start={day}T00:00:00.000Z].total_checks",
  up AS "data[period_start={day}T00:00:00.000Z].successful_checks",
  CASE WHEN timed > 0 THEN CAST(floor((2.0 * response_ms + timed) / (2.0 * timed)) AS INTEGER) END
    AS "data[period_start={day}T00:00:00.000Z].avg_response_time_ms"
FROM uptime, windows WHERE name = '90d' AND day >= first_day AND known_ms > 0
