-- A waiting job may be handed over to an outside system, which ends it: 1, or 2 if its run has registered compensations.
ALTER TABLE holdfast_deferred ADD COLUMN handed_over INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (10, 'handed_over', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
