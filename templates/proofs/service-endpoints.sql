-- Active endpoints of a service.
-- methodology#where-endpoints-come-from
-- /v1/services/{slug}
SELECT s.slug, count(e.endpoint_id) AS "data.endpoint_count"
FROM services s LEFT JOIN endpoints e ON e.slug = s.slug AND e.is_active = 1 GROUP BY s.slug
