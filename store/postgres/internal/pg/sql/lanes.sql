-- Queues and lanes: interned, and cached by every process.

-- name: queues_intern
-- params: @namespaces text[], @queues text[]
INSERT INTO {schema}.queue (namespace, name)
SELECT t.namespace, t.name FROM unnest(@namespaces, @queues) AS t (namespace, name)
WHERE NOT EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.namespace = t.namespace AND q.name = t.name)
ORDER BY t.namespace, t.name
ON CONFLICT (namespace, name) DO NOTHING;

-- name: lanes_intern
-- params: @namespaces text[], @queues text[], @kinds text[], @priorities int[], @day int
INSERT INTO {schema}.lane AS l (queue, kind, priority, used_on)
SELECT q.id, t.kind, t.priority, @day
FROM unnest(@namespaces, @queues, @kinds, @priorities) AS t (namespace, name, kind, priority)
JOIN {schema}.queue q ON q.namespace = t.namespace AND q.name = t.name
WHERE NOT EXISTS (
  SELECT 1 FROM {schema}.lane a WHERE a.queue = q.id AND a.kind = t.kind AND a.priority = t.priority AND a.used_on >= @day
)
ORDER BY q.id, t.kind, t.priority
ON CONFLICT (queue, kind, priority) DO UPDATE SET used_on = excluded.used_on WHERE l.used_on < excluded.used_on;

-- name: lanes_named
-- params: @namespaces text[], @queues text[], @kinds text[], @priorities int[]
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL
FROM unnest(@namespaces, @queues, @kinds, @priorities) AS t (namespace, name, kind, priority)
JOIN {schema}.queue q ON q.namespace = t.namespace AND q.name = t.name
JOIN {schema}.lane l ON l.queue = q.id AND l.kind = t.kind AND l.priority = t.priority;

-- name: lanes_by_id
-- params: @lanes int[]
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL
FROM {schema}.lane l JOIN {schema}.queue q ON q.id = l.queue WHERE l.id = ANY (@lanes);

-- The queues in which jobs may be claimed, by kind, found as a claim finds the lanes that have
-- work: by skipping through the index of ready.
-- name: queues_busy
-- params: @namespace text, @now bigint
WITH RECURSIVE busy (lane) AS (
  (SELECT r.lane FROM {schema}.ready r ORDER BY r.lane, r.run_at, r.id LIMIT 1)
  UNION ALL
  SELECT n.lane FROM busy b CROSS JOIN LATERAL (
    SELECT r.lane FROM {schema}.ready r WHERE r.lane > b.lane ORDER BY r.lane, r.run_at, r.id LIMIT 1
  ) n
)
SELECT DISTINCT q.name, l.kind FROM busy b
CROSS JOIN LATERAL (SELECT l.queue, {{claimed_kind}} AS kind FROM {schema}.lane l WHERE l.id = b.lane OFFSET 0) l
CROSS JOIN LATERAL (
  SELECT a.name FROM {schema}.queue a WHERE a.id = l.queue AND a.namespace = @namespace
    AND a.paused_at IS NULL AND coalesce(a.rest_until, 0) <= @now OFFSET 0
) q;

-- What waits in lanes that no node serves. The arrays say what the living nodes serve: kinds, with
-- the namespace and the queue of each, both '' where it is any, and the queue a pattern if it
-- ends with *. Lanes are looked at first, and of
-- ready no more than the first row of those that no node serves: so nothing is passed by that nodes
-- have taken from the others.
-- name: unserved
-- params: @kinds text[], @namespaces text[], @queues text[], @limit int, @now bigint
WITH served AS MATERIALIZED (
  SELECT t.kind, t.namespace, t.queue FROM unnest(@kinds, @namespaces, @queues) AS t (kind, namespace, queue)
), bare AS MATERIALIZED (
  SELECT l.id, l.kind, q.namespace, q.name FROM (
    SELECT l.id, l.queue, {{claimed_kind}} AS kind FROM {schema}.lane l OFFSET 0
  ) l JOIN {schema}.queue q ON q.id = l.queue
  WHERE q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now AND NOT EXISTS (
    SELECT 1 FROM served s WHERE s.kind = l.kind AND s.namespace IN ('', q.namespace) AND (
      s.queue IN ('', q.name) OR right(s.queue, 1) = '*' AND left(q.name, length(s.queue) - 1) = left(s.queue, -1)
    )
  )
), waiting AS MATERIALIZED (
  SELECT b.namespace, b.name, b.kind, r.run_at FROM bare b CROSS JOIN LATERAL (
    SELECT a.run_at FROM {schema}.ready a WHERE a.lane = b.id ORDER BY a.run_at, a.id LIMIT 1
  ) r
)
SELECT w.namespace, w.name, w.kind, min(w.run_at),
  EXISTS (SELECT 1 FROM served s WHERE s.kind = w.kind AND s.namespace IN ('', w.namespace))
