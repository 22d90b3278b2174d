-- Bodies.

-- name: job_insert
INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key,
  unique_states, options, tags, metadata, args)
VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- Many at once. It ends at the first that is there already, and keeps those before it.
-- name: job_insert_many
INSERT OR FAIL INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key,
  unique_states, options, tags, metadata, args)
VALUES {rows: (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?)};

-- name: child_insert
INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key,
  unique_states, options, tags, metadata, args, parent, marks)
VALUES (?, ?, ?, ?, 0, 0, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;

-- name: job_run_at
SELECT run_at FROM holdfast_job WHERE id = ?;

-- name: job_lease
SELECT lease FROM holdfast_job WHERE id = ?;

-- name: job_parent
SELECT parent FROM holdfast_job WHERE id = ?;

-- name: job_lane
SELECT lane FROM holdfast_job WHERE id = ?;

-- The columns of a body from lane on are read by Body.Scan, in this order.
-- name: job
SELECT claimed_at, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key, unique_states,
  options, tags, metadata, args, marks, parent
FROM holdfast_job WHERE id = ?;

-- name: job_put_back
UPDATE holdfast_job SET lane = ?, run_at = ?, lease = ?, attempt = ?, claimed_at = ? WHERE id = ?;

-- name: job_due
UPDATE holdfast_job SET run_at = ? WHERE id = ?;

-- name: job_mark
UPDATE holdfast_job SET marks = ? WHERE id = ?;

-- name: job_closing
-- params: @decided_at, @job
UPDATE holdfast_job SET marks = coalesce(marks, 0) | {mark_closing} | (@decided_at << {mark_decided})
WHERE id = @job AND coalesce(marks, 0) & {mark_closing} = 0;

-- name: job_continue
UPDATE holdfast_job SET args = ?, codec = ? WHERE id = ?;

-- name: job_replace
UPDATE holdfast_job SET args = ?, codec = ?, metadata = ?, run_at = ? WHERE id = ?;

-- name: job_delete
DELETE FROM holdfast_job WHERE id = ?;
