-- Bodies.

-- name: job_insert
INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key,
  unique_states, options, tags, metadata, args)
VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- name: job_run_at
SELECT run_at FROM holdfast_job WHERE id = ?;

-- name: job_lane
SELECT lane FROM holdfast_job WHERE id = ?;

-- The columns of a body are read by body.scan, in this order.
-- name: job
SELECT lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key, unique_states,
  options, tags, metadata, args
FROM holdfast_job WHERE id = ?;

-- name: job_page
SELECT id, lane, tags FROM holdfast_job WHERE id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: job_tags
SELECT lane, tags FROM holdfast_job WHERE id = ?;

-- name: job_put_back
UPDATE holdfast_job SET run_at = ?, lease = ?, attempt = ? WHERE id = ?;

-- name: job_replace
UPDATE holdfast_job SET args = ?, codec = ?, metadata = ?, run_at = ? WHERE id = ?;

-- name: job_delete
DELETE FROM holdfast_job WHERE id = ?;
