-- For operators:
-- - Terms that services show to signed requests are marked. They are not compared with those that they show to others.
-- - Whether the recipients of listed services can receive is stored, where a node of their network is configured.
-- - What services answer to a browser is stored, for hints to their owners.

-- Whether an endpoint asks a browser, or a request by its other method, for the same payment as an agent. Null until a
-- visit has looked.
ALTER TABLE endpoints
    ADD looked_at timestamptz,          -- the last such look
    ADD readers jsonb;                  -- what each reader was asked for then; the agent is the first

ALTER TABLE endpoints
    ADD signed boolean NOT NULL DEFAULT false; -- whether the request of the latest conclusive response was signed
ALTER TABLE prices
    ADD signed boolean NOT NULL DEFAULT false; -- whether the request that found them was signed
ALTER TABLE offer_sets
    ADD signed boolean NOT NULL DEFAULT false; -- as prices.signed

-- What the nodes of a network answered to whether a recipient of a listed service can receive an asset. A row that no
-- current price names is deleted.
CREATE TABLE recipient_checks (
    network_caip2 text NOT NULL CHECK (octet_length(network_caip2) <= 1024),
    asset         text NOT NULL CHECK (octet_length(asset) <= 1024),  -- in normal form; of an issued currency of the
                                          -- XRP Ledger with its issuer, "524C…00.rMx…"
    pay_to        text NOT NULL CHECK (octet_length(pay_to) <= 1024), -- in normal form
    can_receive   boolean,                -- null if the nodes did not answer, or contradict each other
    reason        text NOT NULL,          -- code; '' if the recipient can receive
    checked_at    timestamptz NOT NULL,
    PRIMARY KEY (network_caip2, asset, pay_to)
);

ALTER TABLE site_facts
    ADD browser jsonb; -- answers to OPTIONS and to a request with an Origin, with the endpoint; null before the first
---- create above / drop below ----
ALTER TABLE site_facts DROP browser;
DROP TABLE recipient_checks;
ALTER TABLE offer_sets DROP signed;
ALTER TABLE prices DROP signed;
ALTER TABLE endpoints DROP signed;
ALTER TABLE endpoints DROP looked_at, DROP readers;
