-- Lowest, median and highest of the services' lowest prices on each network. An operator votes once in the median.
-- methodology#economics
-- /v1/networks
WITH votes AS (SELECT network, operator, max(CAST(vote_usd AS DOUBLE)) AS vote
  FROM service_networks JOIN services USING (slug) WHERE vote_usd IS NOT NULL GROUP BY network, operator),
places AS (SELECT network, vote, row_number() OVER (PARTITION BY network ORDER BY vote) AS place,
    count(*) OVER (PARTITION BY network) AS n FROM votes),
medians AS (SELECT network, max(n) AS n, round(avg(CASE WHEN 2 * place BETWEEN n AND n + 2 THEN vote END), 12) AS usd
  FROM places GROUP BY network)
SELECT p.network, count(*) AS "data[abbreviation={network}].prices.service_count",
  coalesce(max(m.n), 0) AS "data[abbreviation={network}].prices.operator_count",
  min(CAST(min_price_usd AS DOUBLE)) AS "data[abbreviation={network}].prices.lowest_usd",
  max(m.usd) AS "data[abbreviation={network}].prices.median_usd",
  max(CAST(min_price_usd AS DOUBLE)) AS "data[abbreviation={network}].prices.highest_usd"
FROM service_networks p LEFT JOIN medians m USING (network) WHERE min_price_usd IS NOT NULL
  AND p.network NOT LIKE '%:%' GROUP BY p.network
