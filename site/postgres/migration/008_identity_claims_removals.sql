-- For operators:
-- - Endpoints that only a public source lists count once they asked for payment, and give way to those of the owner.
-- - A source that replaces more than half of its list is held back. It adds one change record per service and pull.
-- - Settlements that nodes dated after the year 9999 are deleted, because no build can publish them.

-- Identity of the database.

-- Claims of recipients.

-- Limits of what one service may store.

-- Removed services.

-- Settlements of years that no build can publish: a node lied about the time of their blocks, and readers believed it.
-- Their sums by day and hour are of those years, too. Totals lose what these days added.
DELETE FROM settlements WHERE settled_at >= '10000-01-01Z';
DELETE FROM token_hours WHERE hour >= '10000-01-01Z';
DELETE FROM settler_days WHERE day >= '10000-01-01';
DELETE FROM payer_days WHERE day >= '10000-01-01';
DELETE FROM amount_days WHERE day >= '10000-01-01';
DELETE FROM authorization_days WHERE day >= '10000-01-01';
DELETE FROM sender_days WHERE day >= '10000-01-01';
DELETE FROM range_authorizations WHERE day >= '10000-01-01';
DELETE FROM range_senders WHERE day >= '10000-01-01';
UPDATE token_payers p SET last_day = d.last_day FROM (
    SELECT token_id, payer_id, max(day) AS last_day FROM payer_days
    WHERE (token_id, payer_id) IN (SELECT token_id, payer_id FROM token_payers WHERE last_day >= '10000-01-01')
    GROUP BY token_id, payer_id
) d WHERE d.token_id = p.token_id AND d.payer_id = p.payer_id;
DELETE FROM token_payers WHERE last_day >= '10000-01-01';
WITH gone AS (
    DELETE FROM token_days WHERE day >= '10000-01-01' RETURNING token_id, settlements, amount
), sums AS (
    SELECT token_id, sum(settlements) AS settlements, sum(amount) AS amount FROM gone GROUP BY token_id
)
UPDATE token_totals t SET settlements = t.settlements - s.settlements, amount = t.amount - s.amount,
    payers = (SELECT count(*) FROM token_payers p WHERE p.token_id = t.token_id),
    first_day = coalesce((SELECT min(day) FROM token_days d WHERE d.token_id = t.token_id AND d.day < '10000-01-01'),
        t.first_day),
    last_at = coalesce((SELECT max(last_at) FROM token_days d WHERE d.token_id = t.token_id AND d.day < '10000-01-01'),
        t.last_at)
FROM sums s WHERE s.token_id = t.token_id;
DELETE FROM token_totals WHERE settlements = 0;
WITH gone AS (
    DELETE FROM payee_days WHERE day >= '10000-01-01' RETURNING payee_id, token_id, settlements, amount
), sums AS (
    SELECT payee_id, token_id, sum(settlements) AS settlements, sum(amount) AS amount FROM gone
    GROUP BY payee_id, token_id
)
UPDATE payee_totals t SET settlements = t.settlements - s.settlements, amount = t.amount - s.amount,
    first_at = coalesce((SELECT min(first_at) FROM payee_days d WHERE d.payee_id = t.payee_id
        AND d.token_id = t.token_id AND d.day < '10000-01-01'), t.first_at),
    last_at = coalesce((SELECT max(last_at) FROM payee_days d WHERE d.payee_id = t.payee_id
        AND d.token_id = t.token_id AND d.day < '10000-01-01'), t.last_at)
FROM sums s WHERE s.payee_id = t.payee_id AND s.token_id = t.token_id;
DELETE FROM payee_totals WHERE settlements = 0;
UPDATE chains SET head_at = now() WHERE head_at >= '10000-01-01Z';
UPDATE scans SET since = now() WHERE since >= '10000-01-01Z';
UPDATE ranges SET at = now() WHERE at >= '10000-01-01Z';
UPDATE walks SET newest_at = CASE WHEN newest_at >= '10000-01-01Z' THEN now() ELSE newest_at END,
    through = CASE WHEN through >= '10000-01-01Z' THEN now() ELSE through END,
    history_start = CASE WHEN history_start >= '10000-01-01Z' THEN now() ELSE history_start END
WHERE greatest(newest_at, through, history_start) >= '10000-01-01Z';

-- How many of the resources that the source listed an answer lacks; null for pulls before this column.
ALTER TABLE source_pulls ADD missing integer;

---- create above / drop below ----
ALTER TABLE source_pulls DROP missing;
