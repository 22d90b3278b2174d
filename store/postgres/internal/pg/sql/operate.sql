-- What people do.

-- Cancels jobs, or terminates them. Their bodies are locked, and those of the parents that they
-- answer, unless these are told apart. Jobs that have a pointer are cancelled, or, if they have a
-- journal and are not terminated, made available with the request; of those that run it is asked,
-- unless they are to be terminated, which is done elsewhere. Answers with the state of each job
-- that exists, its lane, and whether it was cancelled just now; state 0 is one that moved at this
-- moment: ask again.
-- name: cancel
-- params: @jobs uuid[], @now bigint, @reason text, @actor text, @terminate boolean, @audit boolean
-- params: @apart boolean
--
-- walk: body: the jobs, each once. durable: it is to end itself, in a run.
-- walk: ready_gone, deferred_gone, keyed_gone, gated_gone:
-- walk:   what deletes the pointer of a job decides about
-- walk:   it. One that is durable and available already keeps it.
-- walk: stopped, ended, released, freed: jobs that are cancelled now: their finished row, unique
-- walk:   key, turn.
-- walk: told, answers: what their parents are sent, numbered behind all that they have; nothing if
-- walk:   that is done apart, by statements of its own.
-- walk: closed, succeeded: their children are to be closed, and their successors told.
-- walk: unbound: jobs that waited for others do so no more.
-- walk: roused, bodies, now_ready, in_line: durable jobs that waited are available at once, those
-- walk:   with an ordering key in its line if they do not have the turn. Bodies change in the order
-- walk:   of their ids; a job that was held shows the run time that it had.
-- walk: checks: keys whose turn is to be handed on.
-- walk: answered: requests of jobs that are cancelled now.
-- walk: running, waiting, asked: requests of jobs that run, and of durable ones that are available.
-- walk: audited: what people did, if that is to be recorded.
WITH body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.codec, j.ordering_key, j.unique_key, j.unique_states, l.queue, l.priority,
    CASE WHEN j.link & {answers} <> 0 THEN j.parent END AS parent,
    NOT @terminate AND EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = j.id OFFSET 0) AS durable, t.place,
    j.link & {successors} <> 0 AS has_successors
  FROM (SELECT id, min(place) AS place FROM unnest(@jobs) WITH ORDINALITY AS t (id, place) GROUP BY id) t
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), ready_gone AS (
  DELETE FROM {schema}.ready r USING body b WHERE NOT b.durable AND r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
), deferred_gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id RETURNING d.id, d.was_run_at, d.state
), keyed_gone AS (
  DELETE FROM {schema}.keyed k USING body b
  WHERE NOT b.durable AND k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at
    AND k.id = b.id
  RETURNING k.id
), gated_gone AS (
  DELETE FROM {schema}.gated g USING body b WHERE NOT b.durable AND g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING g.id
), stopped AS MATERIALIZED (
  SELECT * FROM body WHERE NOT durable AND (id IN (
    SELECT id FROM ready_gone UNION ALL SELECT id FROM deferred_gone UNION ALL SELECT id FROM keyed_gone UNION ALL SELECT id FROM gated_gone
  )) IS TRUE
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, reason, error, lane)
  SELECT id, {cancelled}, @now, CASE WHEN @terminate THEN 'terminated' ELSE 'cancelled' END, @reason, lane FROM stopped
), released AS (
  DELETE FROM {schema}.unique_key u USING stopped b
  WHERE b.unique_key IS NOT NULL AND (b.unique_states >> {cancelled}) & 1 = 0 AND u.key = b.unique_key AND u.id = b.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING stopped b
  WHERE b.ordering_key IS NOT NULL AND k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.id = b.id
), told AS MATERIALIZED (
  SELECT b.parent, b.id, 0 AS codec, coalesce((SELECT m.seq FROM {schema}.inbox m WHERE m.id = b.parent ORDER BY m.seq DESC LIMIT 1), 0)
    + row_number() OVER (PARTITION BY b.parent ORDER BY b.place) AS seq
  FROM stopped b WHERE NOT @apart AND b.parent IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.job p WHERE p.id = b.parent OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {schema}.finished p WHERE p.id = b.parent AND p.state = {completed} OFFSET 0)
), answers AS (
  INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, reason, error)
  SELECT parent, seq, @now, id, codec, {message_child}, {cancelled}, 'cancelled', @reason FROM told
), closed AS (
  INSERT INTO {schema}.closed_parent (id, at) SELECT b.id, @now FROM stopped b
  WHERE EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = b.id AND c.link & {policy_bits} <> {abandon_child} OFFSET 0)
  ON CONFLICT (id) DO UPDATE SET at = excluded.at, after = NULL
), succeeded AS (
  INSERT INTO {schema}.edge_check (predecessor) SELECT id FROM stopped WHERE has_successors
), unbound AS (
  DELETE FROM {schema}.edge e USING deferred_gone d WHERE e.successor = d.id
), roused AS MATERIALIZED (
  SELECT b.*, b.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.id = b.id
  ) AS free
  FROM body b WHERE b.durable AND (b.id IN (SELECT id FROM deferred_gone)) IS TRUE ORDER BY b.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = t.run_at FROM (
    SELECT id, CASE WHEN (id IN (SELECT id FROM stopped)) IS TRUE THEN was_run_at ELSE @now END AS run_at FROM deferred_gone
    WHERE (id IN (SELECT id FROM roused)) IS TRUE OR was_run_at IS NOT NULL ORDER BY id
  ) t WHERE j.id = t.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM roused WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM roused WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM (
    SELECT queue, ordering_key FROM stopped WHERE ordering_key IS NOT NULL UNION ALL SELECT queue, ordering_key FROM roused WHERE NOT free
  ) t
), answered AS (
  DELETE FROM {schema}.cancel_request q USING stopped b WHERE q.id = b.id
), running AS MATERIALIZED (
  SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}}
  WHERE k.ids && @jobs AND {{slot_open}} AND (s.id IN (SELECT id FROM body)) IS TRUE
), waiting AS MATERIALIZED (
  SELECT id FROM roused
  UNION ALL
  SELECT b.id FROM body b WHERE b.durable AND (
    EXISTS (SELECT 1 FROM {schema}.ready r WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id OFFSET 0) OR EXISTS (
      SELECT 1 FROM {schema}.keyed k
      WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at
        AND k.id = b.id OFFSET 0
    ) OR EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id OFFSET 0)
  )
), asked AS (
  INSERT INTO {schema}.cancel_request (id, at, reason, actor)
  SELECT id, @now, @reason, @actor FROM (SELECT id FROM running WHERE NOT @terminate UNION ALL SELECT id FROM waiting) t
  ON CONFLICT (id) DO NOTHING RETURNING id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, CASE WHEN @terminate THEN 'terminate' ELSE 'cancel' END, id, @reason, {{said_was}}, CASE
    WHEN NOT ends_itself THEN '{"state":"cancelled"}'
    WHEN was = {running} THEN '{"state":"running","asked":"cancel"}'
    ELSE '{"state":"available","asked":"cancel"}'
  END
  FROM (
    SELECT id, was, (id IN (SELECT id FROM asked)) IS TRUE AS ends_itself FROM (
      SELECT id, {available} AS was FROM ready_gone
      UNION ALL SELECT id, {available} FROM keyed_gone
      UNION ALL SELECT id, {available} FROM gated_gone
      UNION ALL SELECT id, state FROM deferred_gone
      UNION ALL SELECT id, {running} FROM running
      UNION ALL SELECT id, {available} FROM waiting WHERE (id IN (SELECT id FROM roused)) IS NOT TRUE
    ) t
  ) t WHERE @audit AND (ends_itself OR (id IN (SELECT id FROM stopped)) IS TRUE)
)
SELECT b.id, CASE
  WHEN b.id IN (SELECT id FROM stopped) THEN {cancelled}
  WHEN b.id IN (SELECT id FROM waiting) THEN {available}
  WHEN b.id IN (SELECT id FROM running) THEN {running}
  ELSE coalesce((SELECT f.state FROM {schema}.finished f WHERE f.id = b.id), 0)
