-- The directory: what is listed, what its endpoints answered, and what they ask to be paid. Facts only: the builder judges.

CREATE TABLE services (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    slug        text NOT NULL UNIQUE CHECK (length(slug) <= 80 AND slug ~ '^[a-z0-9]([a-z0-9-]*[a-z0-9])?$'),
    name        text NOT NULL,
    description text NOT NULL,
    base_url    text NOT NULL,
    website_url text,
    category    text NOT NULL,
    source      text NOT NULL,          -- 'submitted' or 'imported:<origin>'
    created_at  timestamptz NOT NULL,
    verified_at timestamptz,            -- last proof of control, or the operator's word

    check_interval       interval NOT NULL DEFAULT '15 minutes',
    ownership_token text                -- served at /.well-known/tollbook to prove ownership; null before it was asked for
);

CREATE UNIQUE INDEX services_base_url ON services (base_url);
CREATE INDEX services_address ON services (split_part(base_url, '://', 2));

-- The columns that each visit changes, apart from services: a visit writes a narrow row and one index.
CREATE TABLE service_states (
    service_id      bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_check_at   timestamptz NOT NULL, -- while a worker visits the service, the end of its lease
    last_checked_at timestamptz,        -- last visit, inconclusive ones too
    last_status     text,               -- of the last conclusive visit: online, degraded, offline
    last_success_at timestamptz,        -- last usable 402
    consecutive_failures integer NOT NULL DEFAULT 0,  -- conclusive offline visits in a row
    failing_since   timestamptz,        -- first of them
    newest_check_at timestamptz NOT NULL DEFAULT '-infinity' -- no stored check of the service is later
) WITH (fillfactor = 50);               -- a new version of a row fits on its page

CREATE INDEX services_due ON service_states (next_check_at, service_id);

CREATE TABLE endpoints (
    id            uuid PRIMARY KEY,
    service_id    bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    method        text NOT NULL,        -- as declared, else the one that answered; '' while unknown
    method_declared boolean NOT NULL,
    path          text NOT NULL,
    description   text,
    mime_type     text,
    origin        text NOT NULL,        -- who told of it: import, submission, sample
    first_seen_at timestamptz NOT NULL,
    last_paid_at  timestamptz,          -- last usable 402
    last_probed_at timestamptz,
    verdict       text,                 -- latest conclusive answer: paid, broken, open, failed
    verdict_at    timestamptz,
    class         text,                 -- of the latest answer, conclusive or not
    reason        text,
    response_time_ms integer,
    fingerprint   text,                 -- of the current requirement set
    head_at       timestamptz,          -- last HEAD request
    head_free     boolean,              -- whether HEAD was served without payment; null until an answer said so
    declared_price jsonb,               -- price in the origin's OpenAPI document; null without one
    UNIQUE (service_id, path, method)
);

-- The newest answer that held an envelope, as received; compliance is judged from it.
CREATE TABLE envelopes (
    endpoint_id  uuid PRIMARY KEY REFERENCES endpoints ON DELETE CASCADE,
    received_at  timestamptz NOT NULL,
    method       text NOT NULL,
    url          text NOT NULL,
    status_code  integer NOT NULL,
    header       jsonb NOT NULL,        -- name -> values, cookies left out
    body         bytea NOT NULL,
    truncated    boolean NOT NULL,
    tls_verified boolean NOT NULL,
    sha256       bytea NOT NULL,        -- of status, payment headers and body: an equal answer is not written again
    exchange     jsonb NOT NULL DEFAULT '{}' -- class, reason, the request as sent, redirects, times
);

-- The answers after the newest envelope, which brought none: the last conclusive one, and the last inconclusive one after that.
CREATE TABLE answers (
    endpoint_id  uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    conclusive   boolean NOT NULL,
    received_at  timestamptz NOT NULL,  -- or given up
    method       text NOT NULL,
    url          text NOT NULL,
    status_code  integer,               -- null when none came
    header       jsonb NOT NULL,        -- name -> values, of the names that may be published
    body         bytea NOT NULL,        -- its first 16 KiB
    truncated    boolean NOT NULL,
    tls_verified boolean NOT NULL,
    exchange     jsonb NOT NULL,        -- class, reason, the request as it was sent, redirects, times
    sha256       bytea NOT NULL,        -- of status, header and body: an equal answer is not written again
    PRIMARY KEY (endpoint_id, conclusive)
);

