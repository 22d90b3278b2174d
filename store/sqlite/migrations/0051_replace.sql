-- What PostgreSQL's function enqueue replaces. SQLite has no such function: programs alone enqueue here.
INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (51, 'replace', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
