-- What all facilitators settled on a network on each of the last 90 UTC days.
-- methodology#facilitators
-- /v1/coverage
SELECT network_caip2, day, round(sum(CAST(volume_usd AS DOUBLE)), 12)
    AS "data.networks[network_caip2={network_caip2}].timeseries[date={day}].volume_usd",
  sum(settlements) AS "data.networks[network_caip2={network_caip2}].timeseries[date={day}].tx_count"
FROM settlements, windows WHERE name = '90d' AND day >= first_day AND volume_usd IS NOT NULL
GROUP BY network_caip2, day
