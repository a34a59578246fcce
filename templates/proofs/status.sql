-- Services by status.
-- methodology#status-and-checks
-- /v1/status
SELECT count(*) AS "data.total", coalesce(sum(CASE WHEN status = 'online' THEN 1 ELSE 0 END), 0) AS "data.online",
  coalesce(sum(CASE WHEN status = 'degraded' THEN 1 ELSE 0 END), 0) AS "data.degraded",
  coalesce(sum(CASE WHEN status = 'offline' THEN 1 ELSE 0 END), 0) AS "data.offline",
  coalesce(sum(CASE WHEN status = 'unknown' THEN 1 ELSE 0 END), 0) AS "data.unknown"
FROM services WHERE gone_since IS NULL
