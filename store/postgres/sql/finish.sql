-- Ends of runs, and what else is written under a lease.
--
-- The runs of a batch come in groups, one for each claim record: $1 nodes, $2 numbers, $3 masks of slots, $4 and $5 the
-- first and the last of the group's runs among the arrays of runs, which start with $6 slots, $7 ids, $8 lease
-- numbers. "held" has one row for each group, in order; of a group that is not wholly live claimed_at is 0. Looking up
-- a run's group is then an array subscript and no join.

-- Plain completions, the hot path. $9 results, $10 groups of the runs, $11 now. All or nothing.
-- name: complete
WITH held AS MATERIALIZED (
  SELECT g.node, g.seq, g.mask, g.place, coalesce(c.claimed_at, 0) AS claimed_at, c.done | g.mask AS done, c.all_slots
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[]) WITH ORDINALITY AS g (node, seq, mask, first, last, place)
  LEFT JOIN LATERAL (
    SELECT k.claimed_at, k.done, k.all_slots FROM {schema}.claim k
    WHERE k.node = g.node AND k.seq = g.seq AND k.done & g.mask = 0 AND g.mask & ~k.all_slots = 0 AND NOT EXISTS (
      SELECT 1 FROM generate_series(g.first, g.last) i
      WHERE k.ids[($6::int[])[i] + 1] IS DISTINCT FROM ($7::uuid[])[i] OR coalesce(k.leases[($6::int[])[i] + 1], 1) <> ($8::bigint[])[i]
    ) FOR UPDATE
  ) c ON true
), emptied AS (
  DELETE FROM {schema}.claim k USING held h WHERE k.node = h.node AND k.seq = h.seq AND h.done = h.all_slots
), marked AS (
  UPDATE {schema}.claim k SET done = h.done FROM held h WHERE k.node = h.node AND k.seq = h.seq AND h.done <> h.all_slots
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, result)
  SELECT r.id, 6, $11::bigint, r.lease, a.nodes[r.place], a.claimed_at[r.place], r.result
  FROM unnest($7::uuid[], $8::bigint[], $9::bytea[], $10::int[]) AS r (id, lease, result, place),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM held) a
)
SELECT CASE WHEN min(claimed_at) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM held;

-- Every other end: by its run, by the leave of its node, or by a rescue. $9 groups of the runs, $10 states, $11 run times,
-- $12 reasons, $13 errors, $14 traces, $15 results, $16 start times, $17 whether the run reports itself, $18 now. All
-- or nothing. Answers with what became of each run.
--
-- A requested cancel goes before everything but an end that the run itself reports, and a deadline before a further run. What goes on keeps the
-- turn of its ordering key; what ends frees it.
-- name: conclude
WITH held AS MATERIALIZED (
  SELECT g.node, g.seq, g.mask, g.place, coalesce(c.claimed_at, 0) AS claimed_at, c.done | g.mask AS done, c.all_slots
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[]) WITH ORDINALITY AS g (node, seq, mask, first, last, place)
  LEFT JOIN LATERAL (
    SELECT k.claimed_at, k.done, k.all_slots FROM {schema}.claim k
    WHERE k.node = g.node AND k.seq = g.seq AND k.done & g.mask = 0 AND g.mask & ~k.all_slots = 0 AND NOT EXISTS (
      SELECT 1 FROM generate_series(g.first, g.last) i
      WHERE k.ids[($6::int[])[i] + 1] IS DISTINCT FROM ($7::uuid[])[i] OR coalesce(k.leases[($6::int[])[i] + 1], 1) <> ($8::bigint[])[i]
    ) FOR UPDATE
  ) c ON true
), emptied AS (
  DELETE FROM {schema}.claim k USING held h WHERE k.node = h.node AND k.seq = h.seq AND h.done = h.all_slots
), marked AS (
  UPDATE {schema}.claim k SET done = h.done FROM held h WHERE k.node = h.node AND k.seq = h.seq AND h.done <> h.all_slots
), runs AS MATERIALIZED (
  SELECT r.*, a.nodes[r.place] AS node, a.claimed_at[r.place] AS claimed_at
  FROM unnest($7::uuid[], $8::bigint[], $9::int[], $10::int[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bytea[], $16::bigint[])
    WITH ORDINALITY AS r (id, lease, place, state, run_at, reason, error, trace, result, started_at, run),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM held) a
), judged AS MATERIALIZED (
  SELECT r.*, b.lane, b.attempt, b.ordering_key, b.unique_key, b.unique_states, b.due, c.words, l.queue,
    CASE
      WHEN c.asked AND (r.state < 6 OR NOT $17::boolean) THEN 8
      WHEN r.state >= 6 THEN r.state
      WHEN r.state <> 2 AND b.deadline <= r.run_at THEN 7
      ELSE r.state
    END AS final
  FROM runs r
  CROSS JOIN LATERAL (
    SELECT j.lane, j.attempt, j.ordering_key, j.unique_key, j.unique_states, j.run_at AS due,
      (extract(epoch FROM (j.options ->> 'deadline')::timestamptz) * 1000000)::bigint AS deadline
    FROM {schema}.job j WHERE j.id = r.id OFFSET 0
  ) b
  CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
  LEFT JOIN LATERAL (SELECT true AS asked, q.reason AS words FROM {schema}.cancel_request q WHERE q.id = r.id OFFSET 0) c ON true
), fates AS MATERIALIZED (
  SELECT id, lease, run, node, claimed_at, started_at, trace, result, lane, queue, ordering_key, unique_key, unique_states, final, due,
    CASE WHEN final < 6 THEN run_at END AS run_at,
    attempt + 1 AS number, attempt + CASE WHEN final IN (1, 2) THEN 0 ELSE 1 END AS attempt,
    CASE WHEN final = state THEN reason WHEN final = 8 THEN 'cancelled' ELSE 'deadline' END AS reason,
    CASE WHEN final = 8 AND state <> 8 THEN words ELSE error END AS error
  FROM judged
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, reason, error, result)
  SELECT id, final, $18::bigint, lease, node, claimed_at, reason, error, result FROM fates WHERE final >= 6
), recorded AS (
  INSERT INTO {schema}.attempt (id, lease, node, claimed_at, started_at, ended_at, attempt, outcome, reported, reason, error, trace)
  SELECT id, lease, node, claimed_at, started_at, $18::bigint, attempt + CASE WHEN final IN (1, 2) THEN 1 ELSE 0 END, final, $17::boolean, reason, error, trace
  FROM fates WHERE final <> 6
), put_back AS (
  UPDATE {schema}.job j SET run_at = f.run_at, lease = f.lease, attempt = f.attempt FROM fates f WHERE j.id = f.id AND f.final < 6
), at_once AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM fates WHERE final = 2
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key) SELECT run_at, id, lane, final, ordering_key FROM fates WHERE final IN (1, 4)
), released AS (
  DELETE FROM {schema}.unique_key u USING fates f
  WHERE f.unique_key IS NOT NULL AND (f.unique_states >> f.final) & 1 = 0 AND u.key = f.unique_key AND u.id = f.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING fates f
  WHERE f.final >= 6 AND f.ordering_key IS NOT NULL AND k.queue = f.queue AND k.ordering_key = f.ordering_key AND k.id = f.id
  RETURNING k.queue, k.ordering_key
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM freed
), answered AS (
  DELETE FROM {schema}.cancel_request q USING fates f WHERE f.final >= 6 AND q.id = f.id
)
SELECT f.run, f.final, f.reason, coalesce(f.run_at, f.due), f.lane
FROM (SELECT CASE WHEN min(claimed_at) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END AS fine FROM held) h JOIN fates f ON h.fine = 0;

