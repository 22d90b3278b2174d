-- Queues and lanes. Statements that also run in callers' transactions use plain ? parameters, which
-- every driver knows.

-- name: queue_id
SELECT id FROM holdfast_queue WHERE namespace = ? AND name = ?;

-- name: queue_insert
INSERT INTO holdfast_queue (namespace, name, created_at) VALUES (?, ?, ?) RETURNING id;

-- name: lane_id
SELECT id FROM holdfast_lane WHERE queue = ? AND kind = ? AND priority = ?;

-- name: lane_insert
INSERT INTO holdfast_lane (queue, kind, priority, used_on) VALUES (?, ?, ?, ?) RETURNING id;

-- name: lane_used_on
SELECT used_on, idle_since FROM holdfast_lane WHERE id = ?;

-- name: lane_use
UPDATE holdfast_lane SET used_on = ?, idle_since = NULL WHERE id = ?;

-- name: lane_by_id
SELECT l.queue, q.namespace, q.name, l.kind, l.priority
FROM holdfast_lane l JOIN holdfast_queue q ON q.id = l.queue
WHERE l.id = ?;

-- Whether a job is of a namespace.
-- name: job_in
SELECT 1 FROM holdfast_job j JOIN holdfast_lane l ON l.id = j.lane JOIN holdfast_queue q ON q.id = l.queue
WHERE j.id = ? AND q.namespace = ?;

-- name: lanes_of_queue
SELECT id FROM holdfast_lane WHERE queue = ?;

-- name: queues_paused
-- params: @now
SELECT id FROM holdfast_queue INDEXED BY holdfast_queue_halted
WHERE (paused_at IS NOT NULL OR rest_until IS NOT NULL) AND (paused_at IS NOT NULL OR rest_until > @now);

-- How many jobs are before one in its lane, up to a bound; no row if it is not there.
-- name: lane_ahead
-- params: @most, @lane, @run_at, @id
SELECT (
  SELECT count(*) FROM (
    SELECT 1 FROM holdfast_ready r WHERE r.lane = p.lane AND (r.run_at, r.id) < (p.run_at, p.id) LIMIT @most + 0
  )
) FROM holdfast_ready p WHERE p.lane = @lane AND p.run_at = @run_at AND p.id = @id;

-- name: queue_halted
SELECT paused_at, paused_by, rest_until, rest_level FROM holdfast_queue WHERE id = ?;

-- name: queues_list
SELECT id, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at FROM holdfast_queue WHERE namespace = ? ORDER BY name;

-- name: queue_pause
UPDATE holdfast_queue SET paused_at = ?, paused_by = ?, deleted_at = NULL WHERE id = ? AND paused_at IS NULL;

-- name: queue_resume
UPDATE holdfast_queue SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0, deleted_at = NULL
WHERE id = ? AND (paused_at IS NOT NULL OR rest_until IS NOT NULL OR deleted_at IS NOT NULL);

-- name: queue_rested
SELECT rest_until, rest_level FROM holdfast_queue WHERE id = ?;

-- name: queue_rest
UPDATE holdfast_queue SET rest_until = ?, rest_level = ?, deleted_at = NULL WHERE id = ?;

-- name: queue_attempts
SELECT attempts FROM holdfast_queue WHERE id = ?;

-- name: queue_set
UPDATE holdfast_queue SET attempts = ?, deleted_at = NULL WHERE id = ?;

-- Those queues of a namespace of which something is set.
-- name: queues_attempts
SELECT name, attempts FROM holdfast_queue INDEXED BY holdfast_queue_attempts WHERE namespace = ? AND attempts IS NOT NULL;

-- name: queue_deleted
SELECT id, deleted_at FROM holdfast_queue WHERE namespace = ? AND name = ?;

-- name: queue_mark_deleted
UPDATE holdfast_queue SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0, attempts = NULL, deleted_at = ? WHERE id = ?;

-- Whether a queue has jobs that wait, each of which has a pointer.
-- name: queue_waits
-- params: @queue_1, @queue_2
SELECT 1 FROM holdfast_lane l WHERE l.queue = @queue_1 AND (
  EXISTS (SELECT 1 FROM holdfast_ready r WHERE r.lane = l.id)
  OR EXISTS (SELECT 1 FROM holdfast_deferred d INDEXED BY holdfast_deferred_lane WHERE d.lane = l.id)
  OR EXISTS (SELECT 1 FROM holdfast_gated g INDEXED BY holdfast_gated_lane WHERE g.lane = l.id)
)
UNION ALL SELECT 1 FROM holdfast_keyed WHERE queue = @queue_2 LIMIT 1;

-- name: audit_insert
INSERT INTO holdfast_audit (at, actor, action, job, detail, before, after, namespace) VALUES (?, ?, ?, ?, ?, ?, ?, (
  SELECT q.namespace FROM holdfast_job j JOIN holdfast_lane l ON l.id = j.lane JOIN holdfast_queue q ON q.id = l.queue WHERE j.id = ?
));

-- name: audit_change
INSERT INTO holdfast_audit (at, actor, action, queue, job, namespace, kind, name, detail, before, after)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- What people did to a job, newest first.
-- name: actions
SELECT at, action, actor, detail FROM holdfast_audit WHERE job = ? AND gone IS NULL ORDER BY seq DESC LIMIT ? + 0;

-- name: database_id
SELECT value FROM holdfast_meta WHERE name = 'database_id';
