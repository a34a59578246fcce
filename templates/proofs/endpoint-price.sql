-- Lowest price of an active endpoint: prices that are asked now, in dollars, on main networks.
-- methodology#economics
-- /v1/services/{slug}
SELECT e.slug, e.endpoint_id, min(CAST(p.price_usd AS DOUBLE)) AS "data.endpoints[id={endpoint_id}].min_price_usd"
FROM endpoints e LEFT JOIN prices p ON p.endpoint_id = e.endpoint_id AND p.until IS NULL AND p.testnet = 0
WHERE e.is_active = 1 GROUP BY e.slug, e.endpoint_id