-- Every way to pay that was ever asked, while it was asked; until is null for the current ones.
CREATE TABLE prices (
    endpoint_id   uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    since         timestamptz NOT NULL,
    position      integer NOT NULL,     -- row of accepts
    until         timestamptz,
    scheme        text NOT NULL,
    network       text NOT NULL,        -- as received
    network_caip2 text,
    asset         text NOT NULL,
    pay_to        text NOT NULL,
    amount        numeric NOT NULL CHECK (amount >= 0 AND scale(amount) = 0), -- atomic units
    max_timeout_seconds integer,
    extra         text,                 -- JSON as received
    x402_version  integer NOT NULL,
    PRIMARY KEY (endpoint_id, since, position)
);

CREATE INDEX prices_current ON prices (endpoint_id) WHERE until IS NULL;

CREATE TABLE changes (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    number       bigint UNIQUE,         -- in the log of all services; null until its hour is sealed
    service_id   bigint NOT NULL,       -- change records outlive their service
    type         text NOT NULL,         -- schema_changed, price_changed, payto_changed
    observed_at  timestamptz NOT NULL,
    summary      jsonb NOT NULL,
    old_snapshot jsonb NOT NULL,
    new_snapshot jsonb NOT NULL
);

CREATE INDEX changes_of_service ON changes (service_id, observed_at);
CREATE INDEX changes_open ON changes (observed_at) WHERE number IS NULL;

-- Change records are numbered as checks are: one log of all services and one of each, of all types and of each type.
-- They are never dropped.
CREATE TABLE change_log (
    service_id bigint NOT NULL,         -- 0 for all services
    type       text NOT NULL,           -- '' for all types
    number     bigint NOT NULL,
    change_id  bigint NOT NULL REFERENCES changes,
    PRIMARY KEY (service_id, type, number)
);

CREATE TABLE change_positions (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    rows       bigint NOT NULL,         -- in sealed hours, ever: the number of the first row after them
    PRIMARY KEY (service_id, type)
);

CREATE TABLE change_blocks (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    block      bigint NOT NULL,
    hour       timestamptz NOT NULL,    -- whose pack holds it
    PRIMARY KEY (service_id, type, block)
);

CREATE INDEX change_blocks_hour ON change_blocks (hour);

CREATE TABLE change_days (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    day        date NOT NULL,           -- a UTC day with rows
    first      bigint NOT NULL,         -- number of its first row
    PRIMARY KEY (service_id, type, day)
);

-- While a type is marked, its next record compares with what was asked at `through`, so that what changes within an hour of
-- a record is part of the next one.
CREATE TABLE change_marks (
    service_id bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    type       text NOT NULL,
    through    timestamptz NOT NULL,    -- all that was asked until then is recorded
    PRIMARY KEY (service_id, type)
);

