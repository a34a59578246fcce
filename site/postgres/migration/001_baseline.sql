-- The directory: listed services, the responses of their endpoints, and the prices that endpoints ask. The tables
-- contain facts; the builder judges them.

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
    verified_at timestamptz,            -- last proof of control, or the operator's confirmation

    check_interval       interval NOT NULL DEFAULT '15 minutes',
    ownership_token text                -- served at /.well-known/tollbook to prove ownership; null until requested
);

CREATE UNIQUE INDEX services_base_url ON services (base_url);
CREATE INDEX services_address ON services (split_part(base_url, '://', 2));

-- The columns that each visit changes. They are not in services, so that a visit writes a narrow row and one index.
CREATE TABLE service_states (
    service_id      bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_check_at   timestamptz NOT NULL, -- while a worker visits the service, the end of its lease
    last_checked_at timestamptz,        -- last visit, also an inconclusive one
    last_status     text,               -- of the last conclusive visit: online, degraded, offline
    last_success_at timestamptz,        -- last usable 402
    consecutive_failures integer NOT NULL DEFAULT 0 CHECK (consecutive_failures >= 0), -- conclusive offline visits
    failing_since   timestamptz,        -- first of these visits
    newest_check_at timestamptz NOT NULL DEFAULT '-infinity' -- no stored check is later
) WITH (fillfactor = 50);               -- leaves room on the page for the next version of a row

CREATE INDEX services_due ON service_states (next_check_at, service_id);

CREATE TABLE endpoints (
    id            uuid PRIMARY KEY,
    service_id    bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    method        text NOT NULL,        -- as declared, else the one that responded; '' while unknown
    method_declared boolean NOT NULL,
    path          text NOT NULL,
    description   text,
    mime_type     text,
    origin        text NOT NULL,        -- source of the endpoint: import, submission, sample
    first_seen_at timestamptz NOT NULL,
    last_paid_at  timestamptz,          -- last usable 402
    last_probed_at timestamptz,
    verdict       text,                 -- of the latest conclusive response: paid, broken, open, failed
    verdict_at    timestamptz,
    class         text,                 -- of the latest response, conclusive or not
    reason        text,
    response_time_ms integer CHECK (response_time_ms >= 0),
    fingerprint   text,                 -- of the current requirement set
    head_at       timestamptz,          -- last HEAD request
    head_free     boolean,              -- whether HEAD was served without payment; null until tested
    declared_price jsonb,               -- price in the origin's OpenAPI document; null without one
    UNIQUE (service_id, path, method)
);

-- The newest response with an envelope, as received. Compliance is judged from it.
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
    sha256       bytea NOT NULL,        -- of status, payment headers and body; an equal response is not rewritten
    exchange     jsonb NOT NULL DEFAULT '{}' -- class, reason, the request as sent, redirects, times
);

-- Responses without an envelope that came after the newest envelope: the last conclusive one, and the last inconclusive
-- one after that.
CREATE TABLE responses (
    endpoint_id  uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    conclusive   boolean NOT NULL,
    received_at  timestamptz NOT NULL,  -- or when the request was abandoned
    method       text NOT NULL,
    url          text NOT NULL,
    status_code  integer,               -- null without a response
    header       jsonb NOT NULL,        -- name -> values, of headers that may be published
    body         bytea NOT NULL,        -- its first 16 KiB
    truncated    boolean NOT NULL,
    tls_verified boolean NOT NULL,
    exchange     jsonb NOT NULL,        -- class, reason, the request as sent, redirects, times
    sha256       bytea NOT NULL,        -- of status, header and body; an equal response is not rewritten
    PRIMARY KEY (endpoint_id, conclusive)
);

-- Every way to pay that an endpoint ever asked for, with the time from since to until; until is null while it is
-- current.
CREATE TABLE prices (
    endpoint_id   uuid NOT NULL REFERENCES endpoints ON DELETE CASCADE,
    since         timestamptz NOT NULL,
    position      integer NOT NULL,     -- index in accepts
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
    service_id   bigint NOT NULL,       -- without a foreign key: change records outlive their service
    type         text NOT NULL,         -- schema_changed, price_changed, payto_changed
    observed_at  timestamptz NOT NULL,
    summary      jsonb NOT NULL,
    old_snapshot jsonb NOT NULL,
    new_snapshot jsonb NOT NULL
);

