-- What all facilitators settled in 30 days, and the part of it that measured services received.
-- methodology#traction
-- /v1/stats
SELECT round(sum(CAST(volume_usd AS DOUBLE)), 12) AS "data.facilitator_volume_usd_30d",
  round(100 * (SELECT sum(CAST(volume_usd_30d AS DOUBLE)) FROM services
    WHERE traction = 'measured' AND delisted_at IS NULL AND gone_since IS NULL)
    / nullif(sum(CAST(volume_usd AS DOUBLE)), 0) + 1e-9, 2) AS "data.traction.coverage_of_measured_flow_pct"
FROM settlements, windows WHERE name = '30d' AND day >= first_day AND volume_usd IS NOT NULL
