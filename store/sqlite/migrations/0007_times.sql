-- What cannot be invented later: when the handler of the last run was called, how long steps took, how a result is encoded, and what a
-- failure is like. Adding columns rewrites no table.
ALTER TABLE holdfast_finished ADD COLUMN started_at INTEGER;
ALTER TABLE holdfast_finished ADD COLUMN codec INTEGER;
ALTER TABLE holdfast_finished ADD COLUMN fingerprint INTEGER;
ALTER TABLE holdfast_journal ADD COLUMN took INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (7, 'times', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
