-- Listed services and endpoints, and how many of them are verified, payment ready, or new.
-- methodology#recompute-it-yourself
-- /v1/stats
SELECT count(*) AS "data.total_services", sum(endpoint_count) AS "data.total_endpoints",
  sum(verified) AS "data.verified_count", sum(payment_ready) AS "data.payment_ready_count",
  sum(CASE WHEN created_at > seven.since THEN 1 ELSE 0 END) AS "data.listing_growth.new_7d",
  sum(CASE WHEN created_at > thirty.since THEN 1 ELSE 0 END) AS "data.listing_growth.new_30d"
FROM services, windows AS seven, windows AS thirty
WHERE seven.name = '7d' AND thirty.name = '30d' AND delisted_at IS NULL