END, b.lane, b.id IN (SELECT id FROM stopped)
FROM body b;

-- A request for a job that moved whenever it was looked at: the sweep finds out what became of it.
-- @action is what is recorded, or NULL.
-- name: cancel_request_put
-- params: @jobs uuid[], @now bigint, @reason text, @actor text, @action text
WITH asked AS (
  INSERT INTO {schema}.cancel_request (id, at, reason, actor) SELECT id, @now, @reason, @actor FROM unnest(@jobs) AS t (id)
  ON CONFLICT (id) DO NOTHING RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, job, detail, after)
SELECT @now, @actor, @action, id, @reason, '{"asked":"cancel"}' FROM asked WHERE @action IS NOT NULL;

-- Requests whose job does not run, with the words of who asked. Jobs with a journal keep theirs
-- until they have finished: those that are available, held, or whose end is decided, and those that
-- wait although a run of theirs has seen it. One that no run has seen, as the job moved at that
-- moment, is still to be applied.
-- name: cancel_requests_left
-- params: @limit int
SELECT q.id, q.reason, q.actor FROM {schema}.cancel_request q
WHERE NOT EXISTS (
  SELECT 1 FROM {schema}.claim k WHERE {{runs_asked}}
) AND NOT EXISTS (
  SELECT 1 FROM {schema}.job b
  WHERE b.id = q.id AND EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = b.id OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = b.id OFFSET 0)
    AND (b.closing IS NOT NULL OR q.seen OR NOT EXISTS (
      SELECT 1 FROM {schema}.deferred d WHERE d.due = b.run_at AND d.id = b.id AND d.held IS NOT TRUE OFFSET 0
    )) OFFSET 0
)
ORDER BY q.id LIMIT @limit;

