-- Claims.

-- $1 node, $2 number of the first record, $3 namespace, $4 queues or NULL for all, $5 their limits, $6 kinds, $7 limit,
-- $8 now, $9 aging, $10 whether the claim is a repeated one. Then what to look at: ranges of lanes, $11, from run times $12 and ids $13 up to run
-- times $14; or, if $11 is NULL, all lanes that have work, each from its beginning.
--
-- Lanes that have work are found by skipping through the index of ready: from the first row of one to the first of the next. So lanes without work
-- cost nothing, and those that are not to be claimed from two small lookups each.
--
-- Of each range the first rows are looked at without locks and merged in the order of the whole; that
-- tells how many to take of each. Those are then locked, passing over what others are taking, and moved into claim
-- records of 60. Looking is done in two steps: a few rows of every range, just the first if there are many, and more only of those whose few were
-- all among the best. That is exact, since the order within a lane is the order of the whole: what is read in the second step is older than the
-- worst of the best, or would be no better. Only if there are many lanes, and one of them has more than a hundred rows of that sort, the rest of
-- them comes with the next claim.
--
-- What is in ready is due, whatever the clock says now. Locked rows are deleted by their place, which is a Tid Scan whatever the statistics say;
-- rows of ready are never updated, so the place of a locked row is what the snapshot sees. Literal LIMITs that are never reached tell the
-- planner how few rows there are. An idle node writes nothing: its row is touched only if there is something to take.
--
-- Rows that were taken are passed by each scan until they can be cleared away, which may be hours. So no scan begins before the first
-- row that an earlier one has seen, and the row of the node is locked, not changed, which would leave a version for each claim behind. Only a
-- repeated claim writes its number there: the others are told by their records. None takes anything whose number was repeated before.
--
-- A queue of which none may be taken has the limit 0. A look at everything sees its lanes, too: who remembers where claims go on need not look
-- again once it may be taken from.
--
-- The last column is NULL but in the first row: lanes that have work, and the run time of the first row of each, best first, at most 4096.
-- name: claim
WITH RECURSIVE member AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL
), busy AS (
  SELECT f.lane, f.run_at, f.id FROM member CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id FROM {schema}.ready r WHERE $11::int[] IS NULL ORDER BY r.lane, r.run_at, r.id LIMIT 1
  ) f
  UNION ALL
  SELECT n.lane, n.run_at, n.id FROM busy b CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id FROM {schema}.ready r WHERE r.lane > b.lane ORDER BY r.lane, r.run_at, r.id LIMIT 1
  ) n
), given AS MATERIALIZED (
  SELECT lane, run_at AS from_at, id AS from_id, 9223372036854775807 AS until_at FROM busy
  UNION ALL
  SELECT t.lane, t.from_at, t.from_id, t.until_at FROM unnest($11::int[], $12::bigint[], $13::uuid[], $14::bigint[]) AS t (lane, from_at, from_id, until_at)
  WHERE EXISTS (SELECT 1 FROM member)
), ranges AS MATERIALIZED (
  SELECT row_number() OVER () AS range, g.lane, l.queue, l.priority, least(coalesce(d.most, $7::int), $7::int) AS most, g.from_at, g.from_id, g.until_at
  FROM given g
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = g.lane AND a.kind = ANY ($6::text[]) OFFSET 0) l
  CROSS JOIN LATERAL (
    SELECT a.name FROM {schema}.queue a WHERE a.id = l.queue AND a.namespace = $3::text AND a.paused_at IS NULL OFFSET 0
  ) q
  LEFT JOIN unnest($4::text[], $5::int[]) AS d (name, most) ON d.name = q.name
  WHERE $4::text[] IS NULL OR d.most IS NOT NULL
), shape AS MATERIALIZED (
  SELECT count(*) AS n, CASE WHEN count(*) > 64 THEN 1 ELSE least($7::int, 2 * $7::int / greatest(count(*), 1) + 8) END AS depth FROM ranges
), heads AS MATERIALIZED (
  SELECT r.range, r.lane, r.queue, r.priority, r.most, h.run_at, h.id,
    greatest(1, r.priority - coalesce(greatest(0, $8::bigint - h.run_at) / nullif($9::bigint, 0), 0)) AS urgency
  FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at
    ORDER BY a.run_at, a.id LIMIT least((SELECT depth FROM shape), greatest(r.most, 1))
  ) h WHERE (SELECT n > 1 FROM shape) AND ($11::int[] IS NOT NULL OR (SELECT n <= 64 FROM shape))
  UNION ALL
  SELECT r.range, r.lane, r.queue, r.priority, r.most, r.from_at, r.from_id,
    greatest(1, r.priority - coalesce(greatest(0, $8::bigint - r.from_at) / nullif($9::bigint, 0), 0))
  FROM ranges r WHERE $11::int[] IS NULL AND (SELECT n > 64 FROM shape)
), best AS MATERIALIZED (
  SELECT range, priority, urgency, run_at, id FROM (
    SELECT *, row_number() OVER (PARTITION BY queue ORDER BY urgency, run_at, id) AS place FROM heads
  ) h WHERE place <= most ORDER BY urgency, run_at, id LIMIT $7::int
), worst AS MATERIALIZED (
  SELECT urgency, run_at FROM best WHERE (SELECT count(*) >= $7::int FROM best) ORDER BY urgency DESC, run_at DESC LIMIT 1
), deep AS MATERIALIZED (
  SELECT range FROM best GROUP BY range HAVING count(*) >= (SELECT depth FROM shape) AND (SELECT depth < $7::int FROM shape)
), more AS MATERIALIZED (
  SELECT r.range, r.lane, r.queue, r.priority, r.most, h.run_at, h.id,
    greatest(1, r.priority - coalesce(greatest(0, $8::bigint - h.run_at) / nullif($9::bigint, 0), 0)) AS urgency
  FROM deep d CROSS JOIN LATERAL (
    SELECT a.*, least(a.until_at, coalesce((
      SELECT CASE
        WHEN a.priority < w.urgency THEN 9223372036854775807
        ELSE greatest(w.run_at, CASE WHEN $9::bigint > 0 THEN $8::bigint - (a.priority - w.urgency + 1) * $9::bigint ELSE w.run_at END)
      END FROM worst w
    ), 9223372036854775807)) AS last_at
    FROM ranges a WHERE a.range = d.range OFFSET 0
  ) r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.last_at
    ORDER BY a.run_at, a.id LIMIT CASE WHEN (SELECT n > 64 FROM shape) THEN least($7::int, 100) ELSE $7::int END OFFSET (SELECT depth FROM shape)
  ) h
), chosen AS MATERIALIZED (
  SELECT range, priority, run_at FROM best WHERE NOT EXISTS (SELECT 1 FROM deep)
  UNION ALL (
    SELECT range, priority, run_at FROM (
      SELECT *, row_number() OVER (PARTITION BY queue ORDER BY urgency, run_at, id) AS place
      FROM (
        SELECT range, queue, priority, most, run_at, id, urgency FROM heads WHERE EXISTS (SELECT 1 FROM deep)
        UNION ALL SELECT range, queue, priority, most, run_at, id, urgency FROM more
      ) a
    ) h WHERE place <= most ORDER BY urgency, run_at, id LIMIT $7::int
  )
), quotas AS MATERIALIZED (
  SELECT c.range, r.lane, r.priority, c.most, r.until_at, c.from_at, CASE WHEN c.from_at = r.from_at THEN r.from_id ELSE '00000000-0000-0000-0000-000000000000' END AS from_id
  FROM (SELECT range, count(*) AS most, min(run_at) AS from_at FROM chosen GROUP BY range) c
  CROSS JOIN LATERAL (SELECT a.lane, a.priority, a.until_at, a.from_at, a.from_id FROM ranges a WHERE a.range = c.range OFFSET 0) r
  UNION ALL
  SELECT r.range, r.lane, r.priority, r.most, r.until_at, h.run_at, h.id FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at ORDER BY a.run_at, a.id LIMIT 1
  ) h WHERE (SELECT n = 1 FROM shape) AND r.most > 0
), noted AS (
  UPDATE {schema}.node SET last_seq = $2::bigint
  WHERE $10::boolean AND id = $1::bigint AND dead_at IS NULL AND last_seq < $2::bigint AND EXISTS (SELECT 1 FROM quotas)
  RETURNING id
), held AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE NOT $10::boolean AND id = $1::bigint AND dead_at IS NULL AND last_seq < $2::bigint
    AND EXISTS (SELECT 1 FROM quotas) FOR NO KEY UPDATE
), alive AS MATERIALIZED (
  SELECT id FROM noted UNION ALL SELECT id FROM held
), locked AS MATERIALIZED (
  SELECT t.lane, q.priority, t.place, t.run_at, t.id FROM quotas q CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id, r.ctid AS place FROM {schema}.ready r
    WHERE r.lane = q.lane AND (r.run_at, r.id) >= (q.from_at, q.from_id) AND r.run_at <= q.until_at
    ORDER BY r.run_at, r.id LIMIT q.most FOR UPDATE SKIP LOCKED
  ) t WHERE EXISTS (SELECT 1 FROM alive) LIMIT 1000
), gone AS (
  DELETE FROM {schema}.ready WHERE ctid = ANY (ARRAY(SELECT place FROM locked))
), ordered AS MATERIALIZED (
  SELECT lane, run_at, id, row_number() OVER (
    ORDER BY greatest(1, priority - coalesce(greatest(0, $8::bigint - run_at) / nullif($9::bigint, 0), 0)), run_at, id
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
  b.remembers, r.yes, r.reason, c.percent, c.message, c.value, c.updated_at, CASE WHEN b.n IS NULL OR b.n = 0 THEN ARRAY(
    SELECT ARRAY[lane, first] FROM (SELECT lane, min(run_at) AS first, min(ARRAY[urgency, run_at]) AS best FROM heads GROUP BY lane) h
    ORDER BY best LIMIT 4096
  ) END
FROM member
LEFT JOIN (SELECT * FROM jobs WHERE created_at IS NOT NULL) b ON true
LEFT JOIN LATERAL (SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id AND (b.lease > 0 OR b.remembers) OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id AND b.lease > 0 OFFSET 0) c ON true;

-- A claim whose answer was lost, $1 node, $2 first record, $3 the one after the last, is asked about, and something of it is there. The same
-- claim, or its last part, may still be on its way: what is working at this moment is waited for, and what arrives later takes nothing.
-- name: claim_note
UPDATE {schema}.node SET last_seq = $3::bigint - 1 WHERE id = $1::bigint AND dead_at IS NULL AND last_seq < $3::bigint - 1
  AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = $1::bigint AND k.seq >= $2::bigint AND k.seq < $3::bigint);

-- What became of it, or of jobs that started as they were enqueued: those that are not done. No row: the node is not alive. A row without a
-- job: nothing is left of the claim, or it never happened, which last_seq tells.
-- $1 node, $2 first record, $3 the one after the last.
-- $4 and $5 record and place behind which to read, $6 how many jobs at the most.
-- name: claim_again
SELECT n.last_seq, t.seq, t.slot, t.claimed_at, b.lane, b.run_at, b.id, b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args,
  b.options, b.tags, b.metadata, b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing,
  EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = b.id OFFSET 0), r.yes, r.reason,
  c.percent, c.message, c.value, c.updated_at
FROM {schema}.node n
LEFT JOIN LATERAL (
  SELECT k.seq, k.claimed_at, s.id, s.place - 1 AS slot
  FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
  WHERE k.node = n.id AND k.seq >= $2::bigint AND k.seq < $3::bigint AND (k.done >> (s.place - 1)::int) & 1 = 0
    AND (k.seq, s.place - 1) > ($4::bigint, $5::bigint)
  ORDER BY k.seq, s.place LIMIT $6::int
) t ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id OFFSET 0) c ON true
WHERE n.id = $1::bigint AND n.dead_at IS NULL
ORDER BY t.seq, t.slot;
