-- Part of the other services of the category whose lowest price is lower.
-- methodology#economics
-- /v1/services/{slug}
SELECT slug, CASE WHEN price IS NOT NULL AND others > 0 THEN round(100.0 * cheaper / others + 1e-9, 2) END
  AS "data.assessment.economics.category_percentile"
FROM (SELECT s.slug, CAST(s.min_price_usd AS DOUBLE) AS price, count(o.slug) AS others,
    count(CASE WHEN CAST(o.min_price_usd AS DOUBLE) < CAST(s.min_price_usd AS DOUBLE) THEN 1 END) AS cheaper
  FROM services s LEFT JOIN services o ON o.category = s.category AND o.slug <> s.slug AND o.min_price_usd IS NOT NULL
    AND o.delisted_at IS NULL AND o.gone_since IS NULL GROUP BY s.slug, s.min_price_usd, s.delisted_at) AS ranked
