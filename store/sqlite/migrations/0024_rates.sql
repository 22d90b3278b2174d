-- Rates of limits. Permits are so many microseconds apart (period; 0: there are none; NULL: the limit has no rate), and so many at once (burst). tat is
-- when the next one comes if none are saved up, seen the time of the last change, move counts changes, and before drained_until no permit comes.
ALTER TABLE holdfast_limit_rule ADD COLUMN period INTEGER;
ALTER TABLE holdfast_limit_rule ADD COLUMN burst INTEGER NOT NULL DEFAULT 1;
ALTER TABLE holdfast_limit_rule ADD COLUMN tat INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holdfast_limit_rule ADD COLUMN seen INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holdfast_limit_rule ADD COLUMN move INTEGER NOT NULL DEFAULT 0;
ALTER TABLE holdfast_limit_rule ADD COLUMN drained_until INTEGER NOT NULL DEFAULT 0;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (24, 'rates', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
