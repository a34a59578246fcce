-- What services answer to a browser is stored, for hints to their owners. Nothing else changes.

ALTER TABLE site_facts
    ADD browser jsonb; -- answers to OPTIONS and to a request with an Origin, with the endpoint; null before the first
---- create above / drop below ----
ALTER TABLE site_facts DROP browser;
