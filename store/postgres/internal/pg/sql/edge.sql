-- Jobs that come after others. Rows of a job that waits are changed by those alone that have locked
-- its body, or insert it.

-- What there is of predecessors: how they have finished, 0 if they have not. None of those that are
-- not in the namespace.
-- name: edge_look
-- params: @predecessors uuid[], @namespaces text[]
SELECT t.place, coalesce(f.state, 0)::int FROM unnest(@predecessors, @namespaces) WITH ORDINALITY AS t (id, namespace, place)
CROSS JOIN LATERAL ({{known_job}}) j
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
WHERE j.namespace = t.namespace;

-- Lets jobs wait for others. Those that have a pointer and do not wait are held, and give up the
-- turn of their ordering key, which those that they wait for may need. With @mark the bodies of
-- the predecessors are marked, of which no other transaction has locked them. Answers with the
-- jobs that are held now.
-- name: edge_put
-- params: @predecessors uuid[], @successors uuid[], @policies int[], @now bigint, @mark boolean
--
-- walk: edges, checks: for what they wait, and that it is to be looked at.
-- walk: body: the jobs. ready_gone, keyed_gone, gated_gone, deferred_gone: what deletes the pointer
-- walk:   of a job decides about it.
-- walk: bodies, held: they are held, and remember what they were.
-- walk: freed, key_checks: turns that are given up.
-- walk: known, marked: predecessors whose next claims are to tell that others come after them.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(@predecessors, @successors, @policies) AS t (predecessor, successor, policy)
), edges AS (
  INSERT INTO {schema}.edge (predecessor, successor, policy) SELECT predecessor, successor, policy FROM input
  ON CONFLICT (predecessor, successor) DO UPDATE SET policy = excluded.policy, told = NULL
), checks AS (
  INSERT INTO {schema}.edge_check (predecessor) SELECT DISTINCT predecessor FROM input
), body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority
  FROM (SELECT DISTINCT successor AS id FROM input) t
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id AND b.lease = 0 OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), ready_gone AS (
  DELETE FROM {schema}.ready r USING body b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING b.*
), keyed_gone AS (
  DELETE FROM {schema}.keyed k USING body b
  WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
  RETURNING b.*
), gated_gone AS (
  DELETE FROM {schema}.gated g USING body b WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING b.*
), deferred_gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id AND d.held IS NOT TRUE RETURNING b.*, d.due
), stopped AS MATERIALIZED (
  SELECT t.* FROM (
    SELECT *, NULL::bigint AS due FROM ready_gone UNION ALL SELECT *, NULL FROM keyed_gone
    UNION ALL SELECT *, NULL FROM gated_gone UNION ALL SELECT * FROM deferred_gone
  ) t ORDER BY t.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = {never} FROM stopped s WHERE j.id = s.id
), held AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, since, held, was_state, was_due, was_run_at, reason)
  SELECT {never}, id, lane, {waiting}, ordering_key, @now, true, CASE WHEN due IS NULL THEN {available} ELSE {scheduled} END, due, run_at,
    'dependency'
  FROM stopped
), freed AS (
  DELETE FROM {schema}.key_holder k USING stopped s
  WHERE s.ordering_key IS NOT NULL AND k.queue = s.queue AND k.ordering_key = s.ordering_key AND k.id = s.id
), key_checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM stopped WHERE ordering_key IS NOT NULL
), known AS MATERIALIZED (
  SELECT b.id FROM (SELECT DISTINCT predecessor AS id FROM input WHERE @mark ORDER BY 1) t
  CROSS JOIN LATERAL (
    SELECT j.id FROM {schema}.job j WHERE j.id = t.id AND coalesce(j.link, 0) & {successors} = 0 FOR NO KEY UPDATE SKIP LOCKED
  ) b
), marked AS (
  UPDATE {schema}.job j SET link = coalesce(j.link, 0) | {successors} FROM known k WHERE j.id = k.id
)
SELECT id::text FROM stopped;

-- Who changes what waits for what, one at a time: else two might make a cycle together.
-- name: edge_lock
SELECT pg_advisory_xact_lock(hashtextextended({schema_name} || '.edge', 0));

-- Whether one of the predecessors waits for a job, or for one that does, and so on.
-- name: edge_cycle
-- params: @predecessors uuid[], @job uuid
WITH RECURSIVE above (id) AS (
  SELECT t.id FROM unnest(@predecessors) AS t (id)
  UNION
  SELECT e.predecessor FROM above a CROSS JOIN LATERAL (
    SELECT x.predecessor FROM {schema}.edge x WHERE x.successor = a.id OFFSET 0
  ) e
)
SELECT EXISTS (SELECT 1 FROM above WHERE id = @job);

