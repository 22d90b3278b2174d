-- Classes of retention, and what retention has removed.

-- name: classes
SELECT name, completed, failed, cancelled, set_at, set_by FROM holdfast_retention_class ORDER BY name;

-- name: class_put
INSERT INTO holdfast_retention_class (name, completed, failed, cancelled, set_at, set_by) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE SET completed = excluded.completed, failed = excluded.failed, cancelled = excluded.cancelled,
  set_at = excluded.set_at, set_by = excluded.set_by;

-- name: class_delete
DELETE FROM holdfast_retention_class WHERE name = ?;

-- name: class_clear
DELETE FROM holdfast_retention_class;

-- What is set of all queues of which something is.
-- name: queues_set
SELECT id, namespace, name, attempts FROM holdfast_queue INDEXED BY holdfast_queue_attempts WHERE attempts IS NOT NULL;

-- Jobs that ended in a state after a place and until a time, with their queues.
-- name: ended_after
-- params: @state, @at, @row, @until, @limit
SELECT f.rowid, f.id, f.finished_at, l.queue FROM (
  SELECT rowid, id, finished_at FROM holdfast_finished INDEXED BY holdfast_finished_by_time
  WHERE state = @state AND (finished_at, rowid) > (@at, @row) AND finished_at <= @until
  ORDER BY finished_at, rowid LIMIT @limit + 0
) f CROSS JOIN holdfast_job j ON j.id = f.id CROSS JOIN holdfast_lane l ON l.id = j.lane;

-- A job that ended in a state at a time, and whether it is needed: by jobs that come after it, by
-- those that wait for the turn of its key, or by a batch.
-- name: over
-- params: @state, @ended, @id
SELECT EXISTS (SELECT 1 FROM holdfast_edge e WHERE e.predecessor = f.id AND e.told IS NOT f.state)
  OR f.state = {failed} AND EXISTS (
    SELECT 1 FROM holdfast_job j CROSS JOIN holdfast_lane l ON l.id = j.lane
      CROSS JOIN holdfast_key_holder k ON k.queue = l.queue AND k.ordering_key = j.ordering_key
    WHERE j.id = f.id AND j.ordering_key IS NOT NULL AND k.id = f.id)
  OR EXISTS (
    SELECT 1 FROM holdfast_job j CROSS JOIN holdfast_batch b ON b.id = j.parent
    WHERE j.id = f.id AND j.marks & {mark_member} <> 0 AND b.done_at IS NULL)
FROM holdfast_finished f WHERE f.state = @state AND f.finished_at = @ended AND f.id = @id;

-- name: removed_of
SELECT q.namespace, q.name FROM holdfast_job j CROSS JOIN holdfast_lane l ON l.id = j.lane CROSS JOIN holdfast_queue q ON q.id = l.queue
WHERE j.id = ?;

-- name: removed_add
INSERT INTO holdfast_removed (day, namespace, queue, state, jobs, stubs) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, day, queue, state) DO UPDATE SET jobs = jobs + excluded.jobs, stubs = stubs + excluded.stubs;

-- name: removed_old
SELECT 1 FROM holdfast_removed INDEXED BY holdfast_removed_day WHERE day < ? LIMIT 1;

-- name: removed_forget
DELETE FROM holdfast_removed WHERE (namespace, day, queue, state) IN (
  SELECT namespace, day, queue, state FROM holdfast_removed INDEXED BY holdfast_removed_day WHERE day < ? ORDER BY day LIMIT ? + 0);

-- name: removed
SELECT day, queue, state, jobs, stubs FROM holdfast_removed WHERE namespace = ?
ORDER BY namespace, day DESC, queue, state LIMIT ? + 0;

-- The days of one queue: of each day only its rows are looked at, and there are RemovedKept of
-- them.
-- name: removed_in
-- params: @namespace_1, @namespace_2, @namespace_3, @queue, @limit
WITH RECURSIVE days (day) AS (
  SELECT max(day) FROM holdfast_removed WHERE namespace = @namespace_1
  UNION ALL SELECT (SELECT max(r.day) FROM holdfast_removed r WHERE r.namespace = @namespace_2 AND r.day < days.day) FROM days
  WHERE days.day IS NOT NULL
)
SELECT r.day, r.queue, r.state, r.jobs, r.stubs FROM days CROSS JOIN holdfast_removed r
WHERE r.namespace = @namespace_3 AND r.day = days.day AND r.queue = @queue ORDER BY r.day DESC, r.state LIMIT @limit + 0;
