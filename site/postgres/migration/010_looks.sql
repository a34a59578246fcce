-- Whether an endpoint asks a browser, or a request by its other method, for the same payment as an agent. Null until a
-- visit has looked.
ALTER TABLE endpoints
    ADD looked_at timestamptz,          -- the last such look
    ADD readers jsonb;                  -- what each reader was asked for then; the agent is the first
---- create above / drop below ----
ALTER TABLE endpoints DROP looked_at, DROP readers;