-- Settings of the directory itself: whether its data is a sample, since when it runs.
CREATE TABLE settings (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- Checks: a row a visit, partitioned by UTC day and dropped by whole days. Logs number their rows from the oldest ever. Once an hour
-- is over it is sealed: its rows get their numbers and are summed, and it takes no more rows.
CREATE TABLE checks (
    service_id       bigint NOT NULL,
    checked_at       timestamptz NOT NULL,
    id               uuid NOT NULL,
    counted          boolean NOT NULL,  -- conclusive
    status           text,              -- of this visit, or of the last conclusive one before it
    is_up            boolean NOT NULL,
    status_code      integer,
    response_time_ms integer,           -- median to the response headers
    endpoints_found  integer NOT NULL,  -- paid in this visit
    error_message    text,
    consecutive_failures integer NOT NULL, -- after this visit
    number           bigint,            -- in the log of all services; null until its hour is sealed
    service_number   bigint,            -- in the log of its service; likewise
    PRIMARY KEY (service_id, checked_at, id)
) PARTITION BY RANGE (checked_at);

CREATE INDEX checks_time ON checks (checked_at);

-- Sums of the checks of sealed hours, of listed services. Hours are dropped with their checks; days are kept.
CREATE TABLE check_hours (
    service_id  bigint NOT NULL,
    hour        timestamptz NOT NULL,
    checks      integer NOT NULL,       -- all visits
    counted     integer NOT NULL,
    up          integer NOT NULL,       -- among the counted
    timed       integer NOT NULL,       -- counted ones with a response time
    response_ms bigint NOT NULL,        -- sum over the timed
    PRIMARY KEY (hour, service_id)      -- the newest hours of all services are read together
);

CREATE TABLE check_days (
    service_id  bigint NOT NULL,
    day         date NOT NULL,
    checks      integer NOT NULL,
    counted     integer NOT NULL,
    up          integer NOT NULL,
    timed       integer NOT NULL,
    response_ms bigint NOT NULL,
    histogram   integer[] NOT NULL,     -- site.HistogramBuckets log-spaced buckets of the timed
    PRIMARY KEY (service_id, day)
);

-- Adds the counts of site.HistogramBuckets buckets. One expression is inlined, at a seventh of the time of a query over elements.
CREATE FUNCTION histogram_add(a integer[], b integer[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY[
        a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6], a[7] + b[7], a[8] + b[8],
        a[9] + b[9], a[10] + b[10], a[11] + b[11], a[12] + b[12], a[13] + b[13], a[14] + b[14], a[15] + b[15], a[16] + b[16],
        a[17] + b[17], a[18] + b[18], a[19] + b[19], a[20] + b[20], a[21] + b[21], a[22] + b[22], a[23] + b[23], a[24] + b[24],
        a[25] + b[25], a[26] + b[26], a[27] + b[27], a[28] + b[28], a[29] + b[29], a[30] + b[30], a[31] + b[31], a[32] + b[32],
        a[33] + b[33], a[34] + b[34], a[35] + b[35], a[36] + b[36], a[37] + b[37], a[38] + b[38], a[39] + b[39], a[40] + b[40],
        a[41] + b[41], a[42] + b[42], a[43] + b[43], a[44] + b[44], a[45] + b[45], a[46] + b[46], a[47] + b[47], a[48] + b[48],
        a[49] + b[49], a[50] + b[50], a[51] + b[51], a[52] + b[52], a[53] + b[53], a[54] + b[54], a[55] + b[55], a[56] + b[56],
        a[57] + b[57], a[58] + b[58], a[59] + b[59], a[60] + b[60], a[61] + b[61], a[62] + b[62], a[63] + b[63], a[64] + b[64]
    ];

CREATE TABLE log_seal (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    through    timestamptz NOT NULL,    -- every hour before is sealed
    kept_since timestamptz NOT NULL,    -- start of the oldest UTC day whose checks are kept
    first_kept bigint NOT NULL DEFAULT 0 -- number of the oldest check that is kept, in the log of all services
);

CREATE TABLE log_positions (
    service_id bigint PRIMARY KEY,      -- 0 for the log of all services
    rows       bigint NOT NULL          -- in sealed hours, ever: the number of the first row after them
) WITH (fillfactor = 50);               -- each hour changes most rows

CREATE TABLE log_blocks (
    service_id bigint NOT NULL,         -- 0 for the log of all services
    block      bigint NOT NULL,         -- of site.BlockSize rows, full
    hour       timestamptz NOT NULL,    -- of its last row
    PRIMARY KEY (service_id, block)
);

CREATE INDEX log_blocks_hour ON log_blocks (hour);

-- What changes slowly: the documents of a service's site, looked at once a day, and who registered its domain, asked once
-- a week. Null is not known, everywhere.
CREATE TABLE site_facts (
    service_id bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_at    timestamptz NOT NULL,    -- of the next look; a look under way has put it off by its lease
    checked_at timestamptz,             -- of the last look that saw anything
    homepage   boolean,
    openapi    boolean,
    pricing    boolean,
    llms_txt   boolean,
    robots     boolean,
    terms      boolean,
    domain     text                     -- registrable domain of the base address, null where it has none
);

CREATE INDEX site_facts_due ON site_facts (next_at);
CREATE INDEX site_facts_domain ON site_facts (domain);

CREATE TABLE domain_facts (
    domain     text PRIMARY KEY,
    next_at    timestamptz,             -- null for what no registry is asked about
    suffix     text,                    -- private suffix that the name was given out below
    checked_at timestamptz,             -- of the last answer
    registrar  text,
    created_at timestamptz
);

CREATE INDEX domain_facts_due ON domain_facts (next_at);

-- robots.txt as origins answered, so that none is asked more than once a day, whoever crawls.
CREATE TABLE robots (
    origin     text PRIMARY KEY,
    fetched_at timestamptz NOT NULL,
    state      text NOT NULL,           -- document, none, unknown
    body       bytea NOT NULL
);

-- IANA's list of RDAP servers, as received.
CREATE TABLE rdap_bootstrap (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    fetched_at timestamptz NOT NULL,
    body       bytea NOT NULL
);

-- What a language model is asked about services, and what it answered. An input_hash is the sha256 in hex of all that it
-- is told of a service.
CREATE TABLE synthesis_inputs (
    service_id bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    look_at    timestamptz NOT NULL,    -- when the input is made anew; a look under way has put it off by its lease
    input_hash text,                    -- of the last look, null before the first
    changed_at timestamptz,             -- of the look that saw this hash first
    ask_at     timestamptz              -- until then a question is under way
);

CREATE INDEX synthesis_inputs_due ON synthesis_inputs (look_at);

CREATE TABLE syntheses (
    service_id     bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    input_hash     text NOT NULL,
    model_id       text NOT NULL,
    prompt_version text NOT NULL,
    asked_at       timestamptz NOT NULL,
    answer         jsonb NOT NULL       -- as it was read: validated, clipped
);

-- Questions without an answer that counts, apart from the answers: the last that counted stays kept.
CREATE TABLE synthesis_failures (
    service_id     bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    input_hash     text NOT NULL,
    model_id       text NOT NULL,
    prompt_version text NOT NULL,
    failed_at      timestamptz NOT NULL,
    failures       integer NOT NULL,    -- of this question in a row
    reason         text NOT NULL,       -- of the last
    again_at       timestamptz NOT NULL -- not asked before
);

-- Requests sent to the model in a UTC day, by all crawlers together: taken before each is sent.
CREATE TABLE synthesis_days (
    day   date PRIMARY KEY,
    asked integer NOT NULL
);

-- What owners send to be listed, what the probe of it found, and what was decided. Nothing here is ever published but
-- what is approved.
CREATE TABLE submissions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,        -- keyed hash of who sent it, only ever counted
    idempotency_key text,
    content_hash bytea NOT NULL,        -- of all that was sent, to know a repetition by
    url          text NOT NULL,         -- in the form of services.base_url
    domain       text NOT NULL,         -- registrable domain of url
    email        text NOT NULL,
    service_name text NOT NULL,
    description  text NOT NULL,
    website_url  text NOT NULL,
    category     text NOT NULL,
    endpoints    text[] NOT NULL,       -- '/x' or 'POST /x'
    notes        text NOT NULL,

    state        text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'approved', 'rejected')),
    decided_at   timestamptz CHECK ((decided_at IS NULL) = (state = 'pending')),
    reason       text CHECK ((reason IS NOT NULL) = (state = 'rejected')),
    service_id   bigint REFERENCES services ON DELETE CASCADE, -- erasing the service erases what its owner sent

    probe_due_at timestamptz,           -- when it is to be probed; put off while somebody does; null once it was
    probe_result jsonb
);

