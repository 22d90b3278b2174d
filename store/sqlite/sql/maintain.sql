-- What the clock asks for, and counts.

-- name: next_due
SELECT due FROM holdfast_deferred ORDER BY due, id LIMIT 1;

-- name: due
SELECT due, id, lane, ordering_key FROM holdfast_deferred WHERE due <= ? ORDER BY due, id LIMIT ? + 0;

-- name: due_take
DELETE FROM holdfast_deferred WHERE (due, id) <= (?, ?);

-- name: expired
SELECT id FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at <= ? ORDER BY state, finished_at LIMIT ? + 0;

-- name: retain_unique_key
DELETE FROM holdfast_unique_key
WHERE key = (SELECT unique_key FROM holdfast_job WHERE id = ?) AND id = ?;

-- name: retain_attempts
DELETE FROM holdfast_attempt WHERE id = ?;

-- name: retain_checkpoint
DELETE FROM holdfast_checkpoint WHERE id = ?;

-- name: retain_journal
DELETE FROM holdfast_journal WHERE id = ?;

-- name: retain_inbox
DELETE FROM holdfast_inbox WHERE id = ?;

-- name: ready_count
SELECT count(*) FROM (SELECT 1 FROM holdfast_ready WHERE lane = ? LIMIT ? + 0);

-- name: ready_oldest
SELECT run_at FROM holdfast_ready WHERE lane = ? ORDER BY run_at, id LIMIT 1;

-- name: keyed_page
SELECT run_at, id FROM holdfast_keyed WHERE queue = ? LIMIT ? + 0;

-- name: deferred_count
SELECT count(*) FROM (
  SELECT 1 FROM holdfast_deferred INDEXED BY holdfast_deferred_lane WHERE lane = ? AND state = ? LIMIT ? + 0);

-- name: ready_ids
SELECT id FROM holdfast_ready LIMIT ? + 0;

-- name: keyed_ids
SELECT id FROM holdfast_keyed LIMIT ? + 0;

-- name: deferred_ids
SELECT id, state FROM holdfast_deferred LIMIT ? + 0;
