-- Questions. They run in one snapshot and lock nothing.

-- All that is known of jobs, but for their attempts. Which of them run is told by all claim records
-- together, with those that have just ended: they are not looked at if all of the jobs have
-- finished.
-- name: records
-- params: @jobs uuid[]
WITH open AS MATERIALIZED (
  SELECT array_agg(t.id) AS ids FROM unnest(@jobs) AS t (id) WHERE NOT EXISTS (SELECT 1 FROM {schema}.finished a WHERE a.id = t.id OFFSET 0)
), running AS MATERIALIZED (
  SELECT k.node, k.seq, k.claimed_at, s.place - 1 AS slot, s.id, coalesce(k.leases[s.place], 1) AS lease
  FROM (SELECT ids FROM open WHERE ids IS NOT NULL OFFSET 0) o
  CROSS JOIN LATERAL (SELECT * FROM {schema}.claim c WHERE c.ids && o.ids OFFSET 0) k
  CROSS JOIN LATERAL {{slots}}
  WHERE {{slot_open}}
)
SELECT t.place, b.lane, b.run_at, {{body}},
  f.state, f.reason, f.error, f.result, f.codec, f.fingerprint, f.lease, f.node, f.claimed_at, f.started_at, f.finished_at,
  k.node, k.seq, k.slot, k.lease, k.claimed_at,
  d.state, d.held, d.since, d.until, d.reason, d.error, d.waits_for, d.handed_over IS NOT NULL,
  o.id IS NOT NULL AND o.id <> t.id AND f.state IS NULL AND k.node IS NULL AND d.state IS NULL,
  q.yes, p.yes,
  CASE WHEN last.lease = b.lease THEN last.claimed_at ELSE coalesce(b.claimed_at, last.claimed_at) END,
  broke.error, c.percent, c.message, c.value, c.updated_at, searched.list
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
LEFT JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
LEFT JOIN running k ON k.id = t.id AND f.state IS NULL
LEFT JOIN LATERAL (SELECT * FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = t.id OFFSET 0) d ON f.state IS NULL
LEFT JOIN LATERAL (SELECT a.id FROM {schema}.key_holder a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key OFFSET 0) o ON true
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.cancel_request a WHERE a.id = t.id OFFSET 0) q ON f.state IS NULL
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.pause_request a WHERE a.id = t.id OFFSET 0) p ON k.node IS NOT NULL
LEFT JOIN LATERAL (SELECT a.lease, a.claimed_at FROM {schema}.attempt a WHERE a.id = t.id ORDER BY a.lease DESC LIMIT 1) last ON true
LEFT JOIN LATERAL (
  SELECT a.error FROM {schema}.attempt a WHERE a.id = t.id AND a.outcome IN ({retryable}, {failed}) ORDER BY a.lease DESC LIMIT 1
) broke ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = t.id OFFSET 0) c ON true
{{attributes_of_job}}
ORDER BY t.place;

-- Those of the jobs that are not in the namespace, or not there.
-- name: foreign
-- params: @jobs uuid[], @namespace text
SELECT t.id FROM unnest(@jobs) AS t (id)
LEFT JOIN LATERAL (SELECT a.lane FROM {schema}.job a WHERE a.id = t.id OFFSET 0) j ON true
LEFT JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l ON true
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.queue a WHERE a.id = l.queue AND a.namespace = @namespace OFFSET 0) q ON true
WHERE q.yes IS NULL;

-- What keeps a job from being claimed, whatever nodes there are.
-- name: obstacles
-- params: @job uuid, @most_ahead bigint
SELECT q.paused_at, q.paused_by, q.rest_until, q.rest_level, o.id, CASE WHEN l.shard <> '' THEN (
  SELECT count(*) FROM (
    SELECT 1 FROM {schema}.ready r WHERE r.lane = b.lane AND (r.run_at, r.id) < (b.run_at, @job) LIMIT @most_ahead
  ) a WHERE EXISTS (SELECT 1 FROM {schema}.ready r WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = @job OFFSET 0)
) ELSE 0 END
FROM (SELECT j.lane, j.run_at, j.ordering_key FROM {schema}.job j WHERE j.id = @job OFFSET 0) b
CROSS JOIN LATERAL (SELECT l.queue, {{lane_shard}} AS shard FROM {schema}.lane l WHERE l.id = b.lane OFFSET 0) l
CROSS JOIN LATERAL (SELECT a.paused_at, a.paused_by, a.rest_until, a.rest_level FROM {schema}.queue a WHERE a.id = l.queue OFFSET 0) q
LEFT JOIN LATERAL (
  SELECT a.id FROM {schema}.key_holder a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key OFFSET 0
) o ON true;