CREATE UNIQUE INDEX submissions_pending ON submissions (split_part(url, '://', 2)) WHERE state = 'pending';
CREATE UNIQUE INDEX submissions_key ON submissions (client, idempotency_key);
CREATE INDEX submissions_of_client ON submissions (client, received_at);
CREATE INDEX submissions_of_domain ON submissions (domain) WHERE state = 'pending';
CREATE INDEX submissions_probe_due ON submissions (probe_due_at) WHERE probe_due_at IS NOT NULL;
CREATE INDEX submissions_of_service ON submissions (service_id);

-- Probes of submissions in the last hour, by the domain that was asked.
CREATE TABLE submission_probes (
    domain   text NOT NULL,
    began_at timestamptz NOT NULL
);

CREATE INDEX submission_probes_of_domain ON submission_probes (domain, began_at);

-- Who did what when.
CREATE TABLE audit (
    id     bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at     timestamptz NOT NULL,
    actor  text NOT NULL,               -- an operator's name
    action text NOT NULL,               -- approve, reject, verify
    submission_id uuid REFERENCES submissions ON DELETE CASCADE,
    service_id bigint REFERENCES services ON DELETE CASCADE,
    detail text NOT NULL
);

CREATE INDEX audit_of_submission ON audit (submission_id);
CREATE INDEX audit_of_service ON audit (service_id);

