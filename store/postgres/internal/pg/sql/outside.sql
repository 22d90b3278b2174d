-- What is done to jobs in callers' transactions, and by systems that jobs were handed over to.
--
-- A caller's transaction may stay open. So it waits for nothing long, and keeps nothing that others
-- need but the jobs that it names: it locks their bodies, those that it can have (grab_bodies), and
-- then, as the statements cancel, retry_finished and finish_outside do, their finished rows, their
-- pointers, unique keys, turns of ordering keys, and requests. It locks no parents: these are told
-- later, by who closes children.

-- Where jobs are: the state, whether they are handed over, the kind, and whether they remember.
-- name: spots_of_jobs
-- params: @jobs uuid[]
SELECT t.place, coalesce(f.state, d.state, r.state, {running}), coalesce(d.handed_over, 0)::int, {{kind_name}}, EXISTS (
  SELECT 1 FROM {schema}.journal a WHERE a.id = t.id OFFSET 0
)
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue, a.kind, a.priority FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
LEFT JOIN LATERAL (
  SELECT a.state, a.handed_over FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = t.id OFFSET 0
) d ON f.state IS NULL
LEFT JOIN LATERAL (
  SELECT {available} AS state FROM {schema}.ready a WHERE a.lane = b.lane AND a.run_at = b.run_at AND a.id = t.id
  UNION ALL
  SELECT {available} FROM {schema}.keyed a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key AND a.priority = l.priority
    AND a.run_at = b.run_at AND a.id = t.id
  UNION ALL
  SELECT {available} FROM {schema}.gated a WHERE a.lane = b.lane AND a.run_at = b.run_at AND a.id = t.id
) r ON f.state IS NULL AND d.state IS NULL;

-- Ends jobs that are handed over. Their bodies are locked. Answers with those that were: the others
-- were promoted at this moment. Requests for them are forgotten by the sweep.
-- name: finish_outside
-- params: @jobs uuid[], @states int[], @results bytea[], @codecs int[], @errors text[]
-- params: @fingerprints bigint[], @now bigint, @actor text
WITH body AS MATERIALIZED (
  SELECT t.*, j.run_at, j.lane, j.ordering_key, j.unique_key, j.unique_states, j.options, l.queue,
    j.link & {successors} <> 0 AS has_successors
  FROM unnest(@jobs, @states, @results, @codecs, @errors, @fingerprints) AS t (id, state, result, codec, error, fingerprint)
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id AND d.handed_over IS NOT NULL
  RETURNING d.id, d.was_run_at
), over AS MATERIALIZED (
  SELECT * FROM body WHERE (id IN (SELECT id FROM gone)) IS TRUE
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, reason, error, fingerprint, result, codec, lane)
  SELECT id, state, @now, CASE WHEN state = {failed} THEN 'terminal' END, error, fingerprint, result, codec,
    CASE WHEN state = {failed} THEN lane END
  FROM over
), bodies AS (
  UPDATE {schema}.job j SET run_at = g.was_run_at FROM gone g WHERE g.was_run_at IS NOT NULL AND j.id = g.id
), released AS (
  DELETE FROM {schema}.unique_key u USING over b
  WHERE b.unique_key IS NOT NULL AND (b.unique_states >> b.state) & 1 = 0 AND u.key = b.unique_key AND u.id = b.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING over b
  WHERE b.ordering_key IS NOT NULL AND k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.id = b.id
    AND NOT (b.state = {failed} AND b.options ->> 'keep_turn' IS NOT NULL)
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM over WHERE ordering_key IS NOT NULL
), closed AS (
  INSERT INTO {schema}.closed_parent (id, at) SELECT b.id, @now FROM over b
  WHERE EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = b.id AND c.link & {policy_bits} <> {abandon_child} OFFSET 0)
  ON CONFLICT (id) DO UPDATE SET at = excluded.at, after = NULL
), succeeded AS (
  INSERT INTO {schema}.edge_check (predecessor) SELECT id FROM over WHERE has_successors
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, before, after)
  SELECT @now, @actor, CASE WHEN becomes = {completed} THEN 'complete' ELSE 'fail' END, id, '{"state":"waiting"}', {{said_becomes}}
  FROM (SELECT id, state AS becomes FROM over) t
)
SELECT id FROM over;

