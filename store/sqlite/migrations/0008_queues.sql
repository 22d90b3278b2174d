-- Queues that people have deleted: they are listed only while they have jobs that are not finished.
ALTER TABLE holdfast_queue ADD COLUMN deleted_at INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (8, 'queues', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