-- What processes share who work on one directory: when each host may be asked next, and when each step was last done.
-- Jobs lie in the tables of River, which it migrates itself.

CREATE TABLE hosts (
    host        text PRIMARY KEY,       -- name and port
    next_at     timestamptz NOT NULL,   -- not asked before: the end of the last request and the gap
    regained_at timestamptz NOT NULL,   -- when all of the hour's allowance that was used is regained
    held_by     uuid,                   -- process that asks now
    held_until  timestamptz NOT NULL    -- it is believed dead after this
) WITH (fillfactor = 50);               -- a row changes with each request, and no index does

CREATE TABLE steps (
    name       text PRIMARY KEY,        -- build, publish, index-eip155-8453
    every      interval NOT NULL,       -- from one begin to the next
    follows    text NOT NULL,           -- step that must have ended since this one began; '' for none
    offered_at timestamptz NOT NULL,    -- by a process that can do it; one that nobody offers is not due
    began_at   timestamptz,             -- of the last run that succeeded
    ended_at   timestamptz
);

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
    id         bigint GENERATED ALWAYS AS IDENTITY UNIQUE, -- a checkpoint says up to which its packs are rewritten
    removed_at timestamptz NOT NULL
);

-- Who settles payments, and what they were seen to settle on chain. Facilitators and settlers come from lists; a
-- settlement keeps the facilitator that it was recorded for, whatever lists say later.

CREATE TABLE facilitators (
    id              text PRIMARY KEY,
    name            text NOT NULL,
    website_url     text NOT NULL,
    docs_url        text,
    facilitator_url text,
    upstream_status text NOT NULL,      -- how sure the list's source is: merged, merged_after_snapshot, pull_request, ...
    trusted         boolean NOT NULL DEFAULT false -- the operator's word for its settlers
);

-- One account settles for one facilitator, or none could be told to have settled.
CREATE TABLE settlers (
    network        text NOT NULL,       -- CAIP-2
    address        text NOT NULL,       -- in normal form
    facilitator_id text NOT NULL REFERENCES facilitators,
    tokens         text[] NOT NULL,     -- that it settles, in normal form
    since          date,                -- first day of its settlements, null when nobody said
    deprecated     boolean NOT NULL,
    PRIMARY KEY (network, address)
);

CREATE INDEX settlers_of_facilitator ON settlers (facilitator_id);

CREATE TABLE chains (
    id      smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network text NOT NULL UNIQUE,       -- CAIP-2

    head_block  bigint,                 -- newest confirmed one when the chain was last asked, null before
    head_at     timestamptz,
    polled_at   timestamptz,
    counted_from bigint,                -- lowest block that some scan counts, null without scans
    pruned_to   bigint NOT NULL DEFAULT -1 -- no reorganisation can be taken back to a block below: its ranges are forgotten
);

-- An address has one number on whatever network it is seen, so that a buyer on two of them is one.
CREATE TABLE accounts (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL UNIQUE        -- in normal form
);

-- A flow is what one facilitator settles of one token on one network.
CREATE TABLE flows (
    id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    facilitator_id text NOT NULL REFERENCES facilitators,
    chain_id       smallint NOT NULL REFERENCES chains,
    token          text NOT NULL,       -- in normal form
    UNIQUE (facilitator_id, chain_id, token)
);

-- A scan looks for its settlers' settlements over the blocks [next, until). Finished ones stay while a reorganisation
-- could open them again; counting ones for good, since they say since when a network is measured.
CREATE TABLE scans (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_id smallint NOT NULL REFERENCES chains,
    ticket   bigint GENERATED ALWAYS AS IDENTITY UNIQUE, -- a new one whenever settlers join, so that what was found without them is refused
    first    bigint NOT NULL,
    since    timestamptz,               -- time of block first, null where only a fill below it knows one
    next     bigint NOT NULL,
    until    bigint,                    -- null follows the head
    counts   boolean NOT NULL           -- of every block one scan does
);

