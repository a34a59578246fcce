-- Services by status.
-- methodology#status-and-checks
-- /v1/status
SELECT count(*) AS "data.total", sum(CASE WHEN status = 'online' THEN 1 ELSE 0 END) AS "data.online",
  sum(CASE WHEN status = 'degraded' THEN 1 ELSE 0 END) AS "data.degraded",
  sum(CASE WHEN status = 'offline' THEN 1 ELSE 0 END) AS "data.offline",
  sum(CASE WHEN status = 'unknown' THEN 1 ELSE 0 END) AS "data.unknown" FROM services
