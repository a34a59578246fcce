-- For operators:
-- - Owners can have their hosts left out of the directory. Such hosts are remembered, and never imported again.

-- Hosts whose owners want to be left out. A row is deleted when the owner takes the wish back.
CREATE TABLE opt_outs (
    host       text PRIMARY KEY,     -- lower case, with a port if it is not the scheme's own
    since      timestamptz NOT NULL, -- when the wish was first read
    read_at    timestamptz NOT NULL, -- when it was last read
    document   text NOT NULL         -- path of the document that says so, as in "/robots.txt"
);
---- create above / drop below ----
DROP TABLE opt_outs;