-- Forgets requests that have no job any more or a finished one, but for those that a caller's
-- transaction has.
-- name: cancel_requests_forget
-- params: @jobs uuid[]
WITH over AS MATERIALIZED (
  SELECT q.ctid AS place FROM {schema}.cancel_request q WHERE q.id = ANY (@jobs)
    AND (EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = q.id) OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = q.id))
  ORDER BY q.id FOR UPDATE SKIP LOCKED
)
DELETE FROM {schema}.cancel_request WHERE ctid = ANY (ARRAY(SELECT place FROM over)) RETURNING id;

-- Jobs that run are to be terminated: the nodes that they run on.
-- name: nodes_of_jobs
-- params: @jobs uuid[]
SELECT DISTINCT k.node FROM {schema}.claim k CROSS JOIN LATERAL {{slots}}
WHERE k.ids && @jobs AND {{slot_open}} AND s.id = ANY (@jobs) ORDER BY k.node;

-- What is recorded of jobs that were terminated while they ran.
-- name: terminate_audit
-- params: @jobs uuid[], @now bigint, @reason text, @actor text
INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
SELECT @now, @actor, 'terminate', id, @reason, '{"state":"running"}', '{"state":"cancelled"}' FROM unnest(@jobs) AS t (id);

-- Failed and cancelled jobs become available, if they get their unique keys, and have their
-- business keys, which are taken before (keys_take). Their bodies are locked. @action is what is
-- recorded. What was to be done about their children is not done any more, nor is their parent told
-- of an end that it has not heard of. Requests that were open when they finished are forgotten.
-- Batches that were not called back keep a note of members that were counted. Their rows are
-- locked, so that they are neither counted nor called until the transaction ends, and the cursor
-- is that of the last count: of the batch as it was when the statement began nothing else is asked
-- but whether it was called back, which stays so. That a job has the turn of its ordering key is
-- seen with the lock of that row: who takes the turn from it (give_up_turns) changes nothing of its
-- end, so to have waited for the lock of that tells nothing.
-- name: retry_finished
-- params: @jobs uuid[], @now bigint, @actor text, @action text, @detail text
WITH over AS MATERIALIZED (
  SELECT f.id, f.state, CASE WHEN j.link & {member} <> 0 THEN j.parent END AS batch, t.place, f.lease, j.lease AS body_lease, j.lane, j.ordering_key, j.unique_key, l.queue, l.priority,
    j.options ->> 'key' IS NOT NULL AS named
  FROM (SELECT id, min(place) AS place FROM unnest(@jobs) WITH ORDINALITY AS t (id, place) GROUP BY id) t
  CROSS JOIN LATERAL (
    SELECT a.id, a.state, a.lease FROM {schema}.finished a WHERE a.id = t.id AND a.state IN ({failed_states}) FOR UPDATE
  ) f
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), kept AS MATERIALIZED (
  SELECT o.id FROM over o WHERE EXISTS (SELECT 1 FROM {schema}.unique_key u WHERE u.key = o.unique_key AND u.id = o.id OFFSET 0)
), taken AS (
  INSERT INTO {schema}.unique_key (key, id)
  SELECT DISTINCT ON (unique_key) unique_key, id FROM over WHERE unique_key IS NOT NULL AND (id NOT IN (SELECT id FROM kept)) IS TRUE
  ORDER BY unique_key, place
  ON CONFLICT (key) DO NOTHING RETURNING id
), again AS MATERIALIZED (
  SELECT o.*, o.ordering_key IS NULL OR h.yes IS TRUE AS free
  FROM over o LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.key_holder a WHERE a.queue = o.queue AND a.ordering_key = o.ordering_key AND a.id = o.id FOR KEY SHARE
  ) h ON true
  WHERE (unique_key IS NULL OR id IN (SELECT id FROM kept UNION ALL SELECT id FROM taken)) AND (
    NOT named OR EXISTS (SELECT 1 FROM {schema}.job_key k WHERE k.id = o.id AND k.until IS NULL OFFSET 0)
  )
), unfinished AS (
  DELETE FROM {schema}.finished f USING again a WHERE f.id = a.id
), batches AS MATERIALIZED (
  SELECT b.id, b.cursor FROM (SELECT DISTINCT batch FROM again WHERE batch IS NOT NULL ORDER BY batch) a
  CROSS JOIN LATERAL (SELECT c.id, c.cursor FROM {schema}.batch c WHERE c.id = a.batch AND c.done_at IS NULL FOR KEY SHARE) b
), counted AS (
  INSERT INTO {schema}.batch_retried (batch, id, state)
  SELECT a.batch, a.id, a.state FROM again a CROSS JOIN LATERAL (SELECT b.cursor FROM batches b WHERE b.id = a.batch OFFSET 0) b
  WHERE a.id <= b.cursor ON CONFLICT (batch, id) DO NOTHING
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now, lease = greatest(a.body_lease, coalesce(a.lease, 0)), attempt = 0, closing = NULL,
    remembers = CASE WHEN EXISTS (SELECT 1 FROM {schema}.journal e WHERE e.id = j.id OFFSET 0) THEN true END
  FROM again a WHERE j.id = a.id
), open AS (
  DELETE FROM {schema}.closed_parent p USING again a WHERE p.id = a.id
), open_updates AS MATERIALIZED (
  SELECT u.id, u.seq FROM again a
  CROSS JOIN LATERAL (SELECT b.id, b.seq FROM {schema}.job_update b WHERE b.id = a.id AND b.verdict IS NULL OFFSET 0) u
), updates AS (
  DELETE FROM {schema}.job_update u USING open_updates o WHERE u.id = o.id AND u.seq = o.seq
), unsaid AS (
  DELETE FROM {schema}.untold u USING again a WHERE u.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM again WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM again WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM again WHERE NOT free
), answered AS (
  DELETE FROM {schema}.cancel_request q USING again a WHERE q.id = a.id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, @action, id, @detail, {{said_was}}, '{"state":"available"}' FROM (SELECT id, state AS was FROM again) t
)
SELECT id, lane FROM again;

