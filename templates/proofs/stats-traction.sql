-- Volume and settlements of 30 days of all services whose traction is measured, the organic part, and that of the largest.
-- methodology#traction
-- /v1/stats
WITH measured AS (SELECT CAST(volume_usd_30d AS DOUBLE) AS usd, settlements_30d AS n,
    CAST(organic_volume_usd_30d AS DOUBLE) AS organic, organic_settlements_30d AS organic_n,
    row_number() OVER (ORDER BY CAST(volume_usd_30d AS DOUBLE) DESC) AS place
  FROM services WHERE traction = 'measured' AND volume_usd_30d IS NOT NULL
    AND delisted_at IS NULL AND gone_since IS NULL)
SELECT count(*) AS "data.traction.measured_services", round(sum(usd), 12) AS "data.traction.volume_usd_30d",
  sum(n) AS "data.traction.settlement_count_30d", round(sum(organic), 12) AS "data.traction.organic_volume_usd_30d",
  sum(organic_n) AS "data.traction.organic_settlement_count_30d",
  round(100 * sum(CASE WHEN place = 1 THEN usd END) / nullif(sum(usd), 0) + 1e-9, 2)
    AS "data.traction.top_1_service_share_pct",
  round(100 * sum(CASE WHEN place <= 10 THEN usd END) / nullif(sum(usd), 0) + 1e-9, 2)
    AS "data.traction.top_10_services_share_pct"
FROM measured
