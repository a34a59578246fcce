-- Whoever keeps a day holds the row of its service, and an erasure deletes days itself: nothing is looked up a second time.
ALTER TABLE check_days DROP CONSTRAINT check_days_service_id_fkey;
---- create above / drop below ----
DELETE FROM check_days WHERE NOT EXISTS (SELECT FROM services WHERE services.id = check_days.service_id);
ALTER TABLE check_days ADD CONSTRAINT check_days_service_id_fkey FOREIGN KEY (service_id) REFERENCES services ON DELETE CASCADE;
