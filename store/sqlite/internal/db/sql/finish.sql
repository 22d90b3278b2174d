-- Ends of runs.

-- name: finished_insert
INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- Many at once.
-- name: finished_insert_many
INSERT OR FAIL INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec)
VALUES {rows: (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)};

-- Of a job that failed or was cancelled.
-- name: finished_insert_lane
INSERT INTO holdfast_finished (id, state, finished_at, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec, lane)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: finished
SELECT state, finished_at, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec FROM holdfast_finished WHERE id = ?;

-- name: finished_delete
DELETE FROM holdfast_finished WHERE id = ?;

-- name: ended
SELECT f.state, f.reason, f.error, f.result, f.codec
FROM holdfast_finished f JOIN holdfast_job j ON j.id = f.id WHERE f.id = ?;

-- name: attempt_insert
INSERT INTO holdfast_attempt (id, lease, attempt, node, claimed_at, started_at, ended_at, outcome, taken, reason, error, trace)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: attempt_outcome
SELECT outcome, taken, node FROM holdfast_attempt WHERE id = ? AND lease = ?;

-- name: attempts
SELECT lease, attempt, node, claimed_at, started_at, ended_at, outcome, reason, error, trace
FROM holdfast_attempt WHERE id = ? ORDER BY lease;

-- Of jobs that ran before their bodies told it.
-- name: attempt_last_claimed_at
SELECT claimed_at FROM holdfast_attempt WHERE id = ? ORDER BY lease DESC LIMIT 1;

-- Of the attempt that failed last: retryable or failed.
-- name: attempt_last_error
SELECT error FROM holdfast_attempt WHERE id = ? AND outcome IN ({retryable}, {failed}) ORDER BY lease DESC LIMIT 1;

-- name: checkpoint_put
INSERT INTO holdfast_checkpoint (id, lease, percent, updated_at, message, value) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET lease = excluded.lease, percent = excluded.percent, updated_at = excluded.updated_at,
  message = excluded.message, value = excluded.value;

-- name: checkpoint
SELECT percent, updated_at, message, value FROM holdfast_checkpoint WHERE id = ?;

-- What earlier runs left, and what people asked: all that a claim of a job that is not new has to
-- know.
-- name: traces
-- params: @job
SELECT EXISTS (SELECT 1 FROM holdfast_journal e WHERE e.id = x.id), r.at, r.reason, c.percent, c.updated_at, c.message, c.value
FROM (SELECT @job AS id) x LEFT JOIN holdfast_cancel_request r ON r.id = x.id LEFT JOIN holdfast_checkpoint c ON c.id = x.id;

-- What people asked of a job that runs.
-- name: requests
SELECT {request_cancel}, at, reason, actor FROM holdfast_cancel_request WHERE id = ?
UNION ALL SELECT {request_pause}, at, reason, actor FROM holdfast_pause_request WHERE id = ?;

-- name: cancel_request_put
INSERT INTO holdfast_cancel_request (id, at, reason, actor) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: cancel_requests
SELECT id, at, reason, actor FROM holdfast_cancel_request ORDER BY id;

-- name: cancel_request_delete
DELETE FROM holdfast_cancel_request WHERE id = ?;

-- name: pause_request_put
INSERT INTO holdfast_pause_request (id, at, reason, actor) VALUES (?, ?, ?, ?) ON CONFLICT (id) DO NOTHING;

-- name: pause_requests
SELECT id FROM holdfast_pause_request ORDER BY id;

-- name: pause_request_delete
DELETE FROM holdfast_pause_request WHERE id = ?;
