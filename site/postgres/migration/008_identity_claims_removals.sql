-- For operators:

-- Identity of the database.

-- Claims of recipients.

-- Limits of what one service may store.

-- Removed services.

---- create above / drop below ----