CREATE UNIQUE INDEX scans_head ON scans (chain_id) WHERE until IS NULL;

-- A settler that leaves the lists, or comes back with other words, is looked for anew.
CREATE TABLE scan_settlers (
    scan_id integer NOT NULL REFERENCES scans ON DELETE CASCADE,
    network text NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (scan_id, address),
    FOREIGN KEY (network, address) REFERENCES settlers ON DELETE CASCADE
);

CREATE INDEX scan_settlers_of ON scan_settlers (network, address);

-- Ranges of blocks as they were committed, those that a reorganisation could touch.
CREATE TABLE ranges (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_id smallint NOT NULL,
    scan_id  integer NOT NULL REFERENCES scans ON DELETE CASCADE,
    first    bigint NOT NULL,
    last     bigint NOT NULL,
    hash     text NOT NULL,             -- of block last
    at       timestamptz NOT NULL       -- time of block last
);

CREATE INDEX ranges_last ON ranges (chain_id, last);
CREATE INDEX ranges_of_scan ON ranges (scan_id, last);

-- What each of them counted, to be taken back with it.
CREATE TABLE range_seen (
    range_id       bigint NOT NULL REFERENCES ranges ON DELETE CASCADE,
    token          text NOT NULL,
    day            date NOT NULL,
    authorizations bigint NOT NULL,
    PRIMARY KEY (range_id, token, day)
);

CREATE TABLE range_senders (
    range_id   bigint NOT NULL REFERENCES ranges ON DELETE CASCADE,
    day        date NOT NULL,
    sender     text NOT NULL,
    token      text NOT NULL,
    payments   bigint NOT NULL,
    amount     numeric NOT NULL,
    recipients bigint NOT NULL,
    PRIMARY KEY (range_id, day, sender, token)
);

-- Authorisations of a token, whoever sent them, and those among the settlements that known settlers sent.
CREATE TABLE seen_days (
    chain_id       smallint NOT NULL,
    token          text NOT NULL,
    day            date NOT NULL,
    authorizations bigint NOT NULL DEFAULT 0,
    attributed     bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (chain_id, day, token)
);

-- Who moved money to known recipients and is in no list. Recipients is the most that one range had, a floor.
CREATE TABLE sender_days (
    chain_id   smallint NOT NULL,
    day        date NOT NULL,
    sender     text NOT NULL,
    token      text NOT NULL,
    payments   bigint NOT NULL,
    amount     numeric NOT NULL,
    recipients bigint NOT NULL,
    forgotten  bigint NOT NULL DEFAULT 0, -- the most recipients that a range had which is forgotten
    PRIMARY KEY (chain_id, day, sender, token)
);

-- How far the signatures of a Solana settler have been read.
CREATE TABLE walks (
    network     text NOT NULL,
    address     text NOT NULL,
    until       text NOT NULL,          -- newest signature of the last finished walk
    newest      text NOT NULL,          -- of the walk under way, '' when there is none
    before      text NOT NULL,          -- oldest signature that it has read
    newest_slot bigint NOT NULL,        -- the chain's head when the newest walk began
    newest_at   timestamptz,
    through     timestamptz,            -- newest_at of the last finished walk, null before the first
    floor       timestamptz,            -- where the nodes' history began when the first walk ended there, null where it ended at the settler's first day
    PRIMARY KEY (network, address),
    FOREIGN KEY (network, address) REFERENCES settlers ON DELETE CASCADE
);

-- No foreign keys: whoever records has just found or made every row that one names. The key begins with the block, which
-- a transaction's name implies, so that a chain grows at the end of its index, and the end is found to be taken back.
CREATE TABLE settlements (
    settled_at  timestamptz NOT NULL,   -- time of its block
    block       bigint NOT NULL,
    settler_id  bigint NOT NULL,
    payer_id    bigint NOT NULL,
    payee_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    log_index   integer NOT NULL,       -- of the transfer: log on EVM, path of the instruction elsewhere
    scan_id     integer,                -- that found it, null where none did
    chain_id    smallint NOT NULL,
    transaction bytea NOT NULL,         -- 32 bytes of a hash in hex, else the text's own bytes
    block_hash  bytea NOT NULL,         -- in the same form, empty where the chain has none
    method      text NOT NULL,          -- eip3009, permit2, transfer, batch, spl; '' when nobody said
    amount      numeric NOT NULL CHECK (amount >= 0 AND scale(amount) = 0), -- atomic units
    PRIMARY KEY (chain_id, block, transaction, log_index)
);