-- Takes the turns of ordering keys from jobs that have failed and keep them. A job that is retried
-- at this moment is waited for, and keeps it. @action is what is recorded; NULL: nothing.
-- name: give_up_turns
-- params: @jobs uuid[], @now bigint, @actor text, @action text, @detail text
WITH over AS MATERIALIZED (
  SELECT f.id, j.ordering_key, l.queue FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id) ORDER BY id) t
  CROSS JOIN LATERAL (
    SELECT b.lane, b.ordering_key FROM {schema}.job b WHERE b.id = t.id AND b.ordering_key IS NOT NULL OFFSET 0
  ) j
  CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
  CROSS JOIN LATERAL (SELECT a.id FROM {schema}.finished a WHERE a.id = t.id AND a.state = {failed} FOR UPDATE) f
), freed AS (
  DELETE FROM {schema}.key_holder k USING over o WHERE k.queue = o.queue AND k.ordering_key = o.ordering_key AND k.id = o.id
  RETURNING k.id, k.queue, k.ordering_key
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM freed
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, @action, id, @detail, '{"holds_turn":true}', '{"holds_turn":false}' FROM freed WHERE @action IS NOT NULL
)
SELECT id FROM freed;

-- Scheduled and retryable jobs become available at once. Their bodies are locked.
-- name: retry_deferred
-- params: @jobs uuid[], @now bigint, @actor text, @detail text
WITH early AS MATERIALIZED (
  SELECT d.place, d.id, d.state AS was, d.lane, d.ordering_key, l.queue, l.priority, d.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = d.ordering_key AND k.id = d.id
  ) AS free
  FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id)) t
  CROSS JOIN LATERAL (SELECT b.run_at FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT a.ctid AS place, a.id, a.lane, a.ordering_key, a.state FROM {schema}.deferred a
    WHERE a.due = j.run_at AND a.id = t.id AND a.state IN ({scheduled}, {retryable}) FOR UPDATE
  ) d
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = d.lane OFFSET 0) l
), gone AS (
  DELETE FROM {schema}.deferred WHERE ctid = ANY (ARRAY(SELECT place FROM early))
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now FROM early a WHERE j.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM early WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM early WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM early WHERE NOT free
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, 'retry', id, @detail, {{said_was}}, '{"state":"available"}' FROM early
)
SELECT id, lane FROM early;

