-- Volume and settlements of 30 days that facilitators settled.
-- methodology#payment-flow
-- /v1/flow
SELECT round(sum(CAST(volume_usd AS DOUBLE)), 12) AS "data.volume_usd_30d", sum(settlements) AS "data.tx_count_30d"
FROM settlements, windows WHERE name = '30d' AND day >= first_day AND volume_usd IS NOT NULL
