-- Median of the recorded starting prices of each category in the weeks that began in the last 30 days.
-- methodology#economics
-- /v1/tags
WITH recorded AS (SELECT a.slug, w.week, s.category, s.operator, CAST(a.min_price_usd AS DOUBLE) AS price,
    row_number() OVER (PARTITION BY a.slug, w.week ORDER BY a.day DESC) AS newest
  FROM assessments a JOIN weeks w ON a.day >= w.week AND a.day < w.next_week JOIN services s ON s.slug = a.slug
  WHERE s.delisted_at IS NULL AND s.gone_since IS NULL AND a.min_price_usd IS NOT NULL),
votes AS (SELECT category, week, operator, max(price) AS vote FROM recorded WHERE newest = 1 AND price >= 0.0001
  GROUP BY category, week, operator),
places AS (SELECT category, week, vote, row_number() OVER (PARTITION BY category, week ORDER BY vote) AS place,
    count(*) OVER (PARTITION BY category, week) AS n FROM votes)
SELECT category, week, round(avg(CASE WHEN 2 * place BETWEEN n AND n + 2 THEN vote END), 12)
    AS "data[tag={category}].price_weeks[week={week}].median_starting_usd",
  max(n) AS "data[tag={category}].price_weeks[week={week}].operator_count"
FROM places GROUP BY category, week
