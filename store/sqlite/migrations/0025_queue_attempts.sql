-- What a person has set of how the jobs of a queue are attempted, as a document.
ALTER TABLE holdfast_queue ADD COLUMN attempts TEXT;

-- Read by nodes, and nearly always empty.
CREATE INDEX holdfast_queue_attempts ON holdfast_queue (namespace) WHERE attempts IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (25, 'queue_attempts', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
