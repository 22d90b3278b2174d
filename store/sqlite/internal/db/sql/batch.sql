-- Batches.

-- fragment: batch_columns
id, namespace, settings, created_at, closed_at, done_at, completed, failed, cancelled, cursor, through, waited, version

-- name: batch
SELECT {{batch_columns}} FROM holdfast_batch WHERE id = ?;

-- name: batch_insert
INSERT INTO holdfast_batch (id, namespace, settings, created_at) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: batch_close
UPDATE holdfast_batch SET closed_at = ?, version = version + 1 WHERE id = ? AND closed_at IS NULL;

-- Of a batch whether it is closed.
-- name: batch_closed
SELECT closed_at IS NOT NULL FROM holdfast_batch WHERE id = ? AND namespace = ?;

-- name: batches
-- params: @before, @undone, @limit
SELECT {{batch_columns}} FROM holdfast_batch WHERE id < @before AND NOT (@undone AND done_at IS NOT NULL) ORDER BY id DESC LIMIT @limit + 0;

-- name: batches_of
-- params: @namespace, @before, @undone, @limit
SELECT {{batch_columns}} FROM holdfast_batch INDEXED BY holdfast_batch_namespace
WHERE namespace = @namespace AND id < @before AND NOT (@undone AND done_at IS NOT NULL) ORDER BY id DESC LIMIT @limit + 0;

-- name: batches_to_count
SELECT {{batch_columns}} FROM holdfast_batch INDEXED BY holdfast_batch_undone
WHERE done_at IS NULL AND closed_at IS NOT NULL AND id > ? ORDER BY id LIMIT ? + 0;

-- name: batch_any_to_count
SELECT 1 FROM holdfast_batch INDEXED BY holdfast_batch_undone WHERE done_at IS NULL AND closed_at IS NOT NULL LIMIT 1;

-- name: batch_members
SELECT j.id, (SELECT f.state FROM holdfast_finished f WHERE f.id = j.id)
FROM holdfast_job j INDEXED BY holdfast_job_parent WHERE j.parent = ? AND j.id > ? ORDER BY j.id LIMIT ? + 0;

-- name: batch_counted
UPDATE holdfast_batch SET completed = ?, failed = ?, cancelled = ?, cursor = ?, through = ?, waited = ?, version = version + 1 WHERE id = ?;

-- name: batch_called
UPDATE holdfast_batch SET done_at = ?, version = version + 1 WHERE id = ?;

-- name: batches_over
SELECT id FROM holdfast_batch INDEXED BY holdfast_batch_done WHERE done_at IS NOT NULL AND done_at <= ? ORDER BY done_at LIMIT ? + 0;

-- name: batch_delete
DELETE FROM holdfast_batch WHERE id = ?;

-- For a copy into another database.

-- name: copy_batch_sums
SELECT count(*), coalesce(sum(version), 0) FROM holdfast_batch;

-- name: copy_batches
SELECT {{batch_columns}} FROM holdfast_batch WHERE id > ? ORDER BY id LIMIT ? + 0;

-- name: copy_batch_put
INSERT OR REPLACE INTO holdfast_batch ({{batch_columns}}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