CREATE INDEX changes_of_service ON changes (service_id, observed_at);
CREATE INDEX changes_open ON changes (observed_at) WHERE number IS NULL;

-- Change records are numbered like checks: in one log of all services and one log of each service, for all types and
-- for each type. They are never deleted.
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
    rows       bigint NOT NULL,         -- rows ever in sealed hours: the number of the next row
    PRIMARY KEY (service_id, type)
);

CREATE TABLE change_blocks (
    service_id bigint NOT NULL,
    type       text NOT NULL,
    block      bigint NOT NULL,
    hour       timestamptz NOT NULL,    -- whose pack contains it
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

-- The next change record of a type compares with the prices at prices_at, so that changes within an hour after a record
-- become part of the next record. Without a row, it compares with the prices before the visit.
CREATE TABLE change_baselines (
    service_id bigint NOT NULL REFERENCES services ON DELETE CASCADE,
    type       text NOT NULL,
    prices_at  timestamptz NOT NULL,    -- everything until then is recorded
    PRIMARY KEY (service_id, type)
);

-- Settings of the directory itself, such as the source of sample data.
CREATE TABLE settings (
    name  text PRIMARY KEY,
    value text NOT NULL
);

-- One row for each visit, partitioned by UTC day; whole days are dropped. Logs number their rows from the oldest ever.
-- An hour that is over is sealed: its rows get their numbers and are summed, and it accepts no more rows.
CREATE TABLE checks (
    service_id       bigint NOT NULL,
    checked_at       timestamptz NOT NULL,
    id               uuid NOT NULL,
    counted          boolean NOT NULL,  -- conclusive
    status           text,              -- of this visit, or of the last conclusive one before it
    is_up            boolean NOT NULL,
    status_code      integer,
    response_time_ms integer CHECK (response_time_ms >= 0), -- median to the response headers
    endpoints_found  integer NOT NULL CHECK (endpoints_found >= 0), -- that were paid in this visit
    error_message    text,
    consecutive_failures integer NOT NULL CHECK (consecutive_failures >= 0), -- after this visit
    number           bigint,            -- in the log of all services; null until its hour is sealed
    service_number   bigint,            -- in the log of its service; null likewise
    PRIMARY KEY (service_id, checked_at, id)
) PARTITION BY RANGE (checked_at);

CREATE INDEX checks_time ON checks (checked_at);

-- Sums of the checks of sealed hours, for listed services. Hours are deleted with their checks; days are never deleted.
CREATE TABLE check_hours (
    service_id  bigint NOT NULL,
    hour        timestamptz NOT NULL,
    checks      integer NOT NULL CHECK (checks >= 0), -- all visits
    counted     integer NOT NULL CHECK (counted >= 0),
    up          integer NOT NULL CHECK (up BETWEEN 0 AND counted), -- of the counted
    timed       integer NOT NULL CHECK (timed >= 0), -- counted ones with a response time
    response_ms bigint NOT NULL CHECK (response_ms >= 0), -- sum over the timed
    PRIMARY KEY (hour, service_id)      -- the newest hours of all services are read together
);

CREATE TABLE check_days (
    service_id  bigint NOT NULL,
    day         date NOT NULL,
    checks      integer NOT NULL CHECK (checks >= 0),
    counted     integer NOT NULL CHECK (counted >= 0),
    up          integer NOT NULL CHECK (up BETWEEN 0 AND counted),
    timed       integer NOT NULL CHECK (timed >= 0),
    response_ms bigint NOT NULL CHECK (response_ms >= 0),
    histogram   integer[] NOT NULL,     -- site.HistogramBuckets log-spaced buckets of the timed
    PRIMARY KEY (service_id, day)
);

-- Adds the counts of site.HistogramBuckets buckets. Postgres inlines one expression, which takes a seventh of the time
-- of a query over elements.
CREATE FUNCTION histogram_add(a integer[], b integer[]) RETURNS integer[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ARRAY[
        a[1] + b[1], a[2] + b[2], a[3] + b[3], a[4] + b[4], a[5] + b[5], a[6] + b[6],
        a[7] + b[7], a[8] + b[8], a[9] + b[9], a[10] + b[10], a[11] + b[11], a[12] + b[12],
        a[13] + b[13], a[14] + b[14], a[15] + b[15], a[16] + b[16], a[17] + b[17], a[18] + b[18],
        a[19] + b[19], a[20] + b[20], a[21] + b[21], a[22] + b[22], a[23] + b[23], a[24] + b[24],
        a[25] + b[25], a[26] + b[26], a[27] + b[27], a[28] + b[28], a[29] + b[29], a[30] + b[30],
        a[31] + b[31], a[32] + b[32], a[33] + b[33], a[34] + b[34], a[35] + b[35], a[36] + b[36],
        a[37] + b[37], a[38] + b[38], a[39] + b[39], a[40] + b[40], a[41] + b[41], a[42] + b[42],
        a[43] + b[43], a[44] + b[44], a[45] + b[45], a[46] + b[46], a[47] + b[47], a[48] + b[48],
        a[49] + b[49], a[50] + b[50], a[51] + b[51], a[52] + b[52], a[53] + b[53], a[54] + b[54],
        a[55] + b[55], a[56] + b[56], a[57] + b[57], a[58] + b[58], a[59] + b[59], a[60] + b[60],
        a[61] + b[61], a[62] + b[62], a[63] + b[63], a[64] + b[64]
    ];

CREATE TABLE log_seal (
    one        boolean PRIMARY KEY DEFAULT true CHECK (one),
    through    timestamptz NOT NULL,    -- every hour before is sealed
    retained_since timestamptz NOT NULL, -- start of the oldest UTC day whose checks are stored
    first_retained bigint NOT NULL DEFAULT 0 -- number of the oldest stored check in the log of all services
);

CREATE TABLE log_positions (
    service_id bigint PRIMARY KEY,      -- 0 for the log of all services
    rows       bigint NOT NULL          -- rows ever in sealed hours: the number of the next row
) WITH (fillfactor = 50);               -- each hour changes most rows

CREATE TABLE log_blocks (
    service_id bigint NOT NULL,         -- 0 for the log of all services
    block      bigint NOT NULL,         -- of site.BlockSize rows, full
    hour       timestamptz NOT NULL,    -- of its last row
    PRIMARY KEY (service_id, block)
);

CREATE INDEX log_blocks_hour ON log_blocks (hour);

-- Facts that change slowly: the documents of a service's site, read once a day, and the registration of its domain,
-- queried once a week. Null means unknown.
CREATE TABLE site_facts (
    service_id bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    next_at    timestamptz NOT NULL,    -- of the next reading; while a worker reads, the end of its lease
    checked_at timestamptz,             -- of the last reading that got any response
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
    next_at    timestamptz,             -- null where no registry is queried
    suffix     text,                    -- private suffix below which the name was registered
    checked_at timestamptz,             -- of the last response
    registrar  text,
    created_at timestamptz
);

CREATE INDEX domain_facts_due ON domain_facts (next_at);

-- robots.txt of origins. All crawlers share it, so that an origin is asked at most once a day.
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

-- Questions to a language model about services, and its answers. An input_hash is the SHA-256, in hex, of everything
-- that the question says about a service.
CREATE TABLE synthesis_inputs (
    service_id bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    due_at     timestamptz NOT NULL,    -- of the next computation; while a worker computes, the end of its lease
    input_hash text,                    -- of the last computation, null before the first
    changed_at timestamptz,             -- when this hash was first computed
    leased_until timestamptz            -- a worker asks the model until then
);

CREATE INDEX synthesis_inputs_due ON synthesis_inputs (due_at);

CREATE TABLE syntheses (
    service_id     bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    input_hash     text NOT NULL,
    model_id       text NOT NULL,
    prompt_version text NOT NULL,
    asked_at       timestamptz NOT NULL,
    answer         jsonb NOT NULL       -- validated and clipped
);

-- Failed questions. They are not in syntheses, so that the last valid answer stays.
CREATE TABLE synthesis_failures (
    service_id     bigint PRIMARY KEY REFERENCES services ON DELETE CASCADE,
    input_hash     text NOT NULL,
    model_id       text NOT NULL,
    prompt_version text NOT NULL,
    failed_at      timestamptz NOT NULL,
    failures       integer NOT NULL CHECK (failures >= 0), -- consecutive failures of this question
    reason         text NOT NULL,       -- of the last failure
    retry_at       timestamptz NOT NULL -- of the next attempt, at the earliest
);

-- Requests that all crawlers sent to the model on a UTC day. Each is counted before it is sent.
CREATE TABLE synthesis_days (
    day      date PRIMARY KEY,
    requests integer NOT NULL CHECK (requests >= 0)
);

-- Submissions of services, with the result of their probe and the reviewer's decision. Only approved ones are
-- published.
CREATE TABLE submissions (
    id           uuid PRIMARY KEY,
    received_at  timestamptz NOT NULL,
    client       bytea NOT NULL,        -- keyed hash of the sender's address, used to count submissions
    idempotency_key text,
    content_hash bytea NOT NULL,        -- of the whole submission, to recognise a repetition
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
    service_id   bigint REFERENCES services ON DELETE CASCADE, -- erasing a service erases its submission

    probe_due_at timestamptz,           -- of the next probe, or the end of a lease; null after the probe
    probe_result jsonb
);

CREATE UNIQUE INDEX submissions_pending ON submissions (split_part(url, '://', 2)) WHERE state = 'pending';
CREATE UNIQUE INDEX submissions_key ON submissions (client, idempotency_key);
CREATE INDEX submissions_of_client ON submissions (client, received_at);
CREATE INDEX submissions_of_domain ON submissions (domain) WHERE state = 'pending';
CREATE INDEX submissions_probe_due ON submissions (probe_due_at) WHERE probe_due_at IS NOT NULL;
CREATE INDEX submissions_of_service ON submissions (service_id);

-- Probes of submissions in the last hour, by probed domain.
CREATE TABLE submission_probes (
    domain   text NOT NULL,
    began_at timestamptz NOT NULL
);

CREATE INDEX submission_probes_of_domain ON submission_probes (domain, began_at);

-- Decisions of operators.
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

-- State that the processes of one directory share: when each host may be asked next, and when each step last ran. Jobs
-- are in River's tables, which River migrates.

CREATE TABLE hosts (
    host        text PRIMARY KEY,       -- name and port
    next_at     timestamptz NOT NULL,   -- earliest next request: the end of the last one and the gap
    refilled_at timestamptz NOT NULL,   -- when the hour's allowance is full again
    held_by     uuid,                   -- process that asks the host now
    held_until  timestamptz NOT NULL    -- end of its lease
) WITH (fillfactor = 50);               -- a request changes a row and no index

CREATE TABLE steps (
    name       text PRIMARY KEY,        -- build, publish, index-eip155-8453
    period     interval NOT NULL,       -- from one start to the next
    follows    text NOT NULL,           -- step that must have ended since this one started; '' for none
    offered_at timestamptz NOT NULL,    -- by a process that can run it; a step that no process offers is not due
    began_at   timestamptz,             -- of the last run that succeeded
    ended_at   timestamptz
);

-- The contents of the pointer of each publication target, or the contents that are about to be written. A row is
-- written before the pointer is moved, and replaced only if its generation is unchanged: of two publishers, one
-- succeeds.
CREATE TABLE publications (
    target     text PRIMARY KEY,  -- s3://bucket/prefix or a folder
    generation bigint NOT NULL CHECK (generation > 0),
    snapshot   text NOT NULL,
    digest     text NOT NULL,
    withdrawn  text NOT NULL,     -- the newest snapshot that a rollback withdrew, '' for none
    moved_at   timestamptz NOT NULL
);

-- Services that the operator erased. A snapshot may lack these services although the one before has them.
CREATE TABLE removed_services (
    slug       text PRIMARY KEY,
    id         bigint GENERATED ALWAYS AS IDENTITY UNIQUE, -- a checkpoint names the last one that its packs respect
    removed_at timestamptz NOT NULL
);

-- Facilitators and their settlements on chain. Facilitators and settlers come from lists. A settlement stays with the
-- facilitator that it was recorded for, even if a list changes later.

CREATE TABLE facilitators (
    id              text PRIMARY KEY,
    name            text NOT NULL,
    website_url     text NOT NULL,
    docs_url        text,
    facilitator_url text,
    upstream_status text NOT NULL,      -- status in the list's source: merged, merged_after_snapshot, pull_request, ...
    trusted         boolean NOT NULL DEFAULT false -- the operator vouches for its settlers
);

-- An account settles for one facilitator only; otherwise a settlement could not be attributed.
CREATE TABLE settlers (
    network        text NOT NULL,       -- CAIP-2
    address        text NOT NULL,       -- in normal form
    facilitator_id text NOT NULL REFERENCES facilitators,
    tokens         text[] NOT NULL,     -- tokens that it settles, in normal form
    since          date,                -- first day of its settlements, null if unknown
    deprecated     boolean NOT NULL,
    PRIMARY KEY (network, address)
);

CREATE INDEX settlers_of_facilitator ON settlers (facilitator_id);

CREATE TABLE chains (
    id      smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network text NOT NULL UNIQUE,       -- CAIP-2

    head_block  bigint,                 -- newest confirmed block at the last poll, null before the first
    head_at     timestamptz,
    polled_at   timestamptz,
    counted_from bigint,                -- lowest block of any counting scan, null without scans
    pruned_to   bigint NOT NULL DEFAULT -1 -- ranges below are deleted: no roll-back goes below this block
);

-- An address has one number on all networks, so that a buyer on two networks counts once.
CREATE TABLE accounts (
    id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    address text NOT NULL UNIQUE        -- in normal form
);

-- The tokens that each facilitator settles on each network. Sums refer to a row by token_id.
CREATE TABLE facilitator_tokens (
    id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    facilitator_id text NOT NULL REFERENCES facilitators,
    chain_id       smallint NOT NULL REFERENCES chains,
    token          text NOT NULL,       -- in normal form
    UNIQUE (facilitator_id, chain_id, token)
);

-- A scan reads the settlements of its settlers in the blocks [next, until). Finished scans stay while a reorganisation
-- may reopen them. Finished counting scans stay for good, because they say since when a network is measured.
CREATE TABLE scans (
    id       integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_id smallint NOT NULL REFERENCES chains,
    version  bigint GENERATED ALWAYS AS IDENTITY UNIQUE, -- changes when settlers join; old ones are refused
    first    bigint NOT NULL,
    since    timestamptz,               -- time of block first, null if only a backfill below has one
    next     bigint NOT NULL,
    until    bigint,                    -- null for the scan that follows the head
    counts   boolean NOT NULL           -- whether it counts authorisations; exactly one scan counts each block
);

CREATE UNIQUE INDEX scans_head ON scans (chain_id) WHERE until IS NULL;

-- The settlers of scans. A settler that is removed from the lists, or comes back changed, is scanned again.
CREATE TABLE scan_settlers (
    scan_id integer NOT NULL REFERENCES scans ON DELETE CASCADE,
    network text NOT NULL,
    address text NOT NULL,
    PRIMARY KEY (scan_id, address),
    FOREIGN KEY (network, address) REFERENCES settlers ON DELETE CASCADE
);

CREATE INDEX scan_settlers_of ON scan_settlers (network, address);

-- Committed ranges of blocks that a reorganisation may still undo.
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

-- The counts of each range. A roll-back subtracts them.
CREATE TABLE range_authorizations (
    range_id       bigint NOT NULL REFERENCES ranges ON DELETE CASCADE,
    token          text NOT NULL,
    day            date NOT NULL,
    authorizations bigint NOT NULL CHECK (authorizations >= 0),
    PRIMARY KEY (range_id, token, day)
);

CREATE TABLE range_senders (
    range_id   bigint NOT NULL REFERENCES ranges ON DELETE CASCADE,
    day        date NOT NULL,
    sender     text NOT NULL,
    token      text NOT NULL,
    payments   bigint NOT NULL CHECK (payments >= 0),
    amount     numeric NOT NULL CHECK (amount >= 0),
    recipients bigint NOT NULL CHECK (recipients >= 0),
    PRIMARY KEY (range_id, day, sender, token)
);

-- Authorisations of a token: all, and those among the settlements of listed settlers.
CREATE TABLE authorization_days (
    chain_id       smallint NOT NULL,
    token          text NOT NULL,
    day            date NOT NULL,
    authorizations bigint NOT NULL DEFAULT 0 CHECK (authorizations >= 0),
    attributed     bigint NOT NULL DEFAULT 0 CHECK (attributed >= 0),
    PRIMARY KEY (chain_id, day, token)
);

-- Payments to known recipients by senders that no list names. recipients is the maximum over ranges, a lower bound.
CREATE TABLE sender_days (
    chain_id   smallint NOT NULL,
    day        date NOT NULL,
    sender     text NOT NULL,
    token      text NOT NULL,
    payments   bigint NOT NULL CHECK (payments >= 0),
    amount     numeric NOT NULL CHECK (amount >= 0),
    recipients bigint NOT NULL CHECK (recipients >= 0),
    pruned_recipients bigint NOT NULL DEFAULT 0 CHECK (pruned_recipients >= 0), -- the maximum over deleted ranges
    PRIMARY KEY (chain_id, day, sender, token)
);

-- How far the signatures of a Solana settler have been read, from new to old.
CREATE TABLE walks (
    network     text NOT NULL,
    address     text NOT NULL,
    until       text NOT NULL,          -- newest signature of the last finished walk, as in getSignaturesForAddress
    newest      text NOT NULL,          -- newest signature of the walk in progress, '' without one
    before      text NOT NULL,          -- oldest signature that this walk has read
    newest_slot bigint NOT NULL,        -- the chain's head when the newest walk started
    newest_at   timestamptz,
    through     timestamptz,            -- newest_at of the last finished walk, null before the first
    history_start timestamptz,          -- start of the nodes' history, null if the first walk reached the first day
    PRIMARY KEY (network, address),
    FOREIGN KEY (network, address) REFERENCES settlers ON DELETE CASCADE
);

-- Without foreign keys, because the writer has just read or inserted every row that a settlement refers to. The key
-- begins with the block, so that new rows are appended to the index and a roll-back finds them at its end.
CREATE TABLE settlements (
    settled_at  timestamptz NOT NULL,   -- time of its block
    block       bigint NOT NULL,
    settler_id  bigint NOT NULL,
    payer_id    bigint NOT NULL,
    payee_id    bigint NOT NULL,
    token_id    integer NOT NULL,
    log_index   integer NOT NULL,       -- of the transfer: log index on EVM, instruction path elsewhere
    scan_id     integer,                -- that found it, null without one
    chain_id    smallint NOT NULL,
    transaction bytea NOT NULL,         -- the 32 bytes of a hash in hex, else the bytes of the text
    block_hash  bytea NOT NULL,         -- in the same form; empty if the chain has none
    method      text NOT NULL,          -- eip3009, permit2, transfer, batch, spl; '' if unknown
    amount      numeric NOT NULL CHECK (amount >= 0 AND scale(amount) = 0), -- atomic units
    PRIMARY KEY (chain_id, block, transaction, log_index)
);

-- Sums, written with the settlements. A build reads only these tables, so its cost does not grow with settlements.
CREATE TABLE token_totals (
    token_id    integer PRIMARY KEY,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    payers      bigint NOT NULL CHECK (payers >= 0), -- distinct payers
    first_day   date NOT NULL,
    last_at     timestamptz NOT NULL
);

CREATE TABLE token_hours (
    token_id    integer NOT NULL,
    hour        timestamptz NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (hour, token_id)        -- the newest hours of all tokens are read together
);

CREATE TABLE token_days (
    token_id    integer NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    self_settlements bigint NOT NULL CHECK (self_settlements >= 0), -- of these, payer and payee are equal
    self_amount numeric NOT NULL CHECK (self_amount >= 0),
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (token_id, day)
);

-- The last day of each payer. The distinct payers in a window that ends today are those whose last day is in it.
CREATE TABLE token_payers (
    token_id integer NOT NULL,
    payer_id bigint NOT NULL,
    last_day date NOT NULL,
    PRIMARY KEY (token_id, payer_id)
);

CREATE INDEX token_payers_newest ON token_payers (token_id, last_day);

CREATE TABLE payee_days (
    payee_id    bigint NOT NULL,
    token_id    integer NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, token_id, day)
) WITH (fillfactor = 80);               -- each range updates rows of the current day on their page

-- A build reads the last days of all payees at once. Rows are roughly in the order of days.
CREATE INDEX payee_days_day ON payee_days USING brin (day date_minmax_multi_ops) WITH (pages_per_range = 32);

CREATE TABLE payee_totals (
    payee_id    bigint NOT NULL,
    token_id    integer NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, token_id)
) WITH (fillfactor = 80);

