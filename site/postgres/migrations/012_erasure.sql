-- Erasing a service takes what it said, and what was measured of it, out of every table. Rows of the common logs keep
-- their numbers: checks and changes stay without content, and open hours must go on counting them until they are sealed.
ALTER TABLE removed_services ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY UNIQUE; -- a checkpoint says up to which its packs are rewritten
ALTER TABLE check_hours DROP CONSTRAINT check_hours_service_id_fkey;

---- create above / drop below ----

DELETE FROM check_hours WHERE NOT EXISTS (SELECT FROM services WHERE services.id = check_hours.service_id);
ALTER TABLE check_hours ADD CONSTRAINT check_hours_service_id_fkey FOREIGN KEY (service_id) REFERENCES services ON DELETE CASCADE;
ALTER TABLE removed_services DROP COLUMN id;
