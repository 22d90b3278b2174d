-- The note of a copy into this database is a row of holdfast_meta, which asks nothing of the tables here. It is a migration
-- because both databases have the same ones, and PostgreSQL's makes a table.

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (13, 'copies', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
