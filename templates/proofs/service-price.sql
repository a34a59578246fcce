-- Lowest and highest price of a service: those of its active endpoints.
-- methodology#economics
-- /v1/services/{slug}
SELECT s.slug, min(CAST(e.min_price_usd AS DOUBLE)) AS "data.min_price_usd"
FROM services s LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1 GROUP BY s.slug
