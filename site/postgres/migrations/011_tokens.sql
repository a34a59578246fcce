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
DROP TABLE tokens;
