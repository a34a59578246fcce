-- For operators:
-- - Owners can have their hosts left out of the directory. Such hosts are remembered, and never imported again.
-- - Endpoints get the prices that they ask over MPP, L402 and crawler-price.
-- - Facilitators are asked what they settle. Accounts that you accept for one stay when a list is imported again.
-- - Public sources can be pulled on a schedule ([[source]], tollbook sources). Their listings are stored, with times.

-- Hosts whose owners want to be left out. A row is deleted when the owner takes the wish back.
CREATE TABLE opt_outs (
    host       text PRIMARY KEY,     -- lower case, with a port if it is not the scheme's own
    since      timestamptz NOT NULL, -- when the wish was first read
    read_at    timestamptz NOT NULL, -- when it was last read
    document   text NOT NULL,        -- URL of the document that says so
    next_at    timestamptz NOT NULL  -- of the next reading; while a worker reads, the end of its lease
);
CREATE INDEX ON opt_outs (next_at);
-- A service of such a host is hidden. This is the state that it had before, and gets back when the opt-out ends.
ALTER TABLE services
    ADD state_before_opt_out text CHECK (state_before_opt_out IS NULL
        OR state_before_opt_out IN ('listed', 'paused', 'hidden', 'retired') AND listing_state = 'hidden');

-- Answers of facilitators to GET /supported and GET /health at their facilitator_url. A row of the three tables below
-- is deleted 90 days after it was last true.
CREATE TABLE facilitator_polls (
    facilitator_id text PRIMARY KEY REFERENCES facilitators ON DELETE CASCADE,
    url         text NOT NULL,           -- facilitator_url when it was asked; all rows are of this URL
    asked_at    timestamptz NOT NULL,
    next_at     timestamptz NOT NULL,    -- when it is asked again
    failures    integer NOT NULL,        -- polls without an answer since the last one with an answer
    outcome     text NOT NULL,           -- of the newest poll, as in facilitator_poll_days
    status_code integer,                 -- null if no response came
    detail      text NOT NULL,           -- why an answer was not read, for the operator; '' if it was
    answered_at timestamptz,             -- of the newest answer that was read; null for none
    extensions  text[] NOT NULL          -- in that answer
);

-- Polls by UTC day. Each poll counts for the seconds until the next one was planned, so that the longer pauses
-- after failures do not make an outage look short.
CREATE TABLE facilitator_poll_days (
    facilitator_id text NOT NULL REFERENCES facilitators ON DELETE CASCADE,
    day       date NOT NULL,
    document  text NOT NULL CHECK (document IN ('supported', 'health')),
    outcome   text NOT NULL CHECK (outcome IN
        ('answered', 'unreadable', 'status', 'redirected', 'unreachable', 'refused', 'absent')),
    polls     integer NOT NULL,
    seconds   bigint NOT NULL,
    latencies integer[] NOT NULL,        -- milliseconds of each poll with a response
    PRIMARY KEY (facilitator_id, day, document, outcome)
);

-- The kinds of payment that a facilitator says it settles. A row whose last_seen is facilitator_polls.answered_at is
-- current.
CREATE TABLE facilitator_kinds (
    facilitator_id text NOT NULL REFERENCES facilitators ON DELETE CASCADE,
    version    smallint NOT NULL,        -- of x402
    scheme     text NOT NULL,
    network    text NOT NULL,            -- CAIP-2, or the name as announced if it is in no table
    asset      text NOT NULL,            -- in normal form; '' if the facilitator names none
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    PRIMARY KEY (facilitator_id, version, scheme, network, asset)
);

-- The accounts that a facilitator says are its own.
CREATE TABLE facilitator_signers (
    facilitator_id text NOT NULL REFERENCES facilitators ON DELETE CASCADE,
    networks   text NOT NULL,            -- CAIP-2, or a namespace with an asterisk: eip155:*
    address    text NOT NULL,            -- in normal form
    origin     text NOT NULL,            -- member of the answer: signers, feePayer, facilitatorAddress
    first_seen timestamptz NOT NULL,
    last_seen  timestamptz NOT NULL,
    PRIMARY KEY (facilitator_id, networks, address, origin)
);

ALTER TABLE settlers ADD accepted boolean NOT NULL DEFAULT false; -- by the operator; an import never removes it

