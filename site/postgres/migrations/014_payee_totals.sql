-- A build reads of each payee its total and the days of the window; the days before lie packed.

CREATE TABLE payee_totals (
    payee_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    settlements bigint NOT NULL,
    amount      numeric NOT NULL,
    first_at    timestamptz NOT NULL,
    last_at     timestamptz NOT NULL,
    PRIMARY KEY (payee_id, flow_id)
);

INSERT INTO payee_totals
SELECT payee_id, flow_id, sum(settlements), sum(amount), min(first_at), max(last_at) FROM payee_days GROUP BY payee_id, flow_id;

-- Of the window's days all payees' are read. Rows come in the order of days, more or less.
CREATE INDEX payee_days_day ON payee_days USING brin (day date_minmax_multi_ops) WITH (pages_per_range = 32);

-- Copies of payee_days, made when they were first read and dropped when one of their days changes.
CREATE TABLE payee_packs (
    payee_id    bigint NOT NULL,
    flow_id     integer NOT NULL,
    through     date NOT NULL,          -- all days up to here are in
    days        bytea NOT NULL,         -- as pack.go writes them
    PRIMARY KEY (payee_id, flow_id)
);

CREATE INDEX payee_packs_through ON payee_packs (through);
---- create above / drop below ----
DROP TABLE payee_packs, payee_totals;

DROP INDEX payee_days_day;
