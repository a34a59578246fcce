-- For operators: the version of the program that migrated the database is stored beside that of the schema.

-- `tollbook migrate --plan` prints the comment above, up to the empty line. Name there what this migration does.
ALTER TABLE tollbook_schema ADD program text; -- version of the Tollbook that migrated the database to this schema
---- create above / drop below ----
ALTER TABLE tollbook_schema DROP program;
