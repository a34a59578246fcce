-- Services on each known network, and the average of their uptimes of 24 hours.
-- methodology#networks-and-tokens
-- /v1/networks
SELECT network, count(*) AS "data[abbreviation={network}].service_count",
  round(avg(CAST(s.uptime_24h AS DOUBLE)) + 1e-9, 2) AS "data[abbreviation={network}].avg_uptime"
FROM service_networks n JOIN services s USING (slug)
WHERE s.delisted_at IS NULL AND s.gone_since IS NULL AND network NOT LIKE '%:%' GROUP BY network
