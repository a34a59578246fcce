-- Median price of each category: of an even number of votes the mean of the two in the middle.
-- methodology#economics
-- /v1/tags
WITH x402 AS (SELECT DISTINCT e.slug FROM endpoints e JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL
  AND p.protocol = 'x402' WHERE e.is_active = 1),
priced AS (SELECT s.slug, s.category, s.operator,
    CASE WHEN CAST(s.min_price_usd AS DOUBLE) >= 0.0001 THEN CAST(s.min_price_usd AS DOUBLE)
      ELSE min(CASE WHEN CAST(p.price_usd AS DOUBLE) >= 0.0001 THEN CAST(p.price_usd AS DOUBLE) END) END AS vote
  FROM services s JOIN x402 x ON x.slug = s.slug LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1
  LEFT JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL AND p.testnet = 0 AND p.protocol = 'x402'
  WHERE s.delisted_at IS NULL AND s.gone_since IS NULL GROUP BY s.slug, s.category, s.operator, s.min_price_usd),
votes AS (SELECT category, operator, max(vote) AS vote FROM priced WHERE vote IS NOT NULL GROUP BY category, operator),
places AS (SELECT category, vote, row_number() OVER (PARTITION BY category ORDER BY vote) AS place,
    count(*) OVER (PARTITION BY category) AS n FROM votes)
SELECT category, round(avg(CASE WHEN 2 * place BETWEEN n AND n + 2 THEN vote END), 12)
    AS "data[tag={category}].prices.median_usd", max(n) AS "data[tag={category}].prices.operator_count"
FROM places GROUP BY category
