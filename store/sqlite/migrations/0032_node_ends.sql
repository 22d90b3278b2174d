-- How a node has ended: 1 it left, 2 it was declared dead; NULL: it lives, or ended before this migration.
ALTER TABLE holdfast_node ADD COLUMN ended INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (32, 'node_ends', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
