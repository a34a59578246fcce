-- What is known of an endpoint beside its answers, and only ever warned of.
ALTER TABLE endpoints
    ADD COLUMN head_at timestamptz,         -- last HEAD that was sent
    ADD COLUMN head_free boolean,           -- whether it was served without payment; null until an answer told
    ADD COLUMN declared_price jsonb;        -- what the origin's OpenAPI document says that it costs; null when it says nothing
---- create above / drop below ----
ALTER TABLE endpoints DROP COLUMN head_at, DROP COLUMN head_free, DROP COLUMN declared_price;
