-- For operators:
-- - The data folder and each snapshot name the database that they belong to. A build of another database is refused.
-- - A service's revenue begins on the day on which it was first seen to name its recipient, and an account that several
--   operators name belongs to the one that named it first. Revenue that was counted otherwise, also of past days,
--   changes with the next build. The migration reads every stored price once.
-- - A service that "services remove" erases stays removed: no file, source, catalogue or submission lists it again, until
--   "services allow" permits it. The next build and publication delete the earlier snapshots that contain it. Of a service
--   that was removed before this version only the slug is known: they delete all earlier snapshots once "services remove"
--   is run again with the slug, and only a file that names the slug is refused.
-- - Endpoints that only a public source lists count once they asked for payment, and give way to those of the owner.
-- - A source that replaces more than half of its list is held back. It adds one change record per service and pull.
-- - Settlements that nodes dated after the year 9999 are deleted, because no build can publish them.
-- - Change records of more than 64 KiB as they are stored are shortened, also those that are stored already. Published
--   packs keep them.
-- - A service has at most 50,000 former prices, and 16 MiB of them. The oldest of a service that has more are deleted.

-- Identity of the database.
CREATE TABLE identity (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id  uuid NOT NULL DEFAULT gen_random_uuid() -- never changes; a restored dump has the same one
);
INSERT INTO identity DEFAULT VALUES;

-- Claims of recipients.

-- When a service was first seen to name a recipient, in a price or in an offer over another protocol. A row outlives the
-- prices that it was made from; it is deleted when nothing of 90 days names the recipient.
CREATE TABLE recipient_claims (
    service_id    bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    network_caip2 text NOT NULL CHECK (octet_length(network_caip2) <= 1024),
    pay_to        text NOT NULL CHECK (octet_length(pay_to) <= 1024), -- as received
    first_seen_at timestamptz NOT NULL,
    PRIMARY KEY (service_id, network_caip2, pay_to)
);

INSERT INTO recipient_claims (service_id, network_caip2, pay_to, first_seen_at)
SELECT e.service_id, c.network_caip2, c.pay_to, min(c.since)
FROM (
    SELECT endpoint_id, network_caip2, pay_to, since FROM prices
    UNION ALL
    SELECT endpoint_id, o->>'network_caip2', o->>'pay_to', since
    FROM offer_sets, jsonb_array_elements(CASE jsonb_typeof(offers) WHEN 'array' THEN offers ELSE '[]' END) AS o
) AS c JOIN endpoints e ON e.id = c.endpoint_id
WHERE c.network_caip2 <> '' AND c.pay_to <> '' AND octet_length(c.network_caip2) <= 1024
    AND octet_length(c.pay_to) <= 1024
GROUP BY 1, 2, 3;

-- Limits of what one service may store.

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

-- Change records of services that changed thousands of prices at a time have megabytes, and builds read them again and
-- again. They lose their snapshots and all but the first differences, as records of today do.
UPDATE changes SET old_snapshot = '[]', new_snapshot = '[]', summary = (
    SELECT coalesce(jsonb_object_agg(key,
            CASE jsonb_typeof(value) WHEN 'array' THEN jsonb_path_query_array(value, '$[0 to 2]') ELSE value END),
            '{}') ||
        jsonb_build_object('omitted', jsonb_build_object('entries',
            CASE jsonb_typeof(old_snapshot) WHEN 'array' THEN jsonb_array_length(old_snapshot) ELSE 0 END +
            CASE jsonb_typeof(new_snapshot) WHEN 'array' THEN jsonb_array_length(new_snapshot) ELSE 0 END,
            'differences', coalesce(sum(CASE WHEN jsonb_typeof(value) = 'array' AND key NOT IN ('payToAdded',
                'payToRemoved') THEN greatest(jsonb_array_length(value) - 3, 0) END), 0)))
    FROM jsonb_each(CASE jsonb_typeof(summary) WHEN 'object' THEN summary ELSE '{}' END))
WHERE type IN ('schema_changed', 'price_changed', 'payto_changed')
    AND pg_column_size(summary) + pg_column_size(old_snapshot) + pg_column_size(new_snapshot) > 65536;

-- Sources.

-- How many of the resources that the source listed an answer lacks; null for pulls before this column.
ALTER TABLE source_pulls ADD missing integer;

-- Removed services.

ALTER TABLE removed_services
    ADD addresses      text[] NOT NULL DEFAULT '{}', -- that nothing is listed at: hosts with their path, in normal form
    ADD actor          text NOT NULL DEFAULT '',     -- who removed the service, '' if a version before this did
    ADD reason         text NOT NULL DEFAULT '',
    ADD listed_at      timestamptz,                  -- no earlier snapshot contains the service; null if that is unknown
    ADD clean_snapshot text NOT NULL DEFAULT '',     -- first snapshot without the service, '' before it is built
    ADD drop_snapshots boolean NOT NULL DEFAULT false, -- whether earlier snapshots that may contain it are deleted
    ADD allowed_at     timestamptz,                  -- when somebody permitted it to be listed again, null if nobody did
    ADD allowed_by     text;

---- create above / drop below ----

ALTER TABLE source_pulls DROP missing;
DROP TABLE recipient_claims;
ALTER TABLE removed_services DROP addresses, DROP actor, DROP reason, DROP listed_at, DROP clean_snapshot,
    DROP drop_snapshots, DROP allowed_at, DROP allowed_by;
DROP TABLE identity;
