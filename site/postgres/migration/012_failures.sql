-- For operators:
-- - A run of failed checks says what went wrong in its first and in its last check. The migration reads the checks that
--   are still stored; of older runs this stays unknown.

ALTER TABLE failure_runs
    ADD first_code integer,   -- checks.status_code of the first failed check; null without an answer
    ADD first_message text,   -- checks.error_message of that check; null if it was not stored
    ADD last_code integer,    -- the same of the last failed check
    ADD last_message text;
UPDATE failure_runs r SET first_code = c.status_code, first_message = c.error_message
FROM checks c WHERE c.service_id = r.service_id AND c.checked_at = r.first_at AND c.counted AND NOT c.is_up;
UPDATE failure_runs r SET last_code = c.status_code, last_message = c.error_message
FROM checks c WHERE c.service_id = r.service_id AND c.checked_at = r.last_at AND c.counted AND NOT c.is_up;
---- create above / drop below ----
ALTER TABLE failure_runs DROP first_code, DROP first_message, DROP last_code, DROP last_message;
