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
---- create above / drop below ----
DROP TABLE synthesis_days, synthesis_failures, syntheses, synthesis_inputs;
