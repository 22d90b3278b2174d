-- In how many slots a limit is divided that nodes share evenly; of others NULL. It is found in the settings, too.
ALTER TABLE {schema}.limit_rule ADD COLUMN unit bigint;

-- How many slots of such a limit a node wishes for, and when it last said so.
ALTER TABLE {schema}.limit_grant ADD COLUMN want bigint NOT NULL DEFAULT 0, ADD COLUMN want_at bigint NOT NULL DEFAULT 0;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (28, 'fair_shares', {schema}.clock(NULL));
