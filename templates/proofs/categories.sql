-- Services of each category.
-- methodology#recompute-it-yourself
-- /v1/tags
SELECT category, count(*) AS "data[tag={category}].service_count"
FROM services WHERE delisted_at IS NULL AND gone_since IS NULL GROUP BY category
