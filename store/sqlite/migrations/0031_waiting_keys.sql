-- The jobs of a key of a limit per key. Of other jobs it has nothing: whether one has a key is told by its options, without reading them as
-- JSON.
CREATE INDEX holdfast_job_limit_key ON holdfast_job (options ->> 'limit_key', id) WHERE instr(options, '"limit_key"') > 0;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (31, 'waiting_keys', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
