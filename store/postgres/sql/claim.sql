-- Claims.

-- $1 node, $2 number of the first record, $3 namespace, $4 queues or NULL for all, $5 their limits, $6 kinds, $7 limit,
-- $8 now, $9 aging, $10 whether the claim is a repeated one, $11 until when a pointer counts as due, $12 lanes in order, or NULL, whose scans
-- begin at the run times $13 and ids $14.
--
-- Of each lane of those queues the first rows are looked at without locks and merged in the order of the whole; that
-- tells how many to take of each lane. Those are then locked, passing over what others are taking, and moved into claim
-- records of 60. Looking is done in two steps: a few rows of every lane, and more only of a lane whose few were all
-- among the best. That is exact, since the order within a lane is the order of the whole.
-- More is looked for lane by lane of those: were it a join with all lanes, their rows would be read first and left out afterwards.
--
-- Locked rows are deleted by their place, which is a Tid Scan whatever the statistics say; rows of ready are never
-- updated, so the place of a locked row is what the snapshot sees. Literal LIMITs that are never reached tell the
-- planner how few rows there are. An idle node writes nothing: its row is touched only if there is something to take.
--
-- Rows that were taken are passed by each scan until they can be cleared away, which may be hours. So no scan begins before the first
-- row that an earlier one has seen, and the row of the node is locked, not changed, which would leave a version for each claim behind. Only a
-- repeated claim writes its number there: the others are told by their records.
-- name: claim
WITH member AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL
), lanes AS MATERIALIZED (
  SELECT l.id AS lane, l.queue, l.priority, least(coalesce(d.most, $7::int), $7::int) AS most,
    coalesce(CASE WHEN ($12::int[])[width_bucket(l.id, $12::int[])] = l.id THEN ($13::bigint[])[width_bucket(l.id, $12::int[])] END,
      -9223372036854775808) AS from_at,
    coalesce(CASE WHEN ($12::int[])[width_bucket(l.id, $12::int[])] = l.id THEN ($14::uuid[])[width_bucket(l.id, $12::int[])] END,
      '00000000-0000-0000-0000-000000000000') AS from_id
  FROM {schema}.queue q
  LEFT JOIN unnest($4::text[], $5::int[]) AS d (name, most) ON d.name = q.name
  JOIN {schema}.lane l ON l.queue = q.id
  WHERE q.namespace = $3::text AND q.paused_at IS NULL AND ($4::text[] IS NULL OR d.most > 0) AND l.kind = ANY ($6::text[])
    AND EXISTS (SELECT 1 FROM member)
), shape AS MATERIALIZED (
  SELECT count(*) AS lanes, least($7::int, 2 * $7::int / greatest(count(*), 1) + 8) AS depth FROM lanes
), heads AS MATERIALIZED (
  SELECT l.lane, l.queue, l.priority, l.most, greatest(1, l.priority - coalesce(($8::bigint - h.run_at) / nullif($9::bigint, 0), 0)) AS urgency, h.run_at, h.id
  FROM lanes l CROSS JOIN LATERAL (
    SELECT r.run_at, r.id FROM {schema}.ready r
    WHERE r.lane = l.lane AND (r.run_at, r.id) >= (l.from_at, l.from_id) AND r.run_at <= $11::bigint
    ORDER BY r.run_at, r.id LIMIT (SELECT depth FROM shape)
  ) h WHERE (SELECT lanes > 1 FROM shape)
), best AS MATERIALIZED (
  SELECT lane, priority, urgency, run_at, id FROM (
    SELECT *, row_number() OVER (PARTITION BY queue ORDER BY urgency, run_at, id) AS place FROM heads
  ) h WHERE place <= most ORDER BY urgency, run_at, id LIMIT $7::int
), deep AS MATERIALIZED (
  SELECT lane FROM best GROUP BY lane HAVING count(*) >= (SELECT depth FROM shape) AND (SELECT depth < $7::int FROM shape)
), more AS MATERIALIZED (
  SELECT l.lane, l.queue, l.priority, l.most, greatest(1, l.priority - coalesce(($8::bigint - h.run_at) / nullif($9::bigint, 0), 0)) AS urgency, h.run_at, h.id
  FROM deep d CROSS JOIN LATERAL (SELECT * FROM lanes WHERE lane = d.lane OFFSET 0) l CROSS JOIN LATERAL (
    SELECT r.run_at, r.id FROM {schema}.ready r
    WHERE r.lane = d.lane AND (r.run_at, r.id) >= (l.from_at, l.from_id) AND r.run_at <= $11::bigint
    ORDER BY r.run_at, r.id LIMIT $7::int OFFSET (SELECT depth FROM shape)
  ) h
), chosen AS MATERIALIZED (
  SELECT lane, priority, run_at FROM best WHERE NOT EXISTS (SELECT 1 FROM deep)
  UNION ALL (
    SELECT lane, priority, run_at FROM (
      SELECT *, row_number() OVER (PARTITION BY queue ORDER BY urgency, run_at, id) AS place
      FROM (SELECT * FROM heads WHERE EXISTS (SELECT 1 FROM deep) UNION ALL SELECT * FROM more) a
    ) h WHERE place <= most ORDER BY urgency, run_at, id LIMIT $7::int
  )
), quotas AS MATERIALIZED (
  SELECT lane, priority, most, from_at, coalesce(CASE
    WHEN ($12::int[])[width_bucket(lane, $12::int[])] = lane AND ($13::bigint[])[width_bucket(lane, $12::int[])] = from_at
    THEN ($14::uuid[])[width_bucket(lane, $12::int[])] END, '00000000-0000-0000-0000-000000000000') AS from_id
  FROM (SELECT lane, priority, count(*) AS most, min(run_at) AS from_at FROM chosen GROUP BY lane, priority) c
  UNION ALL
  SELECT l.lane, l.priority, l.most, h.run_at, h.id FROM lanes l CROSS JOIN LATERAL (
    SELECT r.run_at, r.id FROM {schema}.ready r
    WHERE r.lane = l.lane AND (r.run_at, r.id) >= (l.from_at, l.from_id) AND r.run_at <= $11::bigint ORDER BY r.run_at, r.id LIMIT 1
  ) h WHERE (SELECT lanes = 1 FROM shape)
), noted AS (
  UPDATE {schema}.node SET last_seq = $2::bigint
  WHERE $10::boolean AND id = $1::bigint AND dead_at IS NULL AND last_seq < $2::bigint AND EXISTS (SELECT 1 FROM quotas)
  RETURNING id
), held AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE NOT $10::boolean AND id = $1::bigint AND dead_at IS NULL AND EXISTS (SELECT 1 FROM quotas) FOR NO KEY UPDATE
), alive AS MATERIALIZED (
  SELECT id FROM noted UNION ALL SELECT id FROM held
), locked AS MATERIALIZED (
  SELECT t.lane, q.priority, t.place, t.run_at, t.id FROM quotas q CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id, r.ctid AS place FROM {schema}.ready r
    WHERE r.lane = q.lane AND (r.run_at, r.id) >= (q.from_at, q.from_id) AND r.run_at <= $11::bigint
    ORDER BY r.run_at, r.id LIMIT q.most FOR UPDATE SKIP LOCKED
  ) t WHERE EXISTS (SELECT 1 FROM alive) LIMIT 1000
), gone AS (
  DELETE FROM {schema}.ready WHERE ctid = ANY (ARRAY(SELECT place FROM locked))
), ordered AS MATERIALIZED (
  SELECT lane, run_at, id, row_number() OVER (
    ORDER BY greatest(1, priority - coalesce(($8::bigint - run_at) / nullif($9::bigint, 0), 0)), run_at, id
  ) - 1 AS n
  FROM locked
), jobs AS MATERIALIZED (
  SELECT o.n, o.lane, o.run_at, o.id, b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args, b.options, b.tags, b.metadata,
    b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing, b.remembers
  FROM ordered o LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = o.id OFFSET 0) b ON true
), records AS (
  INSERT INTO {schema}.claim (node, seq, claimed_at, done, all_slots, ids, leases)
  SELECT $1::bigint, $2::bigint + i, $8::bigint, 0, (1::bigint << least(60, a.n - 60 * i)::int) - 1, a.ids[60 * i + 1:60 * i + 60],
    a.leases[60 * i + 1:60 * i + 60]
  FROM (
    SELECT count(*) AS n, array_agg(id) AS ids, CASE WHEN max(lease) > 0 THEN array_agg(coalesce(lease, 0) + 1) END AS leases
    FROM (SELECT id, lease FROM jobs ORDER BY n) j
  ) a, generate_series(0, (a.n - 1) / 60) i WHERE a.n > 0
), released AS (
  DELETE FROM {schema}.unique_key u USING jobs b
  WHERE b.unique_key IS NOT NULL AND b.unique_states & 8 = 0 AND u.key = b.unique_key AND u.id = b.id
)
SELECT b.n, b.lane, b.run_at, b.id, b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args, b.options, b.tags, b.metadata,
  b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing,
  b.remembers, r.yes, r.reason, c.percent, c.message, c.value, c.updated_at