-- name: attempts
-- params: @job uuid
SELECT attempt, lease, node, claimed_at, started_at, ended_at, outcome, reason, error, trace
FROM {schema}.attempt WHERE id = @job ORDER BY lease;

-- How jobs ended, of those that have; and those that are not there.
-- name: ended
-- params: @jobs uuid[]
SELECT t.place, b.yes, f.state, f.reason, f.error, f.result, f.codec
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
WHERE b.yes IS NULL OR f.state IS NOT NULL
ORDER BY t.place;

-- name: queues
-- params: @namespace text
SELECT id, namespace, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at IS NOT NULL
FROM {schema}.queue WHERE namespace = @namespace AND created_at IS NOT NULL ORDER BY name;

-- Those queues of a namespace of which something is set of how their jobs are attempted.
-- name: queue_attempts
-- params: @namespace text
SELECT namespace, name, attempts FROM {schema}.queue WHERE namespace = @namespace AND attempts IS NOT NULL;

-- Counts of the states of each queue of a namespace, which stop at @most. Running jobs are found
-- through their claims.
-- name: queue_counts
-- params: @namespace text, @most int
WITH queues AS MATERIALIZED (
  SELECT id FROM {schema}.queue WHERE namespace = @namespace
), running AS MATERIALIZED (
  SELECT l.queue, count(*) AS n FROM (
    SELECT u.id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS u (id, place)
    WHERE (k.done >> (u.place - 1)::int) & 1 = 0 LIMIT 10 * @most
  ) r
  CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = r.id OFFSET 0) b
  CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
  GROUP BY l.queue
)
SELECT q.id, {available}, r.n + k.n, least(r.oldest, k.oldest) FROM queues q
CROSS JOIN LATERAL (
  SELECT count(*) AS n, (
    SELECT min(h.run_at) FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT a.run_at FROM {schema}.ready a WHERE a.lane = l.id ORDER BY a.run_at LIMIT 1) h WHERE l.queue = q.id
  ) AS oldest
  FROM (
    SELECT 1 FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.ready a WHERE a.lane = l.id LIMIT @most) h WHERE l.queue = q.id LIMIT @most
  ) t
) r
CROSS JOIN LATERAL (
  SELECT count(*) AS n, min(t.run_at) AS oldest FROM (
    (SELECT a.run_at FROM {schema}.keyed a WHERE a.queue = q.id LIMIT @most)
    UNION ALL (
      SELECT h.run_at FROM {schema}.lane l
      CROSS JOIN LATERAL (SELECT a.run_at FROM {schema}.gated a WHERE a.lane = l.id ORDER BY a.run_at LIMIT @most) h
      WHERE l.queue = q.id LIMIT @most
    )
  ) t
) k
UNION ALL
SELECT q.id, s.state, d.n, NULL FROM queues q CROSS JOIN unnest(ARRAY[{scheduled}, {retryable}, {waiting}]) AS s (state)
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM {schema}.lane l
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.deferred a WHERE a.lane = l.id AND a.state = s.state LIMIT @most) h
    WHERE l.queue = q.id LIMIT @most
  ) t
) d
UNION ALL
SELECT r.queue, {running}, r.n, NULL FROM running r JOIN queues q ON q.id = r.queue;

-- What people did to a job, newest first.
-- name: actions
-- params: @job uuid, @limit int
SELECT at, action, actor, detail FROM {schema}.audit WHERE job = @job AND gone IS NOT TRUE ORDER BY seq DESC LIMIT @limit;