-- Who holds the unique keys of jobs.
-- name: key_holders_of
-- params: @jobs uuid[]
SELECT j.id, u.id FROM {schema}.job j JOIN {schema}.unique_key u ON u.key = j.unique_key AND u.id <> j.id WHERE j.id = ANY (@jobs);

-- Pauses a queue, which need not exist yet.
-- name: queue_pause
-- params: @namespace text, @queue text, @now bigint, @actor text
WITH changed AS (
  INSERT INTO {schema}.queue (namespace, name, created_at, paused_at, paused_by) VALUES (@namespace, @queue, @now, @now, @actor)
  ON CONFLICT (namespace, name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by,
    created_at = coalesce(queue.created_at, excluded.created_at), deleted_at = NULL
  WHERE queue.paused_at IS NULL RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, queue, before, after)
SELECT @now, @actor, 'pause', id, '{"paused":false}', '{"paused":true}' FROM changed;

-- Takes that back.
-- name: queue_resume
-- params: @namespace text, @queue text, @now bigint, @actor text
WITH changed AS (
  INSERT INTO {schema}.queue (namespace, name, created_at) VALUES (@namespace, @queue, @now)
  ON CONFLICT (namespace, name) DO UPDATE SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0,
    created_at = coalesce(queue.created_at, excluded.created_at), deleted_at = NULL
  WHERE queue.paused_at IS NOT NULL OR queue.rest_until IS NOT NULL OR queue.created_at IS NULL OR queue.deleted_at IS NOT NULL RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, queue, after) SELECT @now, @actor, 'resume', id, '{"paused":false}' FROM changed;

-- The rest that a queue, which need not exist yet, has had last, and locks it.
-- name: queue_rested
-- params: @namespace text, @queue text, @now bigint
INSERT INTO {schema}.queue AS q (namespace, name, created_at) VALUES (@namespace, @queue, @now)
ON CONFLICT (namespace, name) DO UPDATE SET created_at = coalesce(q.created_at, excluded.created_at), deleted_at = NULL
RETURNING q.id, q.rest_until, q.rest_level;

-- Lets it rest.
-- name: queue_rest
-- params: @queue int, @until bigint, @level int, @now bigint, @actor text, @detail text
WITH changed AS (
  UPDATE {schema}.queue SET rest_until = @until, rest_level = @level WHERE id = @queue
)
INSERT INTO {schema}.audit (at, actor, action, queue, detail) SELECT @now, @actor, 'rest', @queue, @detail WHERE @actor <> '';

-- What is set of a queue, which need not exist yet, and locks it.
-- name: queue_set_lock
-- params: @namespace text, @queue text, @now bigint
INSERT INTO {schema}.queue AS q (namespace, name, created_at) VALUES (@namespace, @queue, @now)
ON CONFLICT (namespace, name) DO UPDATE SET created_at = coalesce(q.created_at, excluded.created_at), deleted_at = NULL
RETURNING q.id, q.attempts;

-- Sets it.
-- name: queue_set
-- params: @queue int, @attempts text, @now bigint, @actor text, @detail text, @before text, @after text
WITH changed AS (
  UPDATE {schema}.queue SET attempts = @attempts WHERE id = @queue
)
INSERT INTO {schema}.audit (at, actor, action, queue, detail, before, after)
VALUES (@now, @actor, 'set', @queue, @detail, @before, @after);

-- What is set of all queues of which something is.
-- name: queue_attempts_all
SELECT namespace, name, attempts FROM {schema}.queue WHERE attempts IS NOT NULL;

-- Marks a queue as deleted, unless it has jobs that are not finished: pointers, or claims. Tells
-- whether it has, and whether it was deleted before. Its row stays, to which lanes refer.
-- name: queue_delete
-- params: @namespace text, @queue text, @now bigint, @actor text
WITH found AS MATERIALIZED (
  SELECT q.id, q.deleted_at, EXISTS (
    SELECT 1 FROM {schema}.lane l WHERE l.queue = q.id AND (
      EXISTS (SELECT 1 FROM {schema}.ready r WHERE r.lane = l.id OFFSET 0)
      OR EXISTS (SELECT 1 FROM {schema}.deferred d WHERE d.lane = l.id OFFSET 0)
      OR EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.lane = l.id OFFSET 0)
    )
  ) OR EXISTS (SELECT 1 FROM {schema}.keyed k WHERE k.queue = q.id) OR EXISTS (
    SELECT 1 FROM {schema}.claim c CROSS JOIN LATERAL unnest(c.ids) WITH ORDINALITY AS u (id, place)
    CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = u.id OFFSET 0) b
    CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
    WHERE (c.done >> (u.place - 1)::int) & 1 = 0 AND l.queue = q.id
  ) AS busy
  FROM {schema}.queue q WHERE q.namespace = @namespace AND q.name = @queue AND q.created_at IS NOT NULL
), changed AS (
  UPDATE {schema}.queue q SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0, attempts = NULL,
    deleted_at = @now FROM found f
  WHERE q.id = f.id AND NOT f.busy AND q.deleted_at IS NULL RETURNING q.id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, queue) SELECT @now, @actor, 'delete', id FROM changed
)
SELECT f.busy, f.deleted_at IS NOT NULL FROM found f;
