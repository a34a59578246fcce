-- For operators:
-- - `tollbook checks void` takes the checks of a bad night out of all judgments, and coverage says so.

-- Times whose checks count in no judgment, because the directory itself was at fault. Such a check has the
-- uncounted_reason 'void' while a void that was not lifted covers it.
CREATE TABLE voids (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    change_id bigint NOT NULL UNIQUE,   -- of the last change, from the sequence of removed_services.id: a checkpoint
                                        -- names the last one that its packs respect
    starts_at timestamptz NOT NULL CHECK (starts_at >= '1970-01-01'),
    ends_at   timestamptz NOT NULL CHECK (ends_at > starts_at AND ends_at < '9999-12-31'), -- excluded
    voided_at timestamptz NOT NULL CHECK (voided_at >= '1970-01-01' AND voided_at < '9999-12-31'),
    actor     text NOT NULL,            -- who of the operator decided
    reason    text NOT NULL CHECK (char_length(reason) <= 2000), -- published
    checks    integer NOT NULL,         -- that counted before
    services  integer NOT NULL,         -- whose checks they are
    lifted_at timestamptz               -- when the checks counted again; null if they do not
        CHECK (lifted_at >= '1970-01-01' AND lifted_at < '9999-12-31'),
    lifted_by text
);
---- create above / drop below ----
UPDATE checks SET uncounted_reason = NULL WHERE uncounted_reason = 'void';
DROP TABLE voids;
