-- Organic buyers of each category in 30 days, and those of them that came back on another UTC day to any of its services.
-- methodology#traction
-- /v1/tags
WITH payers AS (SELECT category, payer, min(first_day) AS first_day, max(last_day) AS last_day
  FROM buyers JOIN services USING (slug) WHERE kind = 'organic' GROUP BY category, payer)
SELECT category, count(*) AS "data[tag={category}].demand.organic_buyers_30d",
  count(CASE WHEN first_day < last_day THEN 1 END) AS "data[tag={category}].demand.returning_buyers_30d"
FROM payers GROUP BY category
