-- The order in which services are taken, whole: of many that were listed at once, and are due at once, each look for a few of
-- them sorted all.
DROP INDEX services_due;
CREATE INDEX services_due ON services (next_check_at, id);
---- create above / drop below ----
DROP INDEX services_due;
CREATE INDEX services_due ON services (next_check_at);
