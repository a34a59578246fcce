-- For operators:
-- - A service's revenue begins on the day on which it was first seen to name its recipient, and an account that several
--   operators name belongs to the one that named it first. Revenue that was counted otherwise, also of past days,
--   changes with the next build. The migration reads every stored price once.
-- - A service that "services remove" erases stays removed: no file, source, catalogue or submission lists it again, until
--   "services allow" permits it. The next build and publication delete the earlier snapshots that contain it. Of a service
--   that was removed before this version only the slug is known: they delete all earlier snapshots once "services remove"
--   is run again with the slug, and only a file that names the slug is refused.

-- Identity of the database.

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

DROP TABLE recipient_claims;
ALTER TABLE removed_services DROP addresses, DROP actor, DROP reason, DROP listed_at, DROP clean_snapshot,
    DROP drop_snapshots, DROP allowed_at, DROP allowed_by;

