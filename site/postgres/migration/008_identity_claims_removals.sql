-- For operators:
-- - The data folder and each snapshot name the database that they belong to. A build of another database is refused.

-- Identity of the database.
CREATE TABLE identity (
    one boolean PRIMARY KEY DEFAULT true CHECK (one),
    id  uuid NOT NULL DEFAULT gen_random_uuid() -- never changes; a restored dump has the same one
);
INSERT INTO identity DEFAULT VALUES;

-- Claims of recipients.

-- Limits of what one service may store.

-- Removed services.

---- create above / drop below ----

DROP TABLE identity;