-- Public sources of services: catalogues and directories of others. A row comes with the first configuration that names
-- the source. It stays, because resources and change records refer to it.
CREATE TABLE sources (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name     text NOT NULL UNIQUE,
    kind     text NOT NULL,          -- how its answers are read
    address  text NOT NULL,          -- URL of the first request
    enabled  boolean,                -- the operator's decision; null to follow the configuration
    due_at   timestamptz NOT NULL DEFAULT '-infinity', -- of the next pull
    failures integer NOT NULL DEFAULT 0, -- pulls that failed since the last one that succeeded
    etag          text NOT NULL DEFAULT '', -- validators of the accepted answer, if it was one page
    last_modified text NOT NULL DEFAULT '',
    accepted_pull bigint,            -- whose answer is believed; null before the first
    held_pull     bigint             -- whose answer is held back because it shrank; null without one
);

-- The newest pulls of each source. A pull without an outcome is running, or its process died.
CREATE TABLE source_pulls (
    source_id integer NOT NULL REFERENCES sources ON DELETE CASCADE,
    number    bigint NOT NULL,       -- ascending, from 1
    began_at  timestamptz NOT NULL,
    ended_at  timestamptz,
    outcome   text,                  -- accepted, unchanged, held, failed
    error     text,                  -- why it failed
    status_code integer,             -- of the last response; null if none came
    pages     integer NOT NULL DEFAULT 0,
    bytes     bigint NOT NULL DEFAULT 0,
    sha256    bytea,                 -- of the bytes of all pages, in order; null if it failed
    resources integer,               -- different resources in the answer; null if it failed
    skipped   integer NOT NULL DEFAULT 0, -- entries that name no resource that can be listed
    partial   boolean NOT NULL DEFAULT false, -- the source hid rows from readers who do not pay
    PRIMARY KEY (source_id, number)
);

-- The resources of answers that are being read or are held back. Texts are those of the source, cleaned and cut.
CREATE TABLE source_staged (
    source_id integer NOT NULL REFERENCES sources ON DELETE CASCADE,
    pull      bigint NOT NULL,
    resource  text COLLATE "C" NOT NULL, -- host and path in normal form, without the scheme
    method    text NOT NULL,         -- '' if the source does not say
    tool      text NOT NULL,         -- name of an MCP tool, '' for none
    url       text NOT NULL,
    type      text NOT NULL,         -- http, mcp
    is_site   boolean NOT NULL,      -- the URL is a site and no endpoint
    template  text NOT NULL,
    service   text NOT NULL,
    description text NOT NULL,
    mime_type text NOT NULL,
    tags      text[] NOT NULL,       -- the category first
    PRIMARY KEY (source_id, pull, resource, method, tool)
);

-- The resources that each source lists, from since to until; until is null while it lists the resource.
CREATE TABLE source_resources (
    source_id integer NOT NULL REFERENCES sources ON DELETE CASCADE,
    resource  text COLLATE "C" NOT NULL, -- as in source_staged
    method    text NOT NULL,
    tool      text NOT NULL,
    since     timestamptz NOT NULL,  -- of the first answer with it
    until     timestamptz,           -- of the first answer without it
    missed    boolean NOT NULL DEFAULT false, -- the newest answer lacked it, but its entries moved while it was read
    PRIMARY KEY (source_id, resource, method, tool, since)
);

CREATE UNIQUE INDEX source_resources_listed ON source_resources (resource, source_id, method, tool)
    WHERE until IS NULL;

-- Hosts that only sources name and that were asked whether they answer.
CREATE TABLE source_hosts (
    host     text PRIMARY KEY,
    asked_at timestamptz NOT NULL,
    answers  boolean NOT NULL
);

-- Ways to pay an endpoint over other protocols than x402, in its newest 402; null if it never offered any. Adding the
-- column rewrites nothing.
ALTER TABLE endpoints ADD offers jsonb;

-- The offers that an endpoint ever made over such protocols, with the time from since to until; until is null while
-- they are current. Times without offers have no row.
CREATE TABLE offer_sets (
    endpoint_id uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    since       timestamptz NOT NULL,
    until       timestamptz,
    offers      jsonb NOT NULL,         -- as endpoints.offers
    PRIMARY KEY (endpoint_id, since)
);
---- create above / drop below ----
DROP TABLE offer_sets;
ALTER TABLE endpoints DROP offers;
DROP TABLE source_hosts, source_resources, source_staged, source_pulls, sources;
ALTER TABLE settlers DROP accepted;
DROP TABLE facilitator_signers, facilitator_kinds, facilitator_poll_days, facilitator_polls;
ALTER TABLE services DROP state_before_opt_out;
DROP TABLE opt_outs;
