-- Rates of limits per key: what claims read of a limit, so many microseconds between two jobs of a key (0: none start; NULL: keys have no rate).
ALTER TABLE holdfast_limit_rule ADD COLUMN key_period INTEGER;
ALTER TABLE holdfast_limit_rule ADD COLUMN key_burst INTEGER;

-- Where the rates of keys stand, those that jobs were claimed of lately: tat is when the next permit comes if none are saved up, counted by a period.
-- look_at is when a job that waits in gated may go on; NULL if none waits for the rate.
CREATE TABLE holdfast_key_rate (
  gate    INTEGER PRIMARY KEY,
  tat     INTEGER NOT NULL,
  period  INTEGER NOT NULL,
  look_at INTEGER
);
CREATE INDEX holdfast_key_rate_look ON holdfast_key_rate (look_at) WHERE look_at IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (29, 'key_rates', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
