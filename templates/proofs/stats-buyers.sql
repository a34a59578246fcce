-- Organic buyers of all services in 30 days, and those of them that came back on another UTC day to any of them.
-- methodology#traction
-- /v1/stats
WITH payers AS (SELECT payer, min(first_day) AS first_day, max(last_day) AS last_day FROM buyers WHERE kind = 'organic'
  GROUP BY payer)
SELECT count(*) AS "data.traction.organic_buyers_30d",
  count(CASE WHEN first_day < last_day THEN 1 END) AS "data.traction.returning_buyers_30d"
FROM payers HAVING count(*) > 0
