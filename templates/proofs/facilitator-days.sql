-- What a facilitator settled on each of the last 90 UTC days.
-- methodology#facilitators
-- /v1/facilitators/{facilitator_id}
SELECT facilitator_id, day, round(sum(CAST(volume_usd AS DOUBLE)), 12) AS "data.timeseries[date={day}].volume_usd",
  sum(settlements) AS "data.timeseries[date={day}].tx_count"
FROM settlements, windows WHERE name = '90d' AND day >= first_day AND volume_usd IS NOT NULL
GROUP BY facilitator_id, day
