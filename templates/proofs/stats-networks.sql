-- Services on each known network. Others have a CAIP-2 ID instead of a short name.
-- methodology#networks-and-tokens
-- /v1/stats
SELECT network, count(*) AS "data.networks[abbreviation={network}].service_count"
FROM service_networks JOIN services USING (slug) WHERE delisted_at IS NULL AND gone_since IS NULL
  AND network NOT LIKE '%:%' GROUP BY network
