-- Lowest, highest and number of different prices of a service.
-- methodology#economics
-- /v1/services/{slug}
SELECT s.slug, min(CAST(p.price_usd AS DOUBLE)) AS "data.assessment.economics.price_usd",
  max(CAST(p.price_usd AS DOUBLE)) AS "data.assessment.economics.price_max_usd",
  count(DISTINCT p.price_usd) AS "data.assessment.economics.distinct_price_count"
FROM services s LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1
LEFT JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL AND p.testnet = 0
  AND p.protocol = 'x402' GROUP BY s.slug
