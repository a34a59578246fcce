-- Share of the known time in which a service was up, by windows of UTC days that end with the last full hour.
-- methodology#uptime-and-response-times
-- /v1/services/{slug}
SELECT slug, name, floor((20000.0 * sum(up_ms) + sum(known_ms)) / (2.0 * sum(known_ms))) / 100.0 AS "data.uptime.{name}",
  sum(known_ms) AS "data.uptime.coverage.{name}.knownMs", sum(up_ms) AS "data.uptime.coverage.{name}.upMs"
FROM uptime, windows WHERE days > 1 AND day >= first_day GROUP BY slug, name HAVING sum(known_ms) > 0
