-- Ends of runs, and what else is written under a lease.
--
-- The runs of a batch come in groups, one for each claim record: $1 nodes, $2 numbers, $3 masks of slots, $4 and $5 the
-- first and the last of the group's runs among the arrays of runs, which start with $6 slots, $7 ids, $8 lease
-- numbers. "held" has one row for each group, in order; of a group that is not wholly live claimed_at is 0. Looking up
-- a run's group is then an array subscript and no join. Records are changed between the first and the last number of the batch as well
-- as by a join: the planner may read the whole index for a join, which is small when the plan is made, and large while a long transaction
-- keeps what died.

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
  DELETE FROM {schema}.claim k USING held h
  WHERE k.node = h.node AND k.seq = h.seq AND h.done = h.all_slots AND k.node = ANY ($1::bigint[])
    AND k.seq >= (SELECT min(seq) FROM held) AND k.seq <= (SELECT max(seq) FROM held)
), marked AS (
  UPDATE {schema}.claim k SET done = h.done FROM held h
  WHERE k.node = h.node AND k.seq = h.seq AND h.done <> h.all_slots AND k.node = ANY ($1::bigint[])
    AND k.seq >= (SELECT min(seq) FROM held) AND k.seq <= (SELECT max(seq) FROM held)
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, result)
  SELECT r.id, 6, $11::bigint, r.lease, a.nodes[r.place], a.claimed_at[r.place], r.result
  FROM unnest($7::uuid[], $8::bigint[], $9::bytea[], $10::int[]) AS r (id, lease, result, place),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM held) a
)
SELECT CASE WHEN min(claimed_at) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM held;

