-- Listed services and endpoints, and how many of them are verified, payment ready, or new.
-- methodology#recompute-it-yourself
-- /v1/stats
SELECT count(*) AS "data.total_services", coalesce(sum(endpoint_count), 0) AS "data.total_endpoints",
  coalesce(sum(verified), 0) AS "data.verified_count", coalesce(sum(payment_ready), 0) AS "data.payment_ready_count",
  coalesce(sum(CASE WHEN created_at > seven.since THEN 1 ELSE 0 END), 0) AS "data.listing_growth.new_7d",
  coalesce(sum(CASE WHEN created_at > thirty.since THEN 1 ELSE 0 END), 0) AS "data.listing_growth.new_30d"
FROM services, windows AS seven, windows AS thirty
WHERE seven.name = '7d' AND thirty.name = '30d' AND delisted_at IS NULL AND gone_since IS NULL
