-- Questions. They run in one snapshot and lock nothing.

-- All that is known of jobs, $1, but for their attempts. Which of them run is told by all claim records together, with those that have just
-- ended: nobody looks at them if all of the jobs have finished.
-- name: records
WITH open AS MATERIALIZED (
  SELECT array_agg(t.id) AS ids FROM unnest($1::uuid[]) AS t (id) WHERE NOT EXISTS (SELECT 1 FROM {schema}.finished a WHERE a.id = t.id OFFSET 0)
), running AS MATERIALIZED (
  SELECT k.node, k.seq, k.claimed_at, s.place - 1 AS slot, s.id, coalesce(k.leases[s.place], 1) AS lease
  FROM (SELECT ids FROM open WHERE ids IS NOT NULL OFFSET 0) o
  CROSS JOIN LATERAL (SELECT * FROM {schema}.claim c WHERE c.ids && o.ids OFFSET 0) k
  CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
  WHERE (k.done >> (s.place - 1)::int) & 1 = 0
)
SELECT t.place, b.lane, b.run_at, b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args, b.options, b.tags, b.metadata,
  b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing,
  f.state, f.reason, f.error, f.result, f.lease, f.node, f.claimed_at, f.finished_at,
  k.node, k.seq, k.slot, k.lease, k.claimed_at,
  d.state, d.held, d.since, d.until, d.reason, d.error, d.waits_for,
  o.id IS NOT NULL AND o.id <> t.id AND f.state IS NULL AND k.node IS NULL AND d.state IS NULL,
  q.yes, p.yes, CASE WHEN last.lease = b.lease THEN last.claimed_at ELSE coalesce(b.claimed_at, last.claimed_at) END, broke.error, c.percent, c.message, c.value, c.updated_at
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
LEFT JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
LEFT JOIN running k ON k.id = t.id AND f.state IS NULL
LEFT JOIN LATERAL (SELECT * FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = t.id OFFSET 0) d ON f.state IS NULL
LEFT JOIN LATERAL (SELECT a.id FROM {schema}.key_holder a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key OFFSET 0) o ON true
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.cancel_request a WHERE a.id = t.id OFFSET 0) q ON f.state IS NULL
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.pause_request a WHERE a.id = t.id OFFSET 0) p ON k.node IS NOT NULL
LEFT JOIN LATERAL (SELECT a.lease, a.claimed_at FROM {schema}.attempt a WHERE a.id = t.id ORDER BY a.lease DESC LIMIT 1) last ON true
LEFT JOIN LATERAL (SELECT a.error FROM {schema}.attempt a WHERE a.id = t.id AND a.outcome IN (4, 7) ORDER BY a.lease DESC LIMIT 1) broke ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = t.id OFFSET 0) c ON true
ORDER BY t.place;

