-- For readers who recompute figures: why a visit does not count, and the responses behind head_free, site
-- documents and domains. They are null for what was recorded before.
ALTER TABLE checks
    ADD uncounted_reason text CHECK (uncounted_reason IS NULL OR NOT counted); -- class of its first response
ALTER TABLE endpoints
    ADD head_url text,                  -- of the HEAD request that decided head_free
    ADD head_status integer;            -- of its response
ALTER TABLE site_facts
    ADD answers jsonb;                  -- to the requests of that reading: URL, status, media type, reason
ALTER TABLE domain_facts
    ADD url text,                       -- at which the registry was asked; null without a known registry
    ADD registered boolean;             -- whether the registry knows the domain

-- The amount of an issued currency of the XRP Ledger is its value, which may have decimals.
ALTER TABLE prices DROP CONSTRAINT prices_amount_check, ADD CONSTRAINT prices_amount_check CHECK (amount >= 0);
---- create above / drop below ----
ALTER TABLE prices
    DROP CONSTRAINT prices_amount_check,
    ADD CONSTRAINT prices_amount_check CHECK (amount >= 0 AND scale(amount) = 0) NOT VALID;
ALTER TABLE domain_facts DROP url, DROP registered;
ALTER TABLE site_facts DROP answers;
ALTER TABLE endpoints DROP head_url, DROP head_status;
ALTER TABLE checks DROP uncounted_reason;
