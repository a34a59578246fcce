-- Prices of all active endpoints. The median of an even number of prices is the mean of the two in the middle.
-- methodology#economics
-- /v1/stats
WITH priced AS (SELECT CAST(e.min_price_usd AS DOUBLE) AS usd,
    row_number() OVER (ORDER BY CAST(e.min_price_usd AS DOUBLE)) AS place, count(*) OVER () AS n
  FROM endpoints e JOIN services s ON s.slug = e.slug
  WHERE e.is_active = 1 AND e.min_price_usd IS NOT NULL AND s.delisted_at IS NULL AND s.gone_since IS NULL)
SELECT min(usd) AS "data.pricing.min_price_usd", max(usd) AS "data.pricing.max_price_usd",
  round(avg(usd), 9) AS "data.pricing.avg_price_usd",
  round(avg(CASE WHEN 2 * place BETWEEN n AND n + 2 THEN usd END), 9) AS "data.pricing.median_price_usd"
FROM priced
