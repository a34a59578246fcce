-- What is listed, what was seen of it, and what it asks to be paid. Facts only: every judgment is the builder's.

CREATE TABLE services (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text NOT NULL UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,78}[a-z0-9])?$'),
    name        text NOT NULL,
    description text NOT NULL,
    base_url    text NOT NULL,
    website_url text,
    category    text NOT NULL,
    source      text NOT NULL,          -- 'submitted' or 'imported:<origin>'
    created_at  timestamptz NOT NULL,
    verified_at timestamptz,            -- last proof of control, or the operator's word

    check_interval       interval NOT NULL DEFAULT '15 minutes',
    next_check_at        timestamptz NOT NULL,
    last_checked_at      timestamptz,   -- last visit, inconclusive ones too
    last_status          text,          -- of the last conclusive visit: online, degraded, offline
    last_success_at      timestamptz,   -- last usable 402
    consecutive_failures integer NOT NULL DEFAULT 0,  -- conclusive offline visits in a row
    failing_since        timestamptz    -- first of them
);

CREATE INDEX services_due ON services (next_check_at);
CREATE UNIQUE INDEX services_base_url ON services (base_url);

CREATE TABLE endpoints (
    id            uuid PRIMARY KEY,
    service_id    bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    method        text NOT NULL,        -- as declared, else the one that answered; '' while unknown
    method_declared boolean NOT NULL,
    path          text NOT NULL,
    description   text,
    mime_type     text,
    origin        text NOT NULL,        -- who told of it: import, submission, sample
    first_seen_at timestamptz NOT NULL,
    last_paid_at  timestamptz,          -- last usable 402
    last_probed_at timestamptz,
    verdict       text,                 -- latest conclusive answer: paid, broken, open, failed
    verdict_at    timestamptz,
    class         text,                 -- of the latest answer, conclusive or not
    reason        text,
    response_time_ms integer,
    fingerprint   text,                 -- of the current requirement set
    UNIQUE (service_id, path, method)
);

-- The newest answer that held an envelope, as received; compliance is judged from it.
CREATE TABLE envelopes (
    endpoint_id  uuid PRIMARY KEY REFERENCES endpoints ON DELETE CASCADE,
    received_at  timestamptz NOT NULL,
    method       text NOT NULL,
    url          text NOT NULL,
    status_code  integer NOT NULL,
    header       jsonb NOT NULL,        -- name -> values, cookies left out
    body         bytea NOT NULL,
    truncated    boolean NOT NULL,
    tls_verified boolean NOT NULL,
    sha256       bytea NOT NULL         -- of status, payment headers and body: an equal answer is not written again
);

-- Every way to pay that was ever asked, while it was asked; until is null for the current ones.
CREATE TABLE prices (
    endpoint_id   uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    since         timestamptz NOT NULL,
    position      integer NOT NULL,     -- row of accepts
    until         timestamptz,
    scheme        text NOT NULL,
    network       text NOT NULL,        -- as received
    network_caip2 text,
    asset         text NOT NULL,
    pay_to        text NOT NULL,
    amount        numeric NOT NULL CHECK (amount >= 0 AND scale(amount) = 0), -- atomic units
    max_timeout_seconds integer,
    extra         text,                 -- JSON as received
    x402_version  integer NOT NULL,
    PRIMARY KEY (endpoint_id, since, position)
);

CREATE INDEX prices_current ON prices (endpoint_id) WHERE until IS NULL;

CREATE TABLE changes (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    service_id   bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    type         text NOT NULL,         -- schema_changed, price_changed, payto_changed
    observed_at  timestamptz NOT NULL,
    summary      jsonb NOT NULL,
    old_snapshot jsonb NOT NULL,
    new_snapshot jsonb NOT NULL
);

CREATE INDEX changes_of_service ON changes (service_id, observed_at);

-- A word that the directory keeps about itself: whether its data is a sample, since when it runs.
CREATE TABLE settings (
    name  text PRIMARY KEY,
    value text NOT NULL
);
---- create above / drop below ----
DROP TABLE settings, changes, prices, envelopes, endpoints, services;
