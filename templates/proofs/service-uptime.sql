-- Share of the counted visits of a service that were up, by windows of whole UTC days.
-- methodology#uptime-and-response-times
-- /v1/services/{slug}
SELECT slug, name, floor((20000.0 * sum(up) + sum(counted)) / (2.0 * sum(counted))) / 100.0 AS "data.uptime.{name}"
FROM uptime, windows WHERE days > 1 AND day >= first_day GROUP BY slug, name HAVING sum(counted) > 0
