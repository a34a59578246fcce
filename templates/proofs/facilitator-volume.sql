-- What a facilitator settled, in dollars and in number, by windows of whole UTC days.
-- methodology#facilitators
-- /v1/facilitators/{facilitator_id}
SELECT f.facilitator_id,
  round(coalesce(sum(CASE WHEN day >= seven.first_day THEN CAST(volume_usd AS DOUBLE) END), 0), 12)
    AS "data.volume_usd_7d",
  round(coalesce(sum(CASE WHEN day >= thirty.first_day THEN CAST(volume_usd AS DOUBLE) END), 0), 12)
    AS "data.volume_usd_30d",
  round(coalesce(sum(CAST(volume_usd AS DOUBLE)), 0), 12) AS "data.volume_usd_all",
  coalesce(sum(CASE WHEN day >= seven.first_day THEN settlements END), 0) AS "data.tx_count_7d",
  coalesce(sum(CASE WHEN day >= thirty.first_day THEN settlements END), 0) AS "data.tx_count_30d",
  coalesce(sum(settlements), 0) AS "data.tx_count_all"
FROM windows AS seven, windows AS thirty, facilitators AS f
LEFT JOIN settlements AS t ON t.facilitator_id = f.facilitator_id AND t.volume_usd IS NOT NULL
WHERE seven.name = '7d' AND thirty.name = '30d' GROUP BY f.facilitator_id
