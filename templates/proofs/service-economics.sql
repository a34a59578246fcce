-- Lowest, highest and number of different prices of a service: those over x402 if it has any.
-- methodology#economics
-- /v1/services/{slug}
WITH x402 AS (SELECT DISTINCT e.slug FROM endpoints e JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL
  AND p.protocol = 'x402' WHERE e.is_active = 1)
SELECT s.slug, min(CAST(p.price_usd AS DOUBLE)) AS "data.assessment.economics.price_usd",
  max(CAST(p.price_usd AS DOUBLE)) AS "data.assessment.economics.price_max_usd",
  count(DISTINCT p.price_usd) AS "data.assessment.economics.distinct_price_count"
FROM services s LEFT JOIN x402 x ON x.slug = s.slug LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1
LEFT JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL AND p.testnet = 0
  AND (p.protocol = 'x402' OR x.slug IS NULL) GROUP BY s.slug
