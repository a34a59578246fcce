-- Settlements of a service in 30 days, what neither relatives nor scouts paid, and the parts of its largest buyers.
-- methodology#traction
-- /v1/services/{slug}
WITH paid AS (SELECT slug, payer, settlements AS n, CAST(volume_usd AS DOUBLE) AS usd,
    CASE WHEN kind IN ('organic', 'unknown') THEN 1 ELSE 0 END AS organic,
    row_number() OVER (PARTITION BY slug ORDER BY payer = 0, CAST(volume_usd AS DOUBLE) DESC) AS place FROM buyers),
sums AS (SELECT slug, max(payer) AS payer, sum(n) AS n, sum(usd) AS usd, sum(n * organic) AS organic_n,
    sum(usd * organic) AS organic, coalesce(sum(CASE WHEN place = 1 AND payer > 0 THEN usd END), 0) AS top,
    coalesce(sum(CASE WHEN place <= 3 AND payer > 0 THEN usd END), 0) AS top_3 FROM paid GROUP BY slug)
SELECT s.slug, coalesce(n, 0) AS "data.assessment.traction.tx_count_30d",
  coalesce(organic_n, 0) AS "data.assessment.traction.organic_tx_count_30d",
  round(CAST(s.volume_usd_30d AS DOUBLE) * coalesce(organic / nullif(usd, 0), 1), 12)
    AS "data.assessment.traction.organic_volume_usd_30d",
  CASE WHEN payer > 0 THEN round(top / nullif(usd, 0) + 1e-9, 4) END AS "data.assessment.traction.top_buyer_share_30d",
  CASE WHEN payer > 0 THEN round(top_3 / nullif(usd, 0) + 1e-9, 4) END
    AS "data.assessment.traction.top_3_buyers_share_30d",
  CASE WHEN n >= 50 AND usd >= 10 AND 10 * top_3 + 1e-9 >= 9 * usd THEN 1 ELSE 0 END
    AS "data.assessment.traction.concentrated_volume"
FROM services s LEFT JOIN sums USING (slug) WHERE s.traction = 'measured' AND s.operator IS NOT NULL