-- What a job waits for.
-- name: edges_of
-- params: @job uuid
SELECT e.predecessor, e.policy::int FROM {schema}.edge e WHERE e.successor = @job ORDER BY e.predecessor;

-- Whether an edge, e, is to be told: its predecessor has finished, with the state of f, in another
-- way than is known, or is gone.
-- fragment: edge_untold
CASE WHEN f.state IS NULL THEN e.told IS NULL ELSE e.told IS DISTINCT FROM f.state END

-- Whether there is one of a finished job, the id of e.
-- fragment: is_untold
EXISTS (
  SELECT 1 FROM (SELECT a.told FROM {schema}.edge a WHERE a.predecessor = e.id OFFSET 0) x
  WHERE x.told IS DISTINCT FROM (SELECT f.state FROM {schema}.finished f WHERE f.id = e.id)
)

-- Predecessors that are to be looked at and have finished, or are gone; behind one.
-- name: edge_checks_over
-- params: @after uuid, @limit int
SELECT DISTINCT c.predecessor FROM {schema}.edge_check c
WHERE c.predecessor > @after AND (
  EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = c.predecessor OFFSET 0)
    OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = c.predecessor OFFSET 0)
)
ORDER BY c.predecessor LIMIT @limit;

-- Whether anything is to be looked at, and whether something of it was not marked before.
-- name: edge_checks_left
SELECT EXISTS (SELECT 1 FROM {schema}.edge_check), EXISTS (SELECT 1 FROM {schema}.edge_check WHERE marked_at IS NULL);

-- Marks the bodies of predecessors, but for those that another transaction has locked, and notes
-- that.
-- name: edge_mark
-- params: @now bigint, @limit int
WITH known AS MATERIALIZED (
  SELECT b.id FROM (
    SELECT DISTINCT c.predecessor AS id FROM {schema}.edge_check c WHERE c.marked_at IS NULL ORDER BY 1
  ) t
  CROSS JOIN LATERAL (SELECT j.id FROM {schema}.job j WHERE j.id = t.id FOR NO KEY UPDATE SKIP LOCKED) b
  LIMIT @limit
), marked AS (
  UPDATE {schema}.job j SET link = coalesce(j.link, 0) | {successors} FROM known k
  WHERE j.id = k.id AND coalesce(j.link, 0) & {successors} = 0
)
UPDATE {schema}.edge_check c SET marked_at = @now WHERE c.marked_at IS NULL AND (c.predecessor IN (SELECT id FROM known)) IS TRUE;

-- Drops notes of predecessors that were marked so long ago that no claim is on its way that did not
-- see it, and that neither run nor have finished: the transaction that ends them will note it.
-- name: edge_unwatch
-- params: @marked_before bigint
WITH running AS MATERIALIZED (
  SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}} WHERE {{slot_open}}
)
DELETE FROM {schema}.edge_check c WHERE c.marked_at < @marked_before
  AND (c.predecessor IN (SELECT id FROM running)) IS NOT TRUE
  AND NOT EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = c.predecessor OFFSET 0)
  AND EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = c.predecessor OFFSET 0);

-- Jobs that are to be told of the ends of predecessors. Their bodies are locked; those that another
-- transaction has locked are left to the next time.
-- name: edge_successors
-- params: @predecessors uuid[], @limit int
SELECT x.predecessor, x.successor FROM (
  SELECT e.predecessor, e.successor FROM unnest(@predecessors) AS t (id)
  CROSS JOIN LATERAL (SELECT a.* FROM {schema}.edge a WHERE a.predecessor = t.id OFFSET 0) e
  LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
  WHERE {{edge_untold}}
) x
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job b WHERE b.id = x.successor FOR NO KEY UPDATE SKIP LOCKED) l
LIMIT @limit;

-- The same by a later snapshot, when they are locked: with their policy, and how the predecessor
-- has finished, 0 if it is gone. None of one that runs again.
-- name: edge_told_of
-- params: @predecessors uuid[], @successors uuid[]
SELECT e.predecessor, e.successor, e.policy::int, coalesce(f.state, 0)::int
FROM unnest(@predecessors, @successors) AS t (predecessor, successor)
CROSS JOIN LATERAL (
  SELECT a.* FROM {schema}.edge a WHERE a.predecessor = t.predecessor AND a.successor = t.successor OFFSET 0
) e
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.predecessor OFFSET 0) f ON true
WHERE {{edge_untold}}
  AND (f.state IS NOT NULL OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.predecessor OFFSET 0))
