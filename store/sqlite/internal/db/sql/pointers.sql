-- Where jobs are.

-- name: ready_insert
INSERT INTO holdfast_ready (lane, run_at, id) VALUES (?, ?, ?);

-- Many at once.
-- name: ready_insert_many
INSERT OR FAIL INTO holdfast_ready (lane, run_at, id) VALUES {rows: (?, ?, ?)};

-- name: ready_delete
DELETE FROM holdfast_ready WHERE lane = ? AND run_at = ? AND id = ?;

-- name: ready_has
SELECT 1 FROM holdfast_ready WHERE lane = ? AND run_at = ? AND id = ?;

-- name: deferred_insert
INSERT INTO holdfast_deferred (due, id, lane, state, ordering_key) VALUES (?, ?, ?, ?, ?);

-- name: wait_insert
INSERT INTO holdfast_deferred (due, id, lane, state, ordering_key, seen, kinds, awaited, failures, held, before_state, before_due, wait,
  handed_over)
VALUES (?, ?, ?, {waiting}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: wait
SELECT held, before_state, before_due, wait, handed_over FROM holdfast_deferred WHERE due = ? AND id = ? AND state = {waiting};

-- name: deferred_delete
DELETE FROM holdfast_deferred WHERE due = ? AND id = ?;

-- A held job is not due at its run time but never: at the greatest number.
-- name: deferred_state
-- params: @run_at, @job
SELECT state, due FROM holdfast_deferred WHERE due IN (@run_at, {never}) AND id = @job;

-- name: keyed_insert
INSERT INTO holdfast_keyed (queue, ordering_key, priority, run_at, id, lane) VALUES (?, ?, ?, ?, ?, ?);

-- name: keyed_delete
DELETE FROM holdfast_keyed WHERE queue = ? AND ordering_key = ? AND priority = ? AND run_at = ? AND id = ?;

-- name: keyed_has
SELECT 1 FROM holdfast_keyed WHERE queue = ? AND ordering_key = ? AND priority = ? AND run_at = ? AND id = ?;

-- name: keyed_head
SELECT priority, run_at, id, lane FROM holdfast_keyed
WHERE queue = ? AND ordering_key = ? ORDER BY priority, run_at, id LIMIT 1;

-- name: key_holder
SELECT id FROM holdfast_key_holder WHERE queue = ? AND ordering_key = ?;

-- name: key_holder_insert
INSERT INTO holdfast_key_holder (queue, ordering_key, id) VALUES (?, ?, ?);

-- name: key_holder_delete
DELETE FROM holdfast_key_holder WHERE queue = ? AND ordering_key = ? AND id = ?;

-- name: unique_holder
SELECT id FROM holdfast_unique_key WHERE key = ?;

-- name: unique_insert
INSERT INTO holdfast_unique_key (key, id) VALUES (?, ?);

-- name: unique_delete
DELETE FROM holdfast_unique_key WHERE key = ? AND id = ?;
