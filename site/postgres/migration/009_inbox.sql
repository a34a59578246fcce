-- For operators:
-- - Submissions, suggestions and requests for re-checks move to one table. All keep their ids, times and decisions.
-- - Who decided about a submission is stored with it, too.

-- What strangers send, of every kind. Submissions and suggestions stay; requests for re-checks are deleted after a day.
-- Only approved submissions are published.
CREATE TABLE inbox (
    id           uuid PRIMARY KEY DEFAULT gen_random_uuid(),
    kind         text NOT NULL CHECK (kind IN ('submission', 'suggestion', 'recheck')),
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,           -- keyed hash of the sender's address, which limits count; '' if unknown
    idempotency_key text,
    content_hash bytea NOT NULL DEFAULT '', -- of the whole body, to recognise a repetition
    body         jsonb NOT NULL DEFAULT '{}', -- what was sent, in the form of the API; {} for a re-check
    domain       text NOT NULL DEFAULT '', -- registrable domain of a submission's URL
    service_id   bigint REFERENCES services ON DELETE CASCADE, -- that was listed for a submission, or is to be checked
                                           -- again; erasing a service erases both

    state        text NOT NULL CHECK (CASE kind WHEN 'submission' THEN state IN ('pending', 'approved', 'rejected')
        WHEN 'suggestion' THEN state IN ('open', 'closed') ELSE state = 'closed' END),
    decided_at   timestamptz CHECK ((decided_at IS NULL) = (state IN ('pending', 'open'))),
    decided_by   text NOT NULL DEFAULT '', -- who decided; '' before, and for a re-check, which nobody decides
    reason       text CHECK ((reason IS NOT NULL) = (state = 'rejected')),
    notified_at  timestamptz,              -- null if the operator's command has not run since

    probe_due_at timestamptz,              -- of a submission's next probe, or the end of a lease; null after the probe
    probe_result jsonb,
    probe_grade  text                      -- A, B, C, D or F; null without a response to grade
);

INSERT INTO inbox (id, kind, received_at, client, idempotency_key, content_hash, body, domain, service_id, state,
    decided_at, decided_by, reason, notified_at, probe_due_at, probe_result, probe_grade)
SELECT id, 'submission', received_at, client, idempotency_key, content_hash, jsonb_build_object('url', url, 'email',
        email, 'service_name', service_name, 'description', description, 'website_url', website_url, 'category',
        category, 'endpoints', to_jsonb(endpoints), 'notes', notes), domain, service_id, state, decided_at,
    coalesce((SELECT actor FROM audit WHERE submission_id = submissions.id ORDER BY audit.id LIMIT 1), ''),
    reason, notified_at, probe_due_at, probe_result, probe_grade
FROM submissions;

INSERT INTO inbox (id, kind, received_at, client, idempotency_key, content_hash, body, state, decided_at, decided_by,
    notified_at)
SELECT id, 'suggestion', received_at, client, idempotency_key, content_hash,
    jsonb_build_object('text', text, 'category', category, 'email', email),
    CASE WHEN closed_at IS NULL THEN 'open' ELSE 'closed' END, closed_at, coalesce(closed_by, ''), notified_at
FROM suggestions;

INSERT INTO inbox (kind, received_at, client, service_id, state, decided_at)
SELECT 'recheck', requested_at, client, service_id, 'closed', requested_at FROM rechecks;

ALTER TABLE audit DROP CONSTRAINT audit_submission_id_fkey;
ALTER TABLE audit ADD CONSTRAINT audit_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES inbox
    ON DELETE CASCADE;
DROP TABLE submissions, suggestions, rechecks;

CREATE UNIQUE INDEX inbox_pending ON inbox (split_part(body->>'url', '://', 2)) WHERE state = 'pending';
CREATE UNIQUE INDEX inbox_key ON inbox (kind, client, idempotency_key);
CREATE INDEX inbox_of_client ON inbox (kind, client, received_at);
CREATE INDEX inbox_of_domain ON inbox (domain) WHERE state = 'pending';
CREATE INDEX inbox_of_service ON inbox (service_id, received_at);
CREATE INDEX inbox_text ON inbox (md5(body->>'text'), received_at) WHERE kind = 'suggestion';
CREATE INDEX inbox_undecided ON inbox (kind, received_at) WHERE decided_at IS NULL;
CREATE INDEX inbox_rechecks ON inbox (received_at) WHERE kind = 'recheck';
CREATE INDEX inbox_probe_due ON inbox (probe_due_at) WHERE probe_due_at IS NOT NULL;

