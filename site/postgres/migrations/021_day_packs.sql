-- Days that are over never change again: a build reads those of a service packed, in one row. Rows of check_days stay what is
-- kept; these are copies, made when the days were first read.
CREATE TABLE day_packs (
    service_id bigint PRIMARY KEY,
    through    date NOT NULL,           -- all days up to here are in
    days       bytea NOT NULL           -- as daypack.go writes them
);

-- Number of the oldest check that is kept, in the log of all services: counted once a day, and not by each build.
ALTER TABLE log_seal ADD COLUMN first_kept bigint NOT NULL DEFAULT 0;
UPDATE log_seal SET first_kept = (SELECT coalesce(sum(checks), 0) FROM check_days WHERE day < kept_since);
---- create above / drop below ----
ALTER TABLE log_seal DROP COLUMN first_kept;
DROP TABLE day_packs;
