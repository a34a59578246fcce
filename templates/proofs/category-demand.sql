-- Organic volume and settlements of 30 days with the measured services of each category.
-- methodology#traction
-- /v1/tags
SELECT category, count(*) AS "data[tag={category}].demand.measured_services",
  round(sum(CAST(organic_volume_usd_30d AS DOUBLE)), 12) AS "data[tag={category}].demand.organic_volume_usd_30d",
  sum(organic_settlements_30d) AS "data[tag={category}].demand.organic_tx_count_30d"
FROM services WHERE traction = 'measured' AND volume_usd_30d IS NOT NULL AND delisted_at IS NULL AND gone_since IS NULL
GROUP BY category HAVING count(*) = count(organic_volume_usd_30d)
