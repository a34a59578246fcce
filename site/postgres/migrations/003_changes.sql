-- Change records are numbered in logs of their own, as checks are: one for all services and one for each, of all types
-- and of each type. They never leave, and a number must not depend on who is still listed.

ALTER TABLE changes DROP CONSTRAINT changes_service_id_fkey;
ALTER TABLE changes ADD COLUMN number bigint UNIQUE; -- in the log of all; null until its hour is sealed

CREATE INDEX changes_open ON changes (observed_at) WHERE number IS NULL;

CREATE TABLE change_log (
    service_id bigint NOT NULL,         -- 0 for all services
    type       text NOT NULL,           -- '' for all types
    number     bigint NOT NULL,
    change_id  bigint NOT NULL REFERENCES changes,
    PRIMARY KEY (service_id, type, number)
);

CREATE TABLE change_positions (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    rows       bigint NOT NULL,         -- in sealed hours, ever: the number of the first row after them
    PRIMARY KEY (service_id, type)
);

CREATE TABLE change_blocks (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    block      bigint NOT NULL,
    hour       timestamptz NOT NULL,    -- whose pack holds it
    PRIMARY KEY (service_id, type, block)
);

CREATE INDEX change_blocks_hour ON change_blocks (hour);

CREATE TABLE change_days (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    day        date NOT NULL,           -- a UTC day with rows
    first      bigint NOT NULL,         -- number of its first row
    PRIMARY KEY (service_id, type, day)
);

-- While a type is marked, its next record compares what is asked with what was asked at `through`: that is how what
-- changes within an hour of a record is folded into the next.
CREATE TABLE change_marks (
    service_id bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    type       text NOT NULL,
    through    timestamptz NOT NULL,    -- what was asked then is told
    PRIMARY KEY (service_id, type)
);
---- create above / drop below ----
DROP TABLE change_marks, change_days, change_blocks, change_positions, change_log;
ALTER TABLE changes DROP COLUMN number;
DELETE FROM changes WHERE NOT EXISTS (SELECT FROM services WHERE services.id = changes.service_id);
ALTER TABLE changes ADD CONSTRAINT changes_service_id_fkey FOREIGN KEY (service_id) REFERENCES services ON DELETE CASCADE;
