-- Queues and lanes: interned, and cached by every process.

-- name: queues_intern
INSERT INTO {schema}.queue (namespace, name)
SELECT t.namespace, t.name FROM unnest($1::text[], $2::text[]) AS t (namespace, name)
WHERE NOT EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.namespace = t.namespace AND q.name = t.name)
ORDER BY t.namespace, t.name
ON CONFLICT (namespace, name) DO NOTHING;

-- name: lanes_intern
INSERT INTO {schema}.lane (queue, kind, priority)
SELECT q.id, t.kind, t.priority
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS t (namespace, name, kind, priority)
JOIN {schema}.queue q ON q.namespace = t.namespace AND q.name = t.name
WHERE NOT EXISTS (SELECT 1 FROM {schema}.lane l WHERE l.queue = q.id AND l.kind = t.kind AND l.priority = t.priority)
ORDER BY q.id, t.kind, t.priority
ON CONFLICT (queue, kind, priority) DO NOTHING;

-- name: lanes_named
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL
FROM unnest($1::text[], $2::text[], $3::text[], $4::int[]) AS t (namespace, name, kind, priority)
JOIN {schema}.queue q ON q.namespace = t.namespace AND q.name = t.name
JOIN {schema}.lane l ON l.queue = q.id AND l.kind = t.kind AND l.priority = t.priority;

-- name: lanes_by_id
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL
FROM {schema}.lane l JOIN {schema}.queue q ON q.id = l.queue WHERE l.id = ANY ($1::int[]);

-- Lanes for jobs, $1, that are to be bound to versions, $2, of their kinds. It is the first statement of its transaction, so that who
-- waits here for another one that makes the same lane holds nothing.
-- name: lanes_bind
INSERT INTO {schema}.lane (queue, kind, priority)
SELECT DISTINCT w.queue, w.kind, w.priority FROM (
  SELECT l.queue, split_part(l.kind, '@', 1) || '@' || t.version AS kind, l.priority
  FROM unnest($1::uuid[], $2::text[]) AS t (id, version)
  CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
  CROSS JOIN LATERAL (SELECT a.queue, a.kind, a.priority FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
) w
WHERE NOT EXISTS (SELECT 1 FROM {schema}.lane l WHERE l.queue = w.queue AND l.kind = w.kind AND l.priority = w.priority OFFSET 0)
ORDER BY w.queue, w.kind, w.priority
ON CONFLICT (queue, kind, priority) DO NOTHING;

-- Queues exist from their first job on. $1 queues, $2 lanes, $3 jobs, $4 now.
-- name: queues_used
UPDATE {schema}.queue q SET created_at = $4::bigint WHERE q.created_at IS NULL AND q.id = ANY (ARRAY(
  SELECT t.queue FROM unnest($1::int[], $2::int[], $3::uuid[]) AS t (queue, lane, job)
  WHERE EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.job AND j.lane = t.lane OFFSET 0)
));

-- The same ahead of a transaction of a caller's, which is not to hold a lock on a queue.
-- name: queues_used_soon
UPDATE {schema}.queue SET created_at = $2::bigint WHERE created_at IS NULL AND id = ANY ($1::int[]);