-- Every other end: by its run, by the leave of its node, by a rescue, or by a person. $9 groups of the runs, $10 states, $11 run times
-- (of a run that parks, when it is woken at the latest), $12 reasons, $13 errors, $14 traces, $15 results, $16 start times, $17 whether
-- the run reports itself, $18 now, $19 traits: 1 it has a journal, 2 its end may have children to close, 4 it begins anew, 8 it is held,
-- 16 failures wake it, 32 it is not counted, 64 its run knew of a request to cancel it, 128 its code contradicts its journal; $20 versions to be bound to, and of those that park $21 the last message they know, $22 the kinds that wake them,
-- $23 the message that is enough, $24 their time limit, $25 what they wait for. All or nothing. Answers with what became of each run.
--
-- A requested cancel goes before everything but an end that the run itself reports, and a deadline before a further run; a job with a
-- journal is given the chance to end itself instead, once: a run that knew, or that cannot be replayed, ends as it says. What goes on keeps the turn of its ordering key; what ends frees it. Bodies are
-- changed in the order of their ids. A request to pause is locked, so that it is either forgotten or applied.
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
  DELETE FROM {schema}.claim k USING held h
  WHERE k.node = h.node AND k.seq = h.seq AND h.done = h.all_slots AND k.node = ANY ($1::bigint[])
    AND k.seq >= (SELECT min(seq) FROM held) AND k.seq <= (SELECT max(seq) FROM held)
), marked AS (
  UPDATE {schema}.claim k SET done = h.done FROM held h
  WHERE k.node = h.node AND k.seq = h.seq AND h.done <> h.all_slots AND k.node = ANY ($1::bigint[])
    AND k.seq >= (SELECT min(seq) FROM held) AND k.seq <= (SELECT max(seq) FROM held)
), runs AS MATERIALIZED (
  SELECT r.*, r.traits & 1 <> 0 AS durable, a.nodes[r.place] AS node, a.claimed_at[r.place] AS claimed_at
  FROM unnest($7::uuid[], $8::bigint[], $9::int[], $10::int[], $11::bigint[], $12::text[], $13::text[], $14::text[], $15::bytea[], $16::bigint[],
      $19::int[], $20::text[], $21::bigint[], $22::int[], $23::bigint[], $24::bigint[], $25::text[])
    WITH ORDINALITY AS r (id, lease, place, state, run_at, reason, error, trace, result, started_at,
      traits, version, seen, kinds, enough, until, waits_for, run),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM held) a
), judged AS MATERIALIZED (
  SELECT r.*, b.attempt, b.ordering_key, b.unique_key, b.unique_states, b.due, b.deadline, c.asked AS cancelled, c.words, l.queue,
    p.asked, p.asked AND c.heard IS NULL AND NOT (r.state = 5 AND r.traits & 8 <> 0) AS paused, p.words AS pause_words,
    CASE WHEN r.version IS NULL THEN b.lane ELSE coalesce((
      SELECT v.id FROM {schema}.lane v WHERE v.queue = l.queue AND v.kind = split_part(l.kind, '@', 1) || '@' || r.version AND v.priority = l.priority
    ), b.lane) END AS lane,
    CASE
      WHEN c.asked AND r.durable AND r.state < 6 AND r.traits & 192 = 0 THEN 2
      WHEN c.asked AND NOT r.durable AND (r.state < 6 OR NOT $17::boolean) THEN 8
      WHEN r.state >= 6 THEN r.state
      WHEN r.state IN (1, 4) AND NOT r.durable AND b.deadline <= r.run_at THEN 7
      WHEN p.asked AND c.heard IS NULL THEN 5
      ELSE r.state
    END AS final
  FROM runs r
  CROSS JOIN LATERAL (
    SELECT j.lane, j.attempt, j.ordering_key, j.unique_key, j.unique_states, j.run_at AS due, j.closing,
      CASE WHEN j.closing IS NULL THEN (extract(epoch FROM (j.options ->> 'deadline')::timestamptz) * 1000000)::bigint END AS deadline
    FROM {schema}.job j WHERE j.id = r.id OFFSET 0
  ) b
  CROSS JOIN LATERAL (SELECT a.queue, a.kind, a.priority FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
  LEFT JOIN LATERAL (
    SELECT true AS heard, b.closing IS NULL AS asked, q.reason AS words FROM {schema}.cancel_request q WHERE q.id = r.id OFFSET 0
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT true AS asked, q.reason AS words FROM {schema}.pause_request q
    WHERE q.id = r.id AND (SELECT EXISTS (SELECT 1 FROM {schema}.pause_request)) FOR UPDATE
  ) p ON true
), fates AS MATERIALIZED (
  SELECT id, lease, run, node, claimed_at, started_at, trace, result, lane, queue, ordering_key, unique_key, unique_states, final, due, asked, paused,
    pause_words, state, traits, seen, kinds, enough, until, waits_for,
    cancelled AND final < 6 AND traits & 64 <> 0 AS cancel_seen,
    final = 5 AND (paused OR traits & 8 <> 0) IS TRUE AS is_held,
    CASE
      WHEN final = 2 THEN $18::bigint
      WHEN final = 5 AND (paused OR traits & 8 <> 0) THEN 9223372036854775807
      WHEN final IN (1, 4) AND durable AND (cancelled AND traits & 192 <> 0) IS NOT TRUE OR final = 5 THEN least(run_at, deadline)
      WHEN final < 6 THEN run_at
    END AS run_at,
    CASE WHEN state IN (1, 4) THEN CASE WHEN durable THEN least(run_at, deadline) ELSE run_at END END AS was_due,
    attempt + 1 AS number, attempt + CASE WHEN final >= 6 OR state IN (4, 7) AND traits & 32 = 0 THEN 1 ELSE 0 END AS attempt,
    CASE WHEN final = 8 AND state <> 8 THEN 'cancelled' WHEN final = 7 AND state <> 7 THEN 'deadline' ELSE reason END AS reason,
    CASE WHEN final = 8 AND state <> 8 THEN words ELSE error END AS error
  FROM judged ORDER BY id
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, reason, error, result)
  SELECT id, final, $18::bigint, lease, node, claimed_at, reason, error, result FROM fates WHERE final >= 6
), recorded AS (
  INSERT INTO {schema}.attempt (id, lease, node, claimed_at, started_at, ended_at, attempt, outcome, reported, reason, error, trace)
  SELECT id, lease, node, claimed_at, started_at, $18::bigint, number, final, $17::boolean, reason, error, trace
  FROM fates WHERE final > 6 OR final < 6 AND state <> 5 AND traits & 4 = 0
), put_back AS (
  UPDATE {schema}.job j SET run_at = f.run_at, lease = f.lease, attempt = f.attempt, lane = f.lane,
    remembers = CASE WHEN f.traits & 1 <> 0 THEN true END,
    claimed_at = CASE WHEN f.state = 5 OR f.traits & 4 <> 0 THEN f.claimed_at ELSE j.claimed_at END
  FROM fates f WHERE j.id = f.id AND f.final < 6
), at_once AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM fates WHERE final = 2
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, since, held, was_state, was_due, was_run_at, reason, error, waits_for,
    seen, enough, until, kinds, failures)
  SELECT run_at, id, lane, final, ordering_key, CASE WHEN final = 5 THEN $18::bigint END, CASE WHEN final = 5 THEN is_held END,
    CASE WHEN is_held THEN state END, CASE WHEN is_held THEN was_due END, CASE WHEN is_held THEN due END,
    CASE WHEN paused THEN 'paused' WHEN is_held THEN reason END, CASE WHEN paused THEN pause_words WHEN is_held THEN error END,
    CASE WHEN paused IS NOT TRUE THEN waits_for END, CASE WHEN NOT is_held THEN seen END, CASE WHEN NOT is_held THEN enough END,
    CASE WHEN NOT is_held THEN until END, CASE WHEN NOT is_held THEN kinds END, CASE WHEN final = 5 AND NOT is_held THEN traits & 16 <> 0 END
  FROM fates WHERE final IN (1, 4, 5)
), released AS (
  DELETE FROM {schema}.unique_key u USING fates f
  WHERE f.unique_key IS NOT NULL AND (f.unique_states >> CASE WHEN f.final = 5 THEN 3 ELSE f.final END) & 1 = 0 AND u.key = f.unique_key AND u.id = f.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING fates f
  WHERE f.final >= 6 AND f.ordering_key IS NOT NULL AND k.queue = f.queue AND k.ordering_key = f.ordering_key AND k.id = f.id
  RETURNING k.queue, k.ordering_key
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM freed
), answered AS (
  DELETE FROM {schema}.cancel_request q USING fates f WHERE f.final >= 6 AND q.id = f.id
), forgotten AS (
  DELETE FROM {schema}.pause_request q USING fates f WHERE f.asked AND q.id = f.id
), noted AS (
  UPDATE {schema}.cancel_request q SET seen = true FROM fates f WHERE f.cancel_seen AND q.id = f.id
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

-- Outcomes that were applied before: by their finished row, by the attempt that they recorded, or, if they leave neither, by a lease that
-- the body knows of and that nobody else has ended. $1 ids, $2 lease numbers, $3 nodes, $4 the states of those that leave neither, 0 of
-- others.
-- name: outcomes_applied
SELECT t.place, coalesce(a.outcome, f.state, t.state)
FROM unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::int[]) WITH ORDINALITY AS t (id, lease, node, state, place)
LEFT JOIN LATERAL (
  SELECT b.outcome FROM {schema}.attempt b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.reported OFFSET 0
) a ON true
LEFT JOIN LATERAL (
  SELECT b.state FROM {schema}.finished b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.state = 6 OFFSET 0
) f ON true
WHERE a.outcome IS NOT NULL OR f.state IS NOT NULL OR t.state > 0
  AND EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id AND j.lease >= t.lease OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM {schema}.attempt b WHERE b.id = t.id AND b.lease = t.lease OFFSET 0);

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
