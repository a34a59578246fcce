-- Averages over the services that have a value.
-- methodology#uptime-and-response-times
-- /v1/stats
SELECT round(avg(CAST(uptime_24h AS DOUBLE)) + 1e-9, 2) AS "data.avg_uptime_24h",
  round(avg(CAST(uptime_7d AS DOUBLE)) + 1e-9, 2) AS "data.avg_uptime_7d",
  round(avg(avg_response_time_ms) + 1e-9, 2) AS "data.avg_response_time_ms"
FROM services WHERE delisted_at IS NULL AND gone_since IS NULL