FROM member
LEFT JOIN (SELECT * FROM jobs WHERE created_at IS NOT NULL) b ON true
LEFT JOIN LATERAL (SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id AND (b.lease > 0 OR b.remembers) OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id AND b.lease > 0 OFFSET 0) c ON true;

-- What became of a claim whose answer was lost: its jobs that are not done. No row: the node is not alive. A row
-- without a job: nothing is left of the claim, or it never happened, which last_seq tells. If there is something that is noted: the same
-- claim may still be on its way a second time, and arrive when all of this is done.
-- $1 node, $2 first record, $3 the one after the last, $4 whether it was a claim: jobs that started as they were enqueued were new, which
-- cannot happen twice.
-- name: claim_again
WITH noted AS (
  UPDATE {schema}.node SET last_seq = $2::bigint WHERE $4::boolean AND id = $1::bigint AND dead_at IS NULL AND last_seq < $2::bigint
    AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = $1::bigint AND k.seq >= $2::bigint AND k.seq < $3::bigint)
)
SELECT n.last_seq, t.seq, t.slot, t.claimed_at, b.lane, b.run_at, b.id, b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args,
  b.options, b.tags, b.metadata, b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing,
  EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = b.id OFFSET 0), r.yes, r.reason,
  c.percent, c.message, c.value, c.updated_at
FROM {schema}.node n
LEFT JOIN LATERAL (
  SELECT k.seq, k.claimed_at, s.id, s.place - 1 AS slot
  FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
  WHERE k.node = n.id AND k.seq >= $2::bigint AND k.seq < $3::bigint AND (k.done >> (s.place - 1)::int) & 1 = 0
) t ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id OFFSET 0) c ON true
WHERE n.id = $1::bigint AND n.dead_at IS NULL
ORDER BY t.seq, t.slot;
