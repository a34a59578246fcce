-- Services that accept payment on a network.
-- methodology#facilitators
-- /v1/coverage
SELECT network, count(*) AS "data.networks[network={network}].service_count"
FROM service_networks JOIN services USING (slug) WHERE delisted_at IS NULL AND gone_since IS NULL GROUP BY network