-- What keeps job $1 from being claimed, whatever nodes there are.
-- name: obstacles
SELECT q.paused_at, q.paused_by, o.id
FROM (SELECT j.lane, j.ordering_key FROM {schema}.job j WHERE j.id = $1::uuid OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
CROSS JOIN LATERAL (SELECT a.paused_at, a.paused_by FROM {schema}.queue a WHERE a.id = l.queue OFFSET 0) q
LEFT JOIN LATERAL (
  SELECT a.id FROM {schema}.key_holder a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key AND a.id <> $1::uuid OFFSET 0
) o ON true;

-- name: attempts
SELECT attempt, lease, node, claimed_at, started_at, ended_at, outcome, reason, error, trace
FROM {schema}.attempt WHERE id = $1::uuid ORDER BY lease;

-- name: ended
SELECT t.place, b.codec, f.state, f.reason, f.error, f.result
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, place)
LEFT JOIN LATERAL (SELECT j.codec FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
WHERE b.codec IS NULL OR f.state IS NOT NULL
ORDER BY t.place;

-- The lanes that a filter selects: $1 namespace, $2 queues, $3 kinds; "" and NULL select all.
-- name: lanes_selected
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL FROM {schema}.lane l JOIN {schema}.queue q ON q.id = l.queue
WHERE ($1::text = '' OR q.namespace = $1::text) AND ($2::text[] IS NULL OR q.name = ANY ($2::text[])) AND ($3::text[] IS NULL OR split_part(l.kind, '@', 1) = ANY ($3::text[]));

-- Newest jobs below an id: $1 id, $2 how many to look at, $3 lanes or NULL, $4 tags or NULL. Each row tells whether it
-- fits; of those that do not only the last one is told, which is where the next page starts.
-- name: list_scan
SELECT id, fits FROM (
  SELECT s.id, ($3::int[] IS NULL OR s.lane = ANY ($3::int[])) AND ($4::jsonb IS NULL OR coalesce(s.tags @> $4::jsonb, false)) AS fits,
    row_number() OVER (ORDER BY s.id) AS from_end
  FROM (SELECT j.id, j.lane, j.tags FROM {schema}.job j WHERE j.id < $1::uuid ORDER BY j.id DESC LIMIT $2::int) s
) t WHERE fits OR from_end = 1 ORDER BY id DESC;

-- The same for jobs that failed or were cancelled, $5 states, which have an index of their own.
-- name: list_not_completed
SELECT id, fits FROM (
  SELECT s.id, ($3::int[] IS NULL OR j.lane = ANY ($3::int[])) AND ($4::jsonb IS NULL OR coalesce(j.tags @> $4::jsonb, false)) AS fits,
    row_number() OVER (ORDER BY s.id) AS from_end
  FROM (
    SELECT f.id FROM unnest($5::int[]) AS t (state) CROSS JOIN LATERAL (
      SELECT a.id FROM {schema}.finished a WHERE a.state = t.state AND a.state <> 6 AND a.id < $1::uuid ORDER BY a.id DESC LIMIT $2::int
    ) f ORDER BY f.id DESC LIMIT $2::int
  ) s CROSS JOIN LATERAL (SELECT b.lane, b.tags FROM {schema}.job b WHERE b.id = s.id OFFSET 0) j
) t WHERE fits OR from_end = 1 ORDER BY id DESC;

-- The same for jobs that run.
-- name: list_running
SELECT id, fits FROM (
  SELECT s.id, ($3::int[] IS NULL OR j.lane = ANY ($3::int[])) AND ($4::jsonb IS NULL OR coalesce(j.tags @> $4::jsonb, false)) AS fits,
    row_number() OVER (ORDER BY s.id) AS from_end
  FROM (
    SELECT u.id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS u (id, place)
    WHERE (k.done >> (u.place - 1)::int) & 1 = 0 AND u.id < $1::uuid ORDER BY u.id DESC LIMIT $2::int
  ) s CROSS JOIN LATERAL (SELECT b.lane, b.tags FROM {schema}.job b WHERE b.id = s.id OFFSET 0) j
) t WHERE fits OR from_end = 1 ORDER BY id DESC;

-- name: queues
SELECT id, namespace, name, created_at, paused_at, paused_by FROM {schema}.queue WHERE namespace = $1::text AND created_at IS NOT NULL ORDER BY name;

-- Counts of the states of each queue of a namespace, $1, which stop at $2. Running jobs are found through their claims.
-- name: queue_counts
WITH queues AS MATERIALIZED (
  SELECT id FROM {schema}.queue WHERE namespace = $1::text
), running AS MATERIALIZED (
  SELECT l.queue, count(*) AS n FROM (
    SELECT u.id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS u (id, place)
    WHERE (k.done >> (u.place - 1)::int) & 1 = 0 LIMIT 10 * $2::int
  ) r
  CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = r.id OFFSET 0) b
  CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
  GROUP BY l.queue
)
SELECT q.id, 2, r.n + k.n, least(r.oldest, k.oldest) FROM queues q
CROSS JOIN LATERAL (
  SELECT count(*) AS n, (
    SELECT min(h.run_at) FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT a.run_at FROM {schema}.ready a WHERE a.lane = l.id ORDER BY a.run_at LIMIT 1) h WHERE l.queue = q.id
  ) AS oldest
  FROM (
    SELECT 1 FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.ready a WHERE a.lane = l.id LIMIT $2::int) h WHERE l.queue = q.id LIMIT $2::int
  ) t
) r
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(t.run_at) AS oldest FROM (SELECT a.run_at FROM {schema}.keyed a WHERE a.queue = q.id LIMIT $2::int) t
) k
UNION ALL
SELECT q.id, s.state, d.n, NULL FROM queues q CROSS JOIN unnest(ARRAY[1, 4, 5]) AS s (state)
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.deferred a WHERE a.lane = l.id AND a.state = s.state LIMIT $2::int) h WHERE l.queue = q.id LIMIT $2::int
  ) t
) d
UNION ALL
SELECT r.queue, 3, r.n, NULL FROM running r JOIN queues q ON q.id = r.queue;

-- What people did to a job, $1, newest first. $2 limit.
-- name: actions
SELECT at, action, actor, detail FROM {schema}.audit WHERE job = $1::uuid ORDER BY seq DESC LIMIT $2::int;
