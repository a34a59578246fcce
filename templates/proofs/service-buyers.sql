-- Buyers of a service in 30 days by kind, and the organic ones that paid on one UTC day or came back on another.
-- methodology#traction
-- /v1/services/{slug}
SELECT s.slug, count(CASE WHEN payer > 0 THEN 1 END) AS "data.assessment.traction.unique_buyers_30d",
  count(CASE WHEN kind = 'relative' THEN 1 END) AS "data.assessment.traction.self_buyers_30d",
  count(CASE WHEN kind = 'scout' THEN 1 END) AS "data.assessment.traction.scout_buyers_30d",
  count(CASE WHEN kind = 'organic' THEN 1 END) AS "data.assessment.traction.organic_buyers_30d",
  count(CASE WHEN kind = 'organic' AND first_day < last_day THEN 1 END)
    AS "data.assessment.traction.returning_buyers_30d",
  count(CASE WHEN kind = 'organic' AND first_day = last_day THEN 1 END)
    AS "data.assessment.traction.one_time_buyers_30d"
FROM services s LEFT JOIN buyers b USING (slug) WHERE s.traction = 'measured' AND s.operator IS NOT NULL
GROUP BY s.slug HAVING count(CASE WHEN payer > 0 THEN 1 END) > 0 OR count(b.slug) = 0