-- Which leases live: $1 nodes, $2 numbers, $3 slots, $4 ids, $5 lease numbers. Their records are locked, in order.
-- name: live_leases
SELECT t.place FROM (
  SELECT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::uuid[], $5::bigint[]) WITH ORDINALITY AS t (node, seq, slot, id, lease, place)
  ORDER BY node, seq, slot
) t CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE k.node = t.node AND k.seq = t.seq AND (k.done >> t.slot) & 1 = 0 AND k.ids[t.slot + 1] = t.id AND coalesce(k.leases[t.slot + 1], 1) = t.lease
  FOR UPDATE
) c;

-- Locks claim records in order, for a batch that touches them in several statements. $1 nodes, $2 numbers.
-- name: lock_claims
SELECT count(*) FROM (SELECT * FROM unnest($1::bigint[], $2::bigint[]) AS t (node, seq) ORDER BY node, seq) t
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.claim k WHERE k.node = t.node AND k.seq = t.seq FOR UPDATE) c;

-- Outcomes that were applied before: by their finished row, or by the attempt that they recorded.
-- $1 ids, $2 lease numbers, $3 nodes.
-- name: outcomes_applied
SELECT t.place, coalesce(a.outcome, f.state)
FROM unnest($1::uuid[], $2::bigint[], $3::bigint[]) WITH ORDINALITY AS t (id, lease, node, place)
LEFT JOIN LATERAL (
  SELECT b.outcome FROM {schema}.attempt b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.reported OFFSET 0
) a ON true
LEFT JOIN LATERAL (
  SELECT b.state FROM {schema}.finished b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.state = 6 OFFSET 0
) f ON true
WHERE a.outcome IS NOT NULL OR f.state IS NOT NULL;

-- Checkpoints, as above in groups: $9 percents, $10 messages, $11 values, $12 now. All or nothing.
-- name: checkpoint
WITH held AS MATERIALIZED (
  SELECT g.place, coalesce(c.live, 0) AS live
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[]) WITH ORDINALITY AS g (node, seq, mask, first, last, place)
  LEFT JOIN LATERAL (
    SELECT 1 AS live FROM {schema}.claim k
    WHERE k.node = g.node AND k.seq = g.seq AND k.done & g.mask = 0 AND g.mask & ~k.all_slots = 0 AND NOT EXISTS (
      SELECT 1 FROM generate_series(g.first, g.last) i
      WHERE k.ids[($6::int[])[i] + 1] IS DISTINCT FROM ($7::uuid[])[i] OR coalesce(k.leases[($6::int[])[i] + 1], 1) <> ($8::bigint[])[i]
    ) FOR UPDATE
  ) c ON true
), written AS (
  INSERT INTO {schema}.checkpoint (id, lease, percent, message, value, updated_at)
  SELECT id, lease, percent, message, value::json, $12::bigint
  FROM unnest($7::uuid[], $8::bigint[], $9::float8[], $10::text[], $11::text[]) AS r (id, lease, percent, message, value)
  ON CONFLICT (id) DO UPDATE SET lease = excluded.lease, percent = excluded.percent, message = excluded.message,
    value = excluded.value, updated_at = excluded.updated_at
)
SELECT CASE WHEN min(live) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM held;
