-- What stands behind every verdict. The newest answer with an envelope is in envelopes; here are the answers that came
-- after it and brought none: the last conclusive one, which is the verdict's, and the last inconclusive one after that.
-- Services that are paid, which are most, have no row here.
CREATE TABLE answers (
    endpoint_id  uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    conclusive   boolean NOT NULL,
    received_at  timestamptz NOT NULL,  -- or given up
    method       text NOT NULL,
    url          text NOT NULL,
    status_code  integer,               -- null when none came
    header       jsonb NOT NULL,        -- name -> values, of the names that may be published
    body         bytea NOT NULL,        -- its first 16 KiB
    truncated    boolean NOT NULL,
    tls_verified boolean NOT NULL,
    exchange     jsonb NOT NULL,        -- class, reason, the request as it was sent, redirects, times
    sha256       bytea NOT NULL,        -- of status, header and body: an equal answer is not written again
    PRIMARY KEY (endpoint_id, conclusive)
);

ALTER TABLE envelopes ADD COLUMN exchange jsonb NOT NULL DEFAULT '{}'; -- as above
---- create above / drop below ----
ALTER TABLE envelopes DROP COLUMN exchange;
DROP TABLE answers;