ORDER BY e.predecessor, e.successor;

-- Jobs wait for these no more, or for a person who decides.
-- name: edge_met
-- params: @predecessors uuid[], @successors uuid[]
DELETE FROM {schema}.edge e USING unnest(@predecessors, @successors) AS t (predecessor, successor)
WHERE e.predecessor = t.predecessor AND e.successor = t.successor;

-- name: edge_told
-- params: @predecessors uuid[], @successors uuid[], @states int[]
UPDATE {schema}.edge e SET told = t.state FROM unnest(@predecessors, @successors, @states) AS t (predecessor, successor, state)
WHERE e.predecessor = t.predecessor AND e.successor = t.successor;

-- Jobs that wait for others, and for none any more, become what they were. Their bodies are locked.
-- Answers with their states, and with when they are due if that is not now.
-- name: edge_release
-- params: @jobs uuid[], @now bigint
WITH gone AS (
  DELETE FROM {schema}.deferred d USING (
    SELECT j.id, j.run_at FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id)) t
    CROSS JOIN LATERAL (SELECT b.id, b.run_at FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
    WHERE NOT EXISTS (SELECT 1 FROM {schema}.edge e WHERE e.successor = t.id OFFSET 0)
  ) j
  WHERE d.due = j.run_at AND d.id = j.id AND d.held AND d.reason = 'dependency'
  RETURNING d.id, d.lane, d.ordering_key, d.was_due,
    CASE WHEN d.was_state = {scheduled} AND d.was_due > @now THEN {scheduled} ELSE {available} END AS state
), again AS MATERIALIZED (
  SELECT g.*, l.queue, l.priority, g.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = g.ordering_key AND k.id = g.id
  ) AS free
  FROM gone g CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = g.lane OFFSET 0) l
  ORDER BY g.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = CASE WHEN a.state = {available} THEN @now ELSE a.was_due END FROM again a WHERE j.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM again WHERE state = {available} AND free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM again WHERE state = {available} AND NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key)
  SELECT DISTINCT queue, ordering_key FROM again WHERE state = {available} AND NOT free
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key)
  SELECT was_due, id, lane, state, ordering_key FROM again WHERE state = {scheduled}
)
SELECT id, lane, state, was_due FROM again;

-- Notes of jobs that have finished just now and have successors.
-- name: edge_note
-- params: @jobs uuid[]
INSERT INTO {schema}.edge_check (predecessor) SELECT id FROM unnest(@jobs) AS t (id);

-- Drops the notes of predecessors of which no job is to be told any more. One that has successors
-- which wait for a person, and whose body is not marked, stays.
-- name: edge_checked
-- params: @predecessors uuid[]
WITH over AS MATERIALIZED (
  SELECT t.id, EXISTS (SELECT 1 FROM {schema}.edge a WHERE a.predecessor = t.id OFFSET 0) AND j.yes IS TRUE AS has_edges
  FROM unnest(@predecessors) AS t (id)
  LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
  LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j ON true
  WHERE (f.state IS NOT NULL OR j.yes IS NULL)
    AND NOT EXISTS (SELECT 1 FROM {schema}.edge e WHERE e.predecessor = t.id AND {{edge_untold}} OFFSET 0)
)
DELETE FROM {schema}.edge_check c
WHERE (c.predecessor IN (SELECT id FROM over WHERE NOT has_edges)) IS TRUE
  OR c.marked_at IS NOT NULL AND (c.predecessor IN (SELECT id FROM over)) IS TRUE;

-- A job that a person had paused while it waited for others waits for them again.
-- name: edge_await
-- params: @job uuid, @now bigint, @actor text, @reason text
WITH again AS (
  UPDATE {schema}.deferred d SET reason = 'dependency', error = NULL, since = @now FROM {schema}.job j
  WHERE j.id = @job AND d.due = j.run_at AND d.id = j.id AND d.held AND d.reason <> 'dependency'
    AND EXISTS (SELECT 1 FROM {schema}.edge e WHERE e.successor = @job OFFSET 0)
  RETURNING d.id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, 'resume', id, @reason, '{"state":"waiting","held":true}', '{"state":"waiting"}' FROM again
)
SELECT 1 FROM again;
