-- Until when nothing of a queue is claimed, and how many rests have followed each other.
ALTER TABLE holdfast_queue ADD COLUMN rest_until INTEGER;
ALTER TABLE holdfast_queue ADD COLUMN rest_level INTEGER NOT NULL DEFAULT 0;

-- Read by every claim, and nearly always empty.
DROP INDEX holdfast_queue_paused;
CREATE INDEX holdfast_queue_halted ON holdfast_queue (id) WHERE paused_at IS NOT NULL OR rest_until IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (22, 'rests', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
