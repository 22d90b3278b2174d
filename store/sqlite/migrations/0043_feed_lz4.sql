-- PostgreSQL compresses the ids of its feed. There is nothing to do here.
INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (43, 'feed_lz4', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
