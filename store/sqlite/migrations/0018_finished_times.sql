-- The index of the times at which jobs finished is PostgreSQL's. It is a migration because both databases have the same ones.

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (18, 'finished_times', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
