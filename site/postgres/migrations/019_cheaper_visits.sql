-- Whoever keeps a day holds the row of its service, and an erasure deletes days itself: nothing is looked up a second time.
ALTER TABLE check_days DROP CONSTRAINT check_days_service_id_fkey;

-- Each visit changes its service's row, and with it the slug is looked at again: the same slugs as before, at a tenth of what a
-- bounded repetition takes.
ALTER TABLE services DROP CONSTRAINT services_slug_check, ADD CONSTRAINT services_slug_check
    CHECK (length(slug) <= 80 AND slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$');
---- create above / drop below ----
ALTER TABLE services DROP CONSTRAINT services_slug_check, ADD CONSTRAINT services_slug_check CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,78}[a-z0-9])?$');
DELETE FROM check_days WHERE NOT EXISTS (SELECT FROM services WHERE services.id = check_days.service_id);
ALTER TABLE check_days ADD CONSTRAINT check_days_service_id_fkey FOREIGN KEY (service_id) REFERENCES services ON DELETE CASCADE;
