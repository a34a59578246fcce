-- What changes slowly: the documents of a service's site, looked at once a day, and who registered its domain, asked once
-- a week. Null is not known, everywhere.
CREATE TABLE site_facts (
    service_id bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_at    timestamptz NOT NULL,    -- of the next look; a look under way has put it off by its lease
    checked_at timestamptz,             -- of the last look that saw anything
    homepage   boolean,
    openapi    boolean,
    pricing    boolean,
    llms_txt   boolean,
    robots     boolean,
    terms      boolean,
    domain     text                     -- registrable domain of the base address, null where it has none
);

CREATE INDEX site_facts_due ON site_facts (next_at);
CREATE INDEX site_facts_domain ON site_facts (domain);

CREATE TABLE domain_facts (
    domain     text PRIMARY KEY,
    next_at    timestamptz,             -- null for what no registry is asked about
    suffix     text,                    -- private suffix that the name was given out below
    checked_at timestamptz,             -- of the last answer
    registrar  text,
    created_at timestamptz
);

CREATE INDEX domain_facts_due ON domain_facts (next_at);

-- robots.txt as origins answered, so that none is asked more than once a day, whoever crawls.
CREATE TABLE robots (
    origin     text PRIMARY KEY,
    fetched_at timestamptz NOT NULL,
    state      text NOT NULL,           -- document, none, unknown
    body       bytea NOT NULL
);

-- IANA's list of RDAP servers, as received.
CREATE TABLE rdap_bootstrap (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    fetched_at timestamptz NOT NULL,
    body       bytea NOT NULL
);
---- create above / drop below ----
DROP TABLE rdap_bootstrap, robots, domain_facts, site_facts;