-- Roll-ups, written with the settlements. A build reads these alone: its cost does not grow with settlements.
CREATE TABLE flow_totals (
    flow_id     integer PRIMARY KEY,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    payers      bigint NOT NULL,        -- distinct ones
    first_day   date NOT NULL,
    last_at     timestamptz NOT NULL
);

CREATE TABLE flow_hours (
    flow_id     integer NOT NULL,
    hour        timestamptz NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (hour, flow_id)         -- the newest hours of all flows are read together
);

CREATE TABLE flow_days (
    flow_id     integer NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    self_settlements bigint NOT NULL,   -- of these, payments to oneself
    self_amount numeric NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (flow_id, day)
);

-- Distinct payers of a flow over any window that ends today are those who paid in it last.
CREATE TABLE flow_payers (
    flow_id  integer NOT NULL,
    payer_id bigint NOT NULL,
    last_day date NOT NULL,
    PRIMARY KEY (flow_id, payer_id)
);

CREATE INDEX flow_payers_newest ON flow_payers (flow_id, last_day);

CREATE TABLE payee_days (
    payee_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, flow_id, day)
) WITH (fillfactor = 80);               -- rows of the open day grow with each range: their next versions fit on the page

-- A build reads the last days of all payees at once; rows are roughly in the order of days.
CREATE INDEX payee_days_day ON payee_days USING brin (day date_minmax_multi_ops) WITH (pages_per_range = 32);

CREATE TABLE payee_totals (
    payee_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, flow_id)
) WITH (fillfactor = 80);

-- Who paid whom on which day: distinct payers of payees are exact over any window of days. The key begins with the day,
-- since windows are read whole and new days are written together.
CREATE TABLE payer_days (
    day         date NOT NULL,
    flow_id     integer NOT NULL,
    payee_id    bigint NOT NULL,
    payer_id    bigint NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (day, payee_id, payer_id, flow_id)
) WITH (fillfactor = 80);

-- A roll-back asks when a payer last paid before. Its entries are short: equal numbers are kept once.
CREATE INDEX payer_days_of_payer ON payer_days (payer_id);

-- How often each amount was paid, for medians. Prices are few, so amounts are.
CREATE TABLE amount_days (
    day         date NOT NULL,
    flow_id     integer NOT NULL,
    payee_id    bigint NOT NULL,
    amount      numeric NOT NULL,       -- of one settlement
    settlements bigint NOT NULL,
    PRIMARY KEY (day, payee_id, flow_id, amount)
) WITH (fillfactor = 80);

-- Tokens that the operator has measured, as the configuration named them when a network was last indexed. A network
-- without any measures those that the program knows.
CREATE TABLE tokens (
    network  text NOT NULL,             -- CAIP-2
    address  text NOT NULL,             -- in normal form
    symbol   text NOT NULL,
    decimals smallint NOT NULL CHECK (decimals BETWEEN 0 AND 36), -- atomic units per token are 10 to that power
    usd      boolean NOT NULL,          -- worth a dollar each: counts in volumes
    PRIMARY KEY (network, address)
);
---- create above / drop below ----
DROP TABLE tokens, amount_days, payer_days, payee_totals, payee_days, flow_payers, flow_days, flow_hours, flow_totals, settlements, walks,
    sender_days, seen_days, range_senders, range_seen, ranges, scan_settlers, scans, flows, accounts, chains, settlers, facilitators,
    removed_services, publications, steps, hosts, audit, submission_probes, submissions, synthesis_days, synthesis_failures, syntheses,
    synthesis_inputs, rdap_bootstrap, robots, domain_facts, site_facts, log_blocks, log_positions, log_seal, check_days, check_hours, checks,
    settings, change_marks, change_days, change_blocks, change_positions, change_log, changes, prices, answers, envelopes, endpoints,
    service_states, services;
DROP FUNCTION histogram_add;
