-- Nobody reads how response times spread over an hour, and each check paid for it.
ALTER TABLE check_hours DROP COLUMN histogram;
---- create above / drop below ----
ALTER TABLE check_hours ADD COLUMN histogram integer[] NOT NULL DEFAULT array_fill(0, ARRAY[64]);
ALTER TABLE check_hours ALTER COLUMN histogram DROP DEFAULT;