-- Decides that jobs fail which are handed over and have to compensate first: they are available,
-- and closing. Their bodies are locked. Answers as finish_outside, with their lanes.
-- name: fail_undoing
-- params: @jobs uuid[], @paths text[], @data bytea[], @codecs int[], @now bigint, @actor text
WITH body AS MATERIALIZED (
  SELECT t.*, j.run_at, j.lane, j.lease, j.ordering_key, l.queue, l.priority, {handed_over_undo} AS undoes
  FROM unnest(@jobs, @paths, @data, @codecs) AS t (id, path, data, codec)
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), gone AS (
  DELETE FROM {schema}.deferred d USING body b
  WHERE d.due = b.run_at AND d.id = b.id AND d.handed_over = b.undoes RETURNING d.id
), going AS MATERIALIZED (
  SELECT b.*, coalesce((SELECT a.seq FROM {schema}.journal a WHERE a.id = b.id ORDER BY a.seq DESC LIMIT 1), 0) + 1 AS seq,
    b.ordering_key IS NULL OR EXISTS (
      SELECT 1 FROM {schema}.key_holder k WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.id = b.id
    ) AS free
  FROM body b WHERE (b.id IN (SELECT id FROM gone)) IS TRUE ORDER BY b.id
), entries AS (
  INSERT INTO {schema}.journal (id, seq, at, lease, codec, kind, path, data)
  SELECT id, seq, @now, lease, codec, {entry_closing}, path, data FROM going
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now, closing = g.seq, remembers = true FROM going g WHERE j.id = g.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM going WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM going WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM going WHERE NOT free
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, before, after)
  SELECT @now, @actor, 'fail', id, '{"state":"waiting"}', '{"state":"available"}' FROM going
)
SELECT id, lane FROM going;

-- Notes of jobs that have just finished what their parents are to be told, in the order given.
-- Answers with those that have such a parent.
-- name: untold_put
-- params: @jobs uuid[]
INSERT INTO {schema}.untold (id, parent, state, codec, reason, error, data)
SELECT t.id, j.parent, f.state, coalesce(f.codec, 0), f.reason, f.error, f.result
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT a.parent FROM {schema}.job a WHERE a.id = t.id AND a.link & {answers} <> 0 OFFSET 0) j
CROSS JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f
ORDER BY t.place
RETURNING id;

-- The parents of such notes, after one, in the order of their ids. Each is found by one look into
-- the index, however many notes it has.
-- name: untold_parents
-- params: @after uuid, @limit int
WITH RECURSIVE parents (id) AS (
  SELECT f.parent FROM (SELECT u.parent FROM {schema}.untold u WHERE u.parent > @after ORDER BY u.parent LIMIT 1) f
  UNION ALL
  SELECT n.parent FROM parents p CROSS JOIN LATERAL (
    SELECT u.parent FROM {schema}.untold u WHERE u.parent > p.id ORDER BY u.parent LIMIT 1
  ) n
)
SELECT id FROM parents LIMIT @limit;

-- Delivers notes to their parents, which are locked, as the statement answer does: the oldest of
-- each. One that a caller's transaction takes back is left alone. Answers with the notes that are
-- removed, and whether their parents got them: a parent that is gone, or completed, gets none.
-- name: tell_parents
-- params: @parents uuid[], @limit int, @now bigint
WITH notes AS MATERIALIZED (
  SELECT n.place FROM unnest(@parents) AS t (id) CROSS JOIN LATERAL (
    SELECT u.ctid AS place FROM {schema}.untold u WHERE u.parent = t.id ORDER BY u.seq LIMIT @limit FOR UPDATE SKIP LOCKED
  ) n LIMIT @limit
), gone AS (
  DELETE FROM {schema}.untold WHERE ctid = ANY (ARRAY(SELECT place FROM notes)) RETURNING *
), told AS MATERIALIZED (
  SELECT g.*, coalesce(l.seq, 0) + row_number() OVER (PARTITION BY g.parent ORDER BY g.seq) AS number,
    EXISTS (SELECT 1 FROM {schema}.job p WHERE p.id = g.parent OFFSET 0)
      AND NOT EXISTS (SELECT 1 FROM {schema}.finished p WHERE p.id = g.parent AND p.state = {completed} OFFSET 0) AS hears
  FROM gone g
  LEFT JOIN LATERAL (SELECT m.seq FROM {schema}.inbox m WHERE m.id = g.parent ORDER BY m.seq DESC LIMIT 1) l ON true
), sent AS (
  INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, reason, error, data)
  SELECT parent, number, @now, id, codec, {message_child}, state, reason, error, data FROM told WHERE hears
)
SELECT parent, id, hears FROM told;

-- What a statement may fail behind, in a caller's transaction.
-- name: savepoint
SAVEPOINT holdfast;

-- name: savepoint_release
RELEASE SAVEPOINT holdfast;

-- name: savepoint_back
ROLLBACK TO SAVEPOINT holdfast;

-- How long the transaction waits for a lock.
-- name: lock_timeout
SELECT current_setting('lock_timeout');
