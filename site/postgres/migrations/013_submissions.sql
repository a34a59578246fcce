-- What owners send to be listed, what the probe of it found, and what was decided. Nothing here is ever published but
-- what is approved.
CREATE TABLE submissions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,        -- keyed hash of who sent it, only ever counted
    idempotency_key text,
    content_hash bytea NOT NULL,        -- of all that was sent, to know a repetition by
    url          text NOT NULL,         -- in the form of services.base_url
    domain       text NOT NULL,         -- registrable domain of url
    email        text NOT NULL,
    service_name text NOT NULL,
    description  text NOT NULL,
    website_url  text NOT NULL,
    category     text NOT NULL,
    endpoints    text[] NOT NULL,       -- '/x' or 'POST /x'
    notes        text NOT NULL,

    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected')),
    decided_at   timestamptz CHECK ((decided_at IS NULL) = (state = 'pending')),
    reason       text CHECK ((reason IS NOT NULL) = (state = 'rejected')),
    service_id   bigint REFERENCES services ON DELETE CASCADE, -- erasing the service erases what its owner sent

    probe_due_at timestamptz,           -- when it is to be probed; put off while somebody does; null once it was
    probe_result jsonb
);

CREATE UNIQUE INDEX submissions_pending ON submissions (split_part(url, '://', 2)) WHERE state = 'pending';
CREATE UNIQUE INDEX submissions_key ON submissions (client, idempotency_key);
CREATE INDEX submissions_of_client ON submissions (client, received_at);
CREATE INDEX submissions_of_domain ON submissions (domain) WHERE state = 'pending';
CREATE INDEX submissions_probe_due ON submissions (probe_due_at) WHERE probe_due_at IS NOT NULL;
CREATE INDEX submissions_of_service ON submissions (service_id);
CREATE INDEX services_address ON services (split_part(base_url, '://', 2));

-- Probes of submissions in the last hour, by the domain that was asked.
CREATE TABLE submission_probes (
    domain   text NOT NULL,
    began_at timestamptz NOT NULL
);

CREATE INDEX submission_probes_of_domain ON submission_probes (domain, began_at);

-- Who did what when.
CREATE TABLE audit (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL,
    actor  text NOT NULL,               -- an operator's name
    action text NOT NULL,               -- approve, reject, verify
    submission_id uuid REFERENCES submissions ON DELETE CASCADE,
    service_id bigint REFERENCES services ON DELETE CASCADE,
    detail text NOT NULL
);

CREATE INDEX audit_of_submission ON audit (submission_id);
CREATE INDEX audit_of_service ON audit (service_id);

-- What an owner puts at /.well-known/tollbook to prove that the service is his; null before it was asked for.
ALTER TABLE services ADD COLUMN ownership_token text;

---- create above / drop below ----

ALTER TABLE services DROP COLUMN ownership_token;
DROP TABLE audit;
DROP TABLE submission_probes;
DROP INDEX services_address;
DROP TABLE submissions;
