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

-- A hundred million settlements name a few networks, some hundred flows and a few million accounts over and over: they
-- are kept once and named by number, which makes a settlement a third of its size.
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

-- A flow is what one facilitator settles of one token on one network.
CREATE TABLE flows (
    id             integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    facilitator_id text NOT NULL REFERENCES facilitators,
    chain_id       smallint NOT NULL REFERENCES chains,
    token          text NOT NULL,       -- in normal form
    UNIQUE (facilitator_id, chain_id, token)
);

-- No foreign keys: RecordSettlements has just found or made every row that one names.
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

-- Finds the end of a chain, to take it back when the chain is reorganised.
CREATE INDEX settlements_block ON settlements USING brin (chain_id, block int8_minmax_multi_ops);

-- Roll-ups, written with the settlements. A build reads these alone, so that its cost does not grow with settlements.
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

-- Who paid whom on which day: distinct payers are exact over any window of days.
CREATE TABLE payer_days (
    payee_id    bigint NOT NULL,
    day         date NOT NULL,
    payer_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    PRIMARY KEY (payee_id, day, payer_id, flow_id)
);
---- create above / drop below ----
DROP TABLE payer_days, payee_days, flow_days, flow_hours, settlements, flows, accounts, chains, settlers, facilitators;
