-- In how many slots a limit is divided that nodes share evenly; of others NULL. It is found in the settings, too.
ALTER TABLE holdfast_limit_rule ADD COLUMN unit INTEGER;

-- How many slots of such a limit a node wishes for, and when it last said so.
ALTER TABLE holdfast_limit_grant ADD COLUMN want INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holdfast_limit_grant ADD COLUMN want_at INTEGER NOT NULL DEFAULT 0;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (28, 'fair_shares', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