FROM waiting w GROUP BY w.namespace, w.name, w.kind ORDER BY min(w.run_at), w.namespace, w.name, w.kind LIMIT @limit;

-- Says of lanes into which transactions of callers have put jobs, from SQL, on which day they were
-- used, and of their queues that they have had a job.
-- name: lanes_noted
-- params: @now bigint
WITH noted AS MATERIALIZED (
  DELETE FROM {schema}.lane_use RETURNING lane, day
), last AS MATERIALIZED (
  SELECT lane, max(day) AS day FROM noted GROUP BY lane ORDER BY lane
), lanes AS (
  UPDATE {schema}.lane l SET used_on = t.day FROM last t WHERE l.id = t.lane AND l.used_on < t.day
)
UPDATE {schema}.queue q SET created_at = @now
WHERE q.created_at IS NULL AND q.id = ANY (ARRAY(SELECT l.queue FROM last t JOIN {schema}.lane l ON l.id = t.lane));

-- Finds lanes that were last used before a day, and so have no jobs in the partitions of days,
-- unless there is one in the default partition, and locks them. Lanes that a transaction of a
-- caller's is using, from SQL, are passed over.
-- name: lanes_old
-- params: @day int, @limit int
WITH kept AS MATERIALIZED (
  SELECT DISTINCT lane FROM {schema}.job_default
)
SELECT l.id FROM {schema}.lane l WHERE l.used_on < @day AND (l.id IN (SELECT lane FROM kept)) IS NOT TRUE
ORDER BY l.id LIMIT @limit FOR UPDATE SKIP LOCKED;

-- Removes those. It is a statement of its own, which sees what was committed before the locks were
-- there: that a lane was used again. Pointers are looked at, too, although there cannot be any.
-- name: lanes_retire
-- params: @lanes int[]
DELETE FROM {schema}.lane l WHERE l.id = ANY (@lanes)
  AND NOT EXISTS (SELECT 1 FROM {schema}.lane_use u WHERE u.lane = l.id OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM {schema}.ready r WHERE r.lane = l.id OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM {schema}.deferred d WHERE d.lane = l.id OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.lane = l.id OFFSET 0)
RETURNING l.id;

-- Removes queues that have no lanes any more and had their first job before that, but for those
-- that are paused or rest, or of which something is set.
-- name: queues_retire
-- params: @created_before bigint, @now bigint
DELETE FROM {schema}.queue q WHERE q.created_at < @created_before AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now
  AND q.attempts IS NULL
  AND NOT EXISTS (SELECT 1 FROM {schema}.lane l WHERE l.queue = q.id OFFSET 0);

-- Lanes for jobs that are to be bound to versions of their kinds. It is the first statement of its
-- transaction, so that who waits here for another one that makes the same lane holds nothing.
-- name: lanes_bind
-- params: @jobs uuid[], @versions text[], @day int
INSERT INTO {schema}.lane AS l (queue, kind, priority, used_on)
SELECT DISTINCT w.queue, w.kind, w.priority, @day FROM (
  SELECT l.queue, split_part(l.kind, '@', 1) || '@' || t.version AS kind, l.priority
  FROM unnest(@jobs, @versions) AS t (id, version)
  CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
  CROSS JOIN LATERAL (SELECT a.queue, a.kind, a.priority FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
) w
WHERE NOT EXISTS (
  SELECT 1 FROM {schema}.lane a WHERE a.queue = w.queue AND a.kind = w.kind AND a.priority = w.priority AND a.used_on >= @day OFFSET 0
)
ORDER BY w.queue, w.kind, w.priority
ON CONFLICT (queue, kind, priority) DO UPDATE SET used_on = excluded.used_on WHERE l.used_on < excluded.used_on;

-- Queues exist from their first job on.
-- name: queues_used
-- params: @queues int[], @lanes int[], @jobs uuid[], @now bigint
UPDATE {schema}.queue q SET created_at = @now WHERE q.created_at IS NULL AND q.id = ANY (ARRAY(
  SELECT t.queue FROM unnest(@queues, @lanes, @jobs) AS t (queue, lane, job)
  WHERE EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.job AND j.lane = t.lane OFFSET 0)
));

-- The same ahead of a transaction of a caller's, which is not to hold a lock on a queue.
-- name: queues_used_soon
-- params: @queues int[], @now bigint
UPDATE {schema}.queue SET created_at = @now WHERE created_at IS NULL AND id = ANY (@queues);
