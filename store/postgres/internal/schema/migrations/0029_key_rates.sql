-- Rates of limits per key: what claims read of a limit, so many microseconds between two jobs of a key (0: none start; NULL: keys have no rate).
ALTER TABLE {schema}.limit_rule ADD COLUMN key_period bigint, ADD COLUMN key_burst bigint;

-- Where the rates of keys stand, those that jobs were claimed of lately: tat is when the next permit comes if none are saved up, counted by a period.
-- look_at is when a job that waits in gated may go on; NULL if none waits for the rate. While none does rows are updated in place.
CREATE TABLE {schema}.key_rate (
  gate    bigint PRIMARY KEY,
  tat     bigint NOT NULL,
  period  bigint NOT NULL,
  look_at bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX key_rate_look ON {schema}.key_rate (look_at) WHERE look_at IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (29, 'key_rates', {schema}.clock(NULL));
