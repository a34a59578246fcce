-- For operators:
-- - Change records of more than 64 KiB as they are stored are shortened, also those that are stored already. Published
--   packs keep them.
-- - A service has at most 50,000 former prices, and 16 MiB of them. The oldest of a service that has more are deleted.

-- Identity of the database.

-- Claims of recipients.

-- Limits of what one service may store.

-- Change records of services that changed thousands of prices at a time have megabytes, and builds read them again and
-- again. They lose their snapshots and all but the first differences, as records of today do.
UPDATE changes SET old_snapshot = '[]', new_snapshot = '[]', summary = (
    SELECT coalesce(jsonb_object_agg(key,
            CASE jsonb_typeof(value) WHEN 'array' THEN jsonb_path_query_array(value, '$[0 to 2]') ELSE value END),
            '{}') ||
        jsonb_build_object('omitted', jsonb_build_object('entries',
            CASE jsonb_typeof(old_snapshot) WHEN 'array' THEN jsonb_array_length(old_snapshot) ELSE 0 END +
            CASE jsonb_typeof(new_snapshot) WHEN 'array' THEN jsonb_array_length(new_snapshot) ELSE 0 END,
            'differences', coalesce(sum(CASE WHEN jsonb_typeof(value) = 'array' AND key NOT IN ('payToAdded',
                'payToRemoved') THEN greatest(jsonb_array_length(value) - 3, 0) END), 0)))
    FROM jsonb_each(CASE jsonb_typeof(summary) WHEN 'object' THEN summary ELSE '{}' END))
WHERE type IN ('schema_changed', 'price_changed', 'payto_changed')
    AND pg_column_size(summary) + pg_column_size(old_snapshot) + pg_column_size(new_snapshot) > 65536;

-- Removed services.

---- create above / drop below ----

