-- For operators:
-- - A service that "services remove" erases stays removed: no file, source, catalogue or submission lists it again, until
--   "services allow" permits it. The next build and publication delete the earlier snapshots that contain it. Of a service
--   that was removed before this version only the slug is known: they delete all earlier snapshots once "services remove"
--   is run again with the slug, and only a file that names the slug is refused.

-- Identity of the database.

-- Claims of recipients.

-- Limits of what one service may store.

-- Removed services.

ALTER TABLE removed_services
    ADD addresses      text[] NOT NULL DEFAULT '{}', -- that nothing is listed at: hosts with their path, in normal form
    ADD actor          text NOT NULL DEFAULT '',     -- who removed the service, '' if a version before this did
    ADD reason         text NOT NULL DEFAULT '',
    ADD listed_at      timestamptz,                  -- no earlier snapshot contains the service; null if that is unknown
    ADD clean_snapshot text NOT NULL DEFAULT '',     -- first snapshot without the service, '' before it is built
    ADD drop_snapshots boolean NOT NULL DEFAULT false, -- whether earlier snapshots that may contain it are deleted
    ADD allowed_at     timestamptz,                  -- when somebody permitted it to be listed again, null if nobody did
    ADD allowed_by     text;

---- create above / drop below ----

ALTER TABLE removed_services DROP addresses, DROP actor, DROP reason, DROP listed_at, DROP clean_snapshot,
    DROP drop_snapshots, DROP allowed_at, DROP allowed_by;

