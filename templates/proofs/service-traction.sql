-- Settlements of a service in 30 days, what neither relatives nor scouts paid, and the parts of the largest buyers.
-- methodology#traction
-- /v1/services/{slug}
WITH paid AS (SELECT slug, payer, settlements AS n, CAST(volume_usd AS DOUBLE) AS usd,
    CASE WHEN kind IN ('organic', 'unknown') THEN 1 ELSE 0 END AS organic,
    row_number() OVER (PARTITION BY slug ORDER BY CASE WHEN payer > 0 THEN 0 ELSE 1 END, CAST(volume_usd AS DOUBLE) DESC)
      AS place FROM buyers)
SELECT s.slug, coalesce(sum(n), 0) AS "data.assessment.traction.tx_count_30d",
  coalesce(sum(n * organic), 0) AS "data.assessment.traction.organic_tx_count_30d",
  round(CAST(s.volume_usd_30d AS DOUBLE) * coalesce(sum(usd * organic) / nullif(sum(usd), 0), 1), 12)
    AS "data.assessment.traction.organic_volume_usd_30d",
  CASE WHEN max(payer) > 0 THEN round(sum(CASE WHEN place = 1 AND payer > 0 THEN usd END) / nullif(sum(usd), 0) + 1e-9, 4)
    END AS "data.assessment.traction.top_buyer_share_30d",
  CASE WHEN max(payer) > 0 THEN round(sum(CASE WHEN place <= 3 AND payer > 0 THEN usd END) / nullif(sum(usd), 0) + 1e-9, 4)
    END AS "data.assessment.traction.top_3_buyers_share_30d"
FROM services s LEFT JOIN paid USING (slug) WHERE s.traction = 'measured' AND s.operator IS NOT NULL
GROUP BY s.slug, s.volume_usd_30d
