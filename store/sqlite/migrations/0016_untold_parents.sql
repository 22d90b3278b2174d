-- How parents are told of children that ended in callers' transactions is PostgreSQL's. It is a migration because both databases have the same ones.

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (16, 'untold_parents', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