-- Payments by payee, payer and day, from which the distinct payers of a payee in any window are exact. The key begins
-- with the day, because windows are read whole and new days are written together.
CREATE TABLE payer_days (
    day         date NOT NULL,
    token_id    integer NOT NULL,
    payee_id    bigint NOT NULL,
    payer_id    bigint NOT NULL,
    settlements bigint NOT NULL CHECK (settlements >= 0),
    amount      numeric NOT NULL CHECK (amount >= 0),
    PRIMARY KEY (day, payee_id, payer_id, token_id)
) WITH (fillfactor = 80);

-- A roll-back looks up when a payer paid before. Entries are short, because equal keys are stored once.
CREATE INDEX payer_days_of_payer ON payer_days (payer_id);

-- How often each amount was paid, for medians. There are few prices, so there are few amounts.
CREATE TABLE amount_days (
    day         date NOT NULL,
    token_id    integer NOT NULL,
    payee_id    bigint NOT NULL,
    amount      numeric NOT NULL CHECK (amount >= 0), -- of one settlement
    settlements bigint NOT NULL CHECK (settlements >= 0),
    PRIMARY KEY (day, payee_id, token_id, amount)
) WITH (fillfactor = 80);

-- Tokens from the operator's configuration when a network was last indexed. For a network without rows, the built-in
-- tokens are measured.
CREATE TABLE tokens (
    network  text NOT NULL,             -- CAIP-2
    address  text NOT NULL,             -- in normal form
    symbol   text NOT NULL,
    decimals smallint NOT NULL CHECK (decimals BETWEEN 0 AND 36), -- a token has 10^decimals atomic units
    usd      boolean NOT NULL,          -- worth one US dollar; counts in volumes
    PRIMARY KEY (network, address)
);
---- create above / drop below ----
DROP TABLE tokens, amount_days, payer_days, payee_totals, payee_days, token_payers, token_days, token_hours,
    token_totals, settlements, walks, sender_days, authorization_days, range_senders, range_authorizations, ranges,
    scan_settlers, scans, facilitator_tokens, accounts, chains, settlers, facilitators, removed_services,
    publications, steps, hosts, audit, submission_probes, submissions, synthesis_days, synthesis_failures, syntheses,
    synthesis_inputs, rdap_bootstrap, robots, domain_facts, site_facts, log_blocks, log_positions, log_seal,
    check_days, check_hours, checks, settings, change_baselines, change_days, change_blocks, change_positions,
    change_log, changes, prices, responses, envelopes, endpoints, service_states, services;
DROP FUNCTION histogram_add;
