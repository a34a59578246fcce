-- Part of the votes of the category that are lower, number of the others and of those that are higher. An operator votes once, with the highest of its services' lowest prices.
-- methodology#economics
-- /v1/services/{slug}
WITH x402 AS (SELECT DISTINCT e.slug FROM endpoints e JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL
  AND p.protocol = 'x402' WHERE e.is_active = 1),
priced AS (SELECT s.slug, s.category, s.operator, CAST(s.min_price_usd AS DOUBLE) AS usd,
    CASE WHEN CAST(s.min_price_usd AS DOUBLE) >= 0.0001 THEN CAST(s.min_price_usd AS DOUBLE)
      ELSE min(CASE WHEN CAST(p.price_usd AS DOUBLE) >= 0.0001 THEN CAST(p.price_usd AS DOUBLE) END) END AS vote
  FROM services s JOIN x402 x ON x.slug = s.slug LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1
  LEFT JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL AND p.testnet = 0 AND p.protocol = 'x402'
  GROUP BY s.slug, s.category, s.operator, s.min_price_usd),
votes AS (SELECT category, operator, max(vote) AS vote FROM priced WHERE vote IS NOT NULL GROUP BY category, operator)
SELECT p.slug, CASE WHEN p.usd IS NOT NULL AND count(v.vote) > 0 THEN
    round(100.0 * count(CASE WHEN v.vote < p.usd THEN 1 END) / count(v.vote) + 1e-9, 2) END
  AS "data.assessment.economics.category_percentile",
  CASE WHEN p.usd IS NOT NULL AND count(v.vote) > 0 THEN count(v.vote) END AS "data.assessment.economics.category_others",
  CASE WHEN p.usd IS NOT NULL AND count(v.vote) > 0 THEN count(CASE WHEN v.vote > p.usd THEN 1 END) END
  AS "data.assessment.economics.category_dearer"
FROM priced p LEFT JOIN votes v ON v.category = p.category AND v.operator <> p.operator GROUP BY p.slug, p.usd
