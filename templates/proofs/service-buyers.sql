-- Organic buyers of a service are those that came back and those that paid on one day.
-- methodology#traction
-- /v1/services/{slug}
SELECT slug, organic_buyers_30d - returning_buyers_30d AS "data.assessment.traction.one_time_buyers_30d"
FROM services WHERE delisted_at IS NULL AND gone_since IS NULL
