-- What the pointer of each place says that snapshots are published to, or is about to say. A row is replaced by the
-- generation that it had, so that of two publishers one wins; it is written before the pointer is moved.
CREATE TABLE publications (
	target     text PRIMARY KEY,  -- address of the place: s3://bucket/prefix, a folder
	generation bigint NOT NULL CHECK (generation > 0),
	snapshot   text NOT NULL,
	digest     text NOT NULL,
	withdrawn  text NOT NULL,     -- the newest snapshot that a rollback took back, '' for none
	moved_at   timestamptz NOT NULL
);

-- Services that the operator took off the directory: a snapshot without them may follow one with them.
CREATE TABLE removed_services (
	slug       text PRIMARY KEY,
	removed_at timestamptz NOT NULL
);

---- create above / drop below ----

DROP TABLE removed_services;
DROP TABLE publications;
