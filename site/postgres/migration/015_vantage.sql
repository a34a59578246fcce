-- For operators:
-- - Workers in several places may share the database. Each check says where it was made. What one place alone finds is
--   asked of the others before it counts.

ALTER TABLE checks ADD vantage text; -- name of the place that made it; null for the place without a name

-- Places that visit services.
CREATE TABLE vantages (
    name    text PRIMARY KEY,   -- '' for the place without a name
    seen_at timestamptz NOT NULL -- when a worker there last asked what is due
        CHECK (seen_at >= '1970-01-01' AND seen_at < '9999-12-31')
);

ALTER TABLE service_states
    ADD asked_at    timestamptz, -- when one place found what others did not, so that they are asked; null without a question
    ADD asked_until timestamptz, -- only asked_of may visit the service until then
    ADD asked_of    jsonb;       -- names of the places that have not visited it since asked_at, as a list

-- What each place found last, where several visit.
CREATE TABLE place_findings (
    service_id bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    vantage    text NOT NULL,
    checked_at timestamptz NOT NULL CHECK (checked_at >= '1970-01-01' AND checked_at < '9999-12-31'),
                                     -- of its last conclusive visit
    is_up      boolean NOT NULL,     -- what that visit found, whether it counted or not
    reason     text,                 -- checks.error_message of that visit
    PRIMARY KEY (service_id, vantage)
);
CREATE TABLE place_terms (
    endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    vantage     text NOT NULL,
    fingerprint text NOT NULL,        -- of all terms, and of whether the request was signed
    signed      boolean NOT NULL,     -- whether the request was signed
    terms       jsonb NOT NULL,       -- recipient, network, asset and amount of each way to pay, the first few
    first_at    timestamptz NOT NULL CHECK (first_at >= '1970-01-01' AND first_at < '9999-12-31'),
                                      -- when the place was first asked these, since others
    last_at     timestamptz NOT NULL CHECK (last_at >= '1970-01-01' AND last_at < '9999-12-31'), -- when it was last asked these
    times       integer NOT NULL CHECK (times > 0), -- how often in a row
    PRIMARY KEY (endpoint_id, vantage)
);

---- create above / drop below ----

DROP TABLE place_terms, place_findings, vantages;
ALTER TABLE service_states DROP asked_at, DROP asked_until, DROP asked_of;
ALTER TABLE checks DROP vantage;
