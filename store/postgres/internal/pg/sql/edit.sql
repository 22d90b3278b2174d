-- What people, and runs, change of jobs, and jobs that people remove.

-- What runs say of their jobs, whose bodies are locked: NULL leaves metadata or tags as they are.
-- name: say
-- params: @jobs uuid[], @metadata text[], @tags text[]
UPDATE {schema}.job j SET metadata = coalesce(t.metadata::json, j.metadata),
  tags = CASE WHEN t.tags IS NULL THEN j.tags WHEN t.tags <> '[]' THEN t.tags::jsonb END
FROM unnest(@jobs, @metadata, @tags) AS t (id, metadata, tags) WHERE j.id = t.id;

-- What a person changes in a body, which is locked. NULL leaves it as it is; @options and @tags are
-- NULL, too, if there are none.
-- name: edit_body
-- params: @job uuid, @max_attempts int, @args bytea, @codec int, @metadata text, @options text
-- params: @tags text
UPDATE {schema}.job SET max_attempts = @max_attempts, args = coalesce(@args, args), codec = @codec,
  metadata = coalesce(@metadata::json, metadata), options = @options::json, tags = @tags::jsonb
WHERE id = @job;

-- A job that does not run gets another pointer, or the same one once more, so that a claim which
-- has not seen its body yet does not take it. Its body is locked. @due is that of a pointer in
-- deferred. No row: it moved at this moment.
-- name: edit_move
-- params: @job uuid, @lane int, @queue int, @priority int, @run_at bigint, @due bigint, @state int
--
-- walk: body: where the job is, and whether it has the turn of its ordering key.
-- walk: ready_gone, keyed_gone, gated_gone, deferred_gone:
-- walk:   its pointer, wherever it is. That of a job
-- walk:   that waits says all that wakes it.
-- walk: moved: the job, if it had a pointer. It keeps its turn within its queue.
-- walk: freed: the turn that it gives up.
-- walk: bodies: the body says what the pointer says.
-- walk: now_ready, in_line, later: the new pointer.
-- walk: checks: keys whose turn may have to be handed on: that of the old queue, and that of
-- walk:   the new one.
WITH body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority, EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = j.ordering_key AND k.id = j.id
  ) AS has_turn
  FROM (SELECT * FROM {schema}.job b WHERE b.id = @job OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), ready_gone AS (
  DELETE FROM {schema}.ready r USING body b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
), keyed_gone AS (
  DELETE FROM {schema}.keyed k USING body b
  WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
  RETURNING k.id
), gated_gone AS (
  DELETE FROM {schema}.gated g USING body b WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING g.id
), deferred_gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id RETURNING d.*
), moved AS MATERIALIZED (
  SELECT b.*, b.has_turn AND b.queue = @queue AS keeps_turn FROM body b
  WHERE EXISTS (
    SELECT 1 FROM ready_gone UNION ALL SELECT 1 FROM keyed_gone UNION ALL SELECT 1 FROM gated_gone UNION ALL SELECT 1 FROM deferred_gone
  )
), freed AS (
  DELETE FROM {schema}.key_holder k USING moved m
  WHERE m.has_turn AND NOT m.keeps_turn AND k.queue = m.queue AND k.ordering_key = m.ordering_key AND k.id = m.id
), bodies AS (
  UPDATE {schema}.job j SET lane = @lane, run_at = @run_at FROM moved m WHERE j.id = m.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id)
  SELECT @lane, @run_at, id FROM moved WHERE @state = {available} AND (ordering_key IS NULL OR keeps_turn)
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT @queue, ordering_key, @priority, @run_at, id, @lane FROM moved
  WHERE @state = {available} AND ordering_key IS NOT NULL AND NOT keeps_turn
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, seen, enough, since, until, was_due, was_run_at, was_state, kinds,
    failures, held, reason, error, waits_for, handed_over)
  SELECT @due, m.id, @lane, @state, m.ordering_key, d.seen, d.enough, d.since, d.until, d.was_due, d.was_run_at, d.was_state, d.kinds,
    d.failures, d.held, d.reason, d.error, d.waits_for, d.handed_over
  FROM moved m LEFT JOIN deferred_gone d ON d.id = m.id WHERE @state <> {available}
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key)
  SELECT queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
  UNION SELECT @queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
)
SELECT 1 FROM moved;

-- Whether a job was asked to cancel, and has not been.
-- name: cancel_request_of
-- params: @job uuid
SELECT EXISTS (SELECT 1 FROM {schema}.cancel_request q WHERE q.id = @job);

-- What there is of jobs that are to be removed: how they ended, and a child of theirs that has
-- not. The row of the end is locked, if no other transaction has locked it; @jobs are locked
-- already. And whether others come after them that do not know yet how they have ended.
-- name: delete_look
-- params: @jobs uuid[]
SELECT e.id, f.state, c.id, {{is_untold}} FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id)) e
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job b WHERE b.id = e.id OFFSET 0) j
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = e.id FOR UPDATE SKIP LOCKED) f ON true
LEFT JOIN LATERAL (
  SELECT b.id FROM {schema}.job b WHERE f.state IS NOT NULL AND b.parent = e.id
    AND NOT EXISTS (SELECT 1 FROM {schema}.finished a WHERE a.id = b.id OFFSET 0) LIMIT 1
) c ON true;

-- Jobs that are deleted have no children to be closed, and free their business keys, also those
-- that are kept; but for one that another transaction is taking. Who deleted them stays recorded.
-- name: delete_audit
-- params: @jobs uuid[], @now bigint, @actor text, @reason text
WITH closed AS (
  DELETE FROM {schema}.closed_parent WHERE id = ANY (@jobs)
), own AS MATERIALIZED (
  SELECT k.namespace, k.kind, k.key FROM unnest(@jobs) AS t (id)
  CROSS JOIN LATERAL (
    SELECT b.id, b.lane, b.options ->> 'key' AS key FROM {schema}.job b WHERE b.id = t.id AND b.options IS NOT NULL OFFSET 0
  ) j
  CROSS JOIN LATERAL (SELECT a.queue, {{kind_name_of_a}} AS kind FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
  CROSS JOIN LATERAL (SELECT a.namespace FROM {schema}.queue a WHERE a.id = l.queue OFFSET 0) q
  CROSS JOIN LATERAL (
    SELECT a.namespace, a.kind, a.key FROM {schema}.job_key a
    WHERE a.namespace = q.namespace AND a.kind = l.kind AND a.key = j.key AND a.id = j.id FOR UPDATE SKIP LOCKED
  ) k
  WHERE j.key IS NOT NULL
), freed AS (
  DELETE FROM {schema}.job_key k USING own o WHERE k.namespace = o.namespace AND k.kind = o.kind AND k.key = o.key
)
INSERT INTO {schema}.audit (at, actor, action, job, detail, before)
SELECT @now, @actor, 'delete', id, @reason, {{said_was}} FROM unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT a.state AS was FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f;