---- create above / drop below ----

CREATE TABLE submissions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,
    idempotency_key text,
    content_hash bytea NOT NULL,
    url          text NOT NULL,
    domain       text NOT NULL,
    email        text NOT NULL,
    service_name text NOT NULL,
    description  text NOT NULL,
    website_url  text NOT NULL,
    category     text NOT NULL,
    endpoints    text[] NOT NULL,
    notes        text NOT NULL,
    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected')),
    decided_at   timestamptz CHECK ((decided_at IS NULL) = (state = 'pending')),
    reason       text CHECK ((reason IS NOT NULL) = (state = 'rejected')),
    service_id   bigint REFERENCES services ON DELETE CASCADE,
    probe_due_at timestamptz,
    probe_result jsonb,
    notified_at  timestamptz,
    probe_grade  text
);
INSERT INTO submissions
SELECT id, received_at, client, idempotency_key, content_hash, body->>'url', domain, body->>'email',
    body->>'service_name', body->>'description', body->>'website_url', body->>'category',
    ARRAY(SELECT jsonb_array_elements_text(body->'endpoints')), coalesce(body->>'notes', ''), state, decided_at, reason,
    service_id, probe_due_at, probe_result, notified_at, probe_grade
FROM inbox WHERE kind = 'submission';
CREATE UNIQUE INDEX submissions_pending ON submissions (split_part(url, '://', 2)) WHERE state = 'pending';
CREATE UNIQUE INDEX submissions_key ON submissions (client, idempotency_key);
CREATE INDEX submissions_of_client ON submissions (client, received_at);
CREATE INDEX submissions_of_domain ON submissions (domain) WHERE state = 'pending';
CREATE INDEX submissions_probe_due ON submissions (probe_due_at) WHERE probe_due_at IS NOT NULL;
CREATE INDEX submissions_of_service ON submissions (service_id);

CREATE TABLE suggestions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,
    idempotency_key text,
    content_hash bytea NOT NULL,
    text         text NOT NULL CHECK (text <> ''),
    category     text NOT NULL,
    email        text NOT NULL,
    closed_at    timestamptz,
    closed_by    text CHECK ((closed_by IS NULL) = (closed_at IS NULL)),
    notified_at  timestamptz
);
INSERT INTO suggestions
SELECT id, received_at, client, idempotency_key, content_hash, body->>'text', body->>'category',
    coalesce(body->>'email', ''), decided_at, CASE WHEN decided_at IS NOT NULL THEN decided_by END, notified_at
FROM inbox WHERE kind = 'suggestion';
CREATE UNIQUE INDEX suggestions_key ON suggestions (client, idempotency_key);
CREATE INDEX suggestions_of_client ON suggestions (client, received_at);
CREATE INDEX suggestions_open ON suggestions (received_at) WHERE closed_at IS NULL;
CREATE INDEX suggestions_text ON suggestions (md5(text), received_at);

CREATE TABLE rechecks (
    service_id   bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    requested_at timestamptz NOT NULL,
    client       bytea NOT NULL,
    PRIMARY KEY (service_id, requested_at)
);
INSERT INTO rechecks SELECT service_id, received_at, client FROM inbox WHERE kind = 'recheck';
CREATE INDEX rechecks_of_client ON rechecks (client, requested_at);
CREATE INDEX rechecks_old ON rechecks (requested_at);

ALTER TABLE audit DROP CONSTRAINT audit_submission_id_fkey;
ALTER TABLE audit ADD CONSTRAINT audit_submission_id_fkey FOREIGN KEY (submission_id) REFERENCES submissions
    ON DELETE CASCADE;
DROP TABLE inbox;
