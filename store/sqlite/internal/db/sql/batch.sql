-- Batches. One is not through while a member that was counted has a note that it was retried since.

-- fragment: batch_columns
id, namespace, settings, created_at, closed_at, done_at, completed, failed, cancelled, cursor,
  through AND NOT EXISTS (SELECT 1 FROM holdfast_batch_retried r WHERE r.batch = holdfast_batch.id), version

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

-- Members that were counted and retried since, with how they have ended again, how they had ended
-- before, and whether they are there.
-- name: batch_retried
-- params: @batch, @limit
SELECT r.id, (SELECT f.state FROM holdfast_finished f WHERE f.id = r.id), r.state,
  NOT EXISTS (SELECT 1 FROM holdfast_job j WHERE j.id = r.id AND j.parent = r.batch)
FROM holdfast_batch_retried r WHERE r.batch = @batch ORDER BY r.id LIMIT @limit + 0;

-- Notes that a member that had ended so runs again, if it was counted and its batch was not called
-- back. If there is a note already it was not counted again.
-- name: batch_retry
-- params: @batch, @id, @state
INSERT INTO holdfast_batch_retried (batch, id, state)
SELECT b.id, t.id, t.state FROM (SELECT @batch AS batch, @id AS id, @state AS state) t
CROSS JOIN holdfast_batch b ON b.id = t.batch WHERE b.done_at IS NULL AND b.cursor >= t.id
ON CONFLICT (batch, id) DO NOTHING;

-- name: batch_retried_forget
DELETE FROM holdfast_batch_retried WHERE batch = ? AND id = ?;

-- name: batch_counted
UPDATE holdfast_batch SET completed = ?, failed = ?, cancelled = ?, cursor = ?, through = ?, version = version + 1 WHERE id = ?;

-- name: batch_called
UPDATE holdfast_batch SET done_at = ?, version = version + 1 WHERE id = ?;

-- name: batches_over
SELECT id FROM holdfast_batch INDEXED BY holdfast_batch_done WHERE done_at IS NOT NULL AND done_at <= ? ORDER BY done_at LIMIT ? + 0;

-- name: batch_delete
DELETE FROM holdfast_batch WHERE id = ?;

-- For a copy into another database.

-- name: copy_batch_sums
SELECT count(*), coalesce(sum(version), 0) FROM holdfast_batch;

-- One of which members were retried since they were counted is counted from the beginning there.
-- name: copy_batches
-- params: @after, @limit
SELECT b.id, b.namespace, b.settings, b.created_at, b.closed_at, b.done_at, b.completed * b.whole, b.failed * b.whole, b.cancelled * b.whole,
  iif(b.whole, b.cursor, NULL), b.through AND b.whole, b.version
FROM (
  SELECT *, NOT EXISTS (SELECT 1 FROM holdfast_batch_retried r WHERE r.batch = a.id) AS whole
  FROM holdfast_batch a WHERE a.id > @after ORDER BY a.id LIMIT @limit + 0
) b ORDER BY b.id;

-- name: copy_batch_put
INSERT OR REPLACE INTO holdfast_batch (id, namespace, settings, created_at, closed_at, done_at, completed, failed, cancelled, cursor, through, version)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);
