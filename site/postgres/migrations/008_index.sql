-- Indexers: how far each network has been read, and what was found in a form that a reorganisation can be taken out of.
-- Nothing wrote settlements before this version, so their tables are made anew in the shape that reading them asked for.

DROP TABLE payer_days, payee_days, flow_days, flow_hours, settlements, flows, accounts, chains;

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

-- Roll-ups, written with the settlements. A build reads these alone, so that its cost does not grow with settlements.
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
);

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
);

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
);
---- create above / drop below ----
DROP TABLE amount_days, payer_days, payee_days, flow_payers, flow_days, flow_hours, flow_totals, settlements, walks, sender_days, seen_days,
    range_senders, range_seen, ranges, scan_settlers, scans, flows, accounts, chains;

CREATE TABLE chains (
    id      smallint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    network text NOT NULL UNIQUE        -- CAIP-2
);

CREATE TABLE accounts (
    id       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    chain_id smallint NOT NULL REFERENCES chains,
    address  text NOT NULL,             -- in normal form
    UNIQUE (chain_id, address)
);

CREATE TABLE flows (
    id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    facilitator_id text NOT NULL REFERENCES facilitators,
    chain_id       smallint NOT NULL REFERENCES chains,
    token          text NOT NULL,       -- in normal form
    UNIQUE (facilitator_id, chain_id, token)
);

CREATE TABLE settlements (
    settled_at  timestamptz NOT NULL,   -- time of its block
    block       bigint NOT NULL,
    flow_id     integer NOT NULL,
    log_index   integer NOT NULL,       -- of the transfer: log on EVM, path of the instruction elsewhere
    settler_id  bigint NOT NULL,
    payer_id    bigint NOT NULL,
    payee_id    bigint NOT NULL,
    chain_id    smallint NOT NULL,
    transaction bytea NOT NULL,         -- 32 bytes of a hash in hex, else the text's own bytes
    amount      numeric NOT NULL CHECK (amount >= 0 AND scale(amount) = 0), -- atomic units
    PRIMARY KEY (chain_id, transaction, log_index)
);

CREATE INDEX settlements_block ON settlements USING brin (chain_id, block int8_minmax_multi_ops);

CREATE TABLE flow_hours (
    flow_id     integer NOT NULL,
    hour        timestamptz NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (hour, flow_id)         -- the newest hours of all flows are read together
);

CREATE TABLE flow_days (
    flow_id     integer NOT NULL,
    day         date NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (flow_id, day)
);

CREATE TABLE payee_days (
    payee_id    bigint NOT NULL,
    day         date NOT NULL,
    flow_id     integer NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, day, flow_id)
);

CREATE TABLE payer_days (
    payee_id    bigint NOT NULL,
    day         date NOT NULL,
    payer_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (payee_id, day, payer_id, flow_id)
);
