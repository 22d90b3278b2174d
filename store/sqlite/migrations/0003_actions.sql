-- The index by which a job's actions are found.
CREATE INDEX holdfast_audit_job ON holdfast_audit (job, seq) WHERE job IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (3, 'actions', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
