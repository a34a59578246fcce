-- What each of the five largest facilitators of the flow settled in 30 days.
-- methodology#payment-flow
-- /v1/flow
SELECT facilitator_id, round(usd, 12) AS "data.nodes[id=facilitator:{facilitator_id}].volume_usd_30d",
  n AS "data.nodes[id=facilitator:{facilitator_id}].tx_count_30d"
FROM (SELECT facilitator_id, sum(CAST(volume_usd AS DOUBLE)) AS usd, sum(settlements) AS n,
    row_number() OVER (ORDER BY sum(CAST(volume_usd AS DOUBLE)) DESC, facilitator_id) AS place
  FROM settlements, windows WHERE name = '30d' AND day >= first_day AND volume_usd IS NOT NULL
  GROUP BY facilitator_id) AS f
WHERE place <= 5
