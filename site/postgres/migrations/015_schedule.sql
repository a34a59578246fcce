-- What processes share who work on one directory: when each host may be asked next, and when each step was last done.
-- Jobs lie in the tables of River, which it migrates itself.

CREATE TABLE hosts (
    host        text PRIMARY KEY,       -- name and port
    next_at     timestamptz NOT NULL,   -- not asked before: the end of the last request and the gap
    regained_at timestamptz NOT NULL,   -- when all of the hour's allowance that was used is regained
    held_by     uuid,                   -- process that asks now
    held_until  timestamptz NOT NULL    -- it is believed dead after this
) WITH (fillfactor = 50);               -- a row changes with each request, and no index does

CREATE TABLE steps (
    name       text PRIMARY KEY,        -- build, publish, index-eip155-8453
    every      interval NOT NULL,       -- from one begin to the next
    follows    text NOT NULL,           -- step that must have ended since this one began; '' for none
    offered_at timestamptz NOT NULL,    -- by a process that can do it; one that nobody offers is not due
    began_at   timestamptz,             -- of the last run that succeeded
    ended_at   timestamptz
);
---- create above / drop below ----
DROP TABLE steps, hosts;
