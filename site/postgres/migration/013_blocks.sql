-- For operators:
-- - Hosts can be blocked: nothing of them is listed or visited until somebody ends the block.
-- - Submissions count by the wider network of their sender, too, and senders can be banned.
-- - Each network says of how many nodes the settlements are compared.

ALTER TABLE opt_outs
    ADD blocked_by text NOT NULL DEFAULT '', -- who of the operator blocked the host; '' if its owner opted out
    ADD reason     text NOT NULL DEFAULT ''; -- why the operator did

ALTER TABLE inbox
    ADD network bytea NOT NULL DEFAULT ''; -- keyed hash of the /48 of a sender's IPv6 address, or of its IPv4 address
CREATE INDEX inbox_of_network ON inbox (kind, network, received_at);

ALTER TABLE chains
    ADD compared_nodes integer CHECK (compared_nodes > 0); -- nodes whose settlements are compared, 1 if one is believed;
                                                           -- null if unknown

-- Senders of whom nothing is taken.
CREATE TABLE banned_senders (
    network       bytea PRIMARY KEY,      -- as inbox.network
    submission_id uuid NOT NULL,          -- by which the operator knows the sender
    banned_at     timestamptz NOT NULL,
    actor         text NOT NULL,
    reason        text NOT NULL
);

---- create above / drop below ----

DROP TABLE banned_senders;
ALTER TABLE chains DROP compared_nodes;
ALTER TABLE inbox DROP network;
DELETE FROM opt_outs WHERE blocked_by <> '';
ALTER TABLE opt_outs DROP blocked_by, DROP reason;
