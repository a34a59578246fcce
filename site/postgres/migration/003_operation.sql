-- For operators:
-- - The version of the program that migrated the database is stored beside that of the schema.
-- - Submissions get the moment at which your command of [submissions] notify was told of them, and the grade
--   of their probe.
-- - Services get a state: listed, paused, hidden or retired. All are listed.

-- `tollbook migrate --plan` prints the comment above, up to the empty line. Name there what this migration does.
ALTER TABLE tollbook_schema ADD program text; -- version of the Tollbook that migrated the database to this schema

ALTER TABLE submissions
    ADD notified_at timestamptz,        -- null if the operator's command has not run since, and for all earlier ones
    ADD probe_grade text;               -- A, B, C, D or F; null without a response to grade

-- The one row says when the operator's command on new submissions may run next, for all processes of a directory.
CREATE TABLE submission_notifier (
    only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
    due_at   timestamptz NOT NULL,      -- of the next run; while the command runs, the end of its lease
    failures integer NOT NULL           -- runs that failed since the last one that succeeded
);
INSERT INTO submission_notifier (due_at, failures) VALUES ('epoch', 0);

-- Paused: not visited, published with its last facts. Hidden: neither visited nor published. Retired: not visited,
-- published as delisted. Adding the columns rewrites nothing.
ALTER TABLE services
    ADD listing_state text NOT NULL DEFAULT 'listed' CHECK (listing_state IN ('listed', 'paused', 'hidden', 'retired')),
    ADD listing_state_at timestamptz,          -- when the state changed last; null if it never did
    ADD pruned boolean NOT NULL DEFAULT false; -- retired because a file no longer names it
---- create above / drop below ----
ALTER TABLE services DROP listing_state, DROP listing_state_at, DROP pruned;
DROP TABLE submission_notifier;
ALTER TABLE submissions DROP notified_at, DROP probe_grade;
ALTER TABLE tollbook_schema DROP program;
