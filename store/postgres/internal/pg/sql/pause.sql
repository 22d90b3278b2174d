-- Jobs that people pause and resume, and new ones that begin with the journal of another.

-- Jobs that have a pointer are held, also those that wait for others; of those that run it is
-- asked. Their bodies are locked. Answers with the state of each job that exists; 0 is one that
-- moved at this moment: ask again.
-- name: pause_jobs
-- params: @jobs uuid[], @now bigint, @reason text, @actor text, @audit boolean
WITH body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.ordering_key, j.unique_key, j.unique_states, l.queue, l.priority
  FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id)) t
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
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
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id AND d.held IS NOT TRUE
  RETURNING b.*, d.state, d.due, d.handed_over
), stopped AS MATERIALIZED (
  SELECT t.* FROM (
    SELECT *, {available} AS state, NULL::bigint AS due, NULL::smallint AS handed_over FROM ready_gone
    UNION ALL SELECT *, {available}, NULL, NULL FROM keyed_gone UNION ALL SELECT *, {available}, NULL, NULL FROM gated_gone
    UNION ALL SELECT * FROM deferred_gone
  ) t ORDER BY t.id
), depending AS (
  UPDATE {schema}.deferred d SET reason = 'paused', error = @reason, since = @now FROM body b
  WHERE d.due = b.run_at AND d.id = b.id AND d.held AND d.reason = 'dependency' RETURNING d.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = {never} FROM stopped s WHERE j.id = s.id
), held AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, since, held, was_state, was_due, was_run_at, reason, error,
    handed_over)
  SELECT {never}, id, lane, {waiting}, ordering_key, @now, true, state,
    CASE WHEN state IN ({scheduled}, {retryable}) THEN due END, run_at, 'paused', @reason, handed_over
  FROM stopped
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM keyed_gone
), released AS (
  DELETE FROM {schema}.unique_key u USING stopped b
  WHERE b.unique_key IS NOT NULL AND b.unique_states & {bit_running} = 0 AND u.key = b.unique_key AND u.id = b.id
), running AS MATERIALIZED (
  SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}}
  WHERE k.ids && @jobs AND {{slot_open}} AND (s.id IN (SELECT id FROM body)) IS TRUE
), forgotten AS (
  DELETE FROM {schema}.pause_request q USING stopped b WHERE q.id = b.id
), asked AS (
  INSERT INTO {schema}.pause_request (id, at, reason, actor) SELECT id, @now, @reason, @actor FROM running
  ON CONFLICT (id) DO NOTHING RETURNING id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, 'pause', id, @reason, {{said_was}}, {{said_paused}}
  FROM (SELECT id, state AS was FROM stopped UNION ALL SELECT id, {waiting} FROM depending UNION ALL SELECT id, {running} FROM asked) t
  WHERE @audit
)
SELECT b.id, CASE
  WHEN b.id IN (SELECT id FROM stopped) THEN {waiting}
  WHEN b.id IN (SELECT id FROM running) THEN {running}
  ELSE coalesce(
    (SELECT f.state FROM {schema}.finished f WHERE f.id = b.id),
    (SELECT {waiting} FROM {schema}.deferred d WHERE d.due = b.run_at AND d.id = b.id AND d.held), 0)
END
FROM body b;

-- A request for a job that moved whenever it was looked at.
-- name: pause_request_put
-- params: @jobs uuid[], @now bigint, @reason text, @actor text
WITH asked AS (
  INSERT INTO {schema}.pause_request (id, at, reason, actor) SELECT id, @now, @reason, @actor FROM unnest(@jobs) AS t (id)
  ON CONFLICT (id) DO NOTHING RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, job, detail, after)
SELECT @now, @actor, 'pause', id, @reason, '{"asked":"pause"}' FROM asked;

-- Requests whose job does not run.
-- name: pause_requests_left
-- params: @limit int
SELECT q.id, q.reason, q.actor FROM {schema}.pause_request q
WHERE NOT EXISTS (
  SELECT 1 FROM {schema}.claim k WHERE {{runs_asked}}
)
ORDER BY q.id LIMIT @limit;

-- Which of the requests for jobs are still there. They are locked; those that another transaction
-- has locked are left to it.
-- name: pause_requests_lock
-- params: @jobs uuid[]
SELECT q.id FROM {schema}.pause_request q WHERE q.id = ANY (@jobs) ORDER BY q.id FOR UPDATE SKIP LOCKED;

-- Forgets requests that have no job any more or a finished one.
-- name: pause_requests_forget
-- params: @jobs uuid[]
DELETE FROM {schema}.pause_request q WHERE q.id = ANY (@jobs)
  AND (EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = q.id) OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = q.id))
RETURNING q.id;

-- Where a job is: of a finished one its state, of a waiting one whether it is held, whether it
-- runs; the last entry of its journal; its state if it neither runs nor has finished; whether its
-- end is decided; and its last lease.
-- name: resume_look
-- params: @job uuid
SELECT f.state, d.held IS TRUE, k.yes IS TRUE,
  coalesce((SELECT a.seq FROM {schema}.journal a WHERE a.id = j.id ORDER BY a.seq DESC LIMIT 1), 0),
  coalesce(d.state, {available}), j.closing IS NOT NULL, greatest(j.lease, f.lease)
FROM {schema}.job j
LEFT JOIN LATERAL (SELECT a.state, a.lease FROM {schema}.finished a WHERE a.id = j.id OFFSET 0) f ON true
LEFT JOIN LATERAL (SELECT a.held, a.state FROM {schema}.deferred a WHERE a.due = j.run_at AND a.id = j.id OFFSET 0) d ON f.state IS NULL
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.claim c WHERE c.ids @> ARRAY[j.id] AND (c.done >> (array_position(c.ids, j.id) - 1)) & 1 = 0 LIMIT 1
) k ON f.state IS NULL
WHERE j.id = @job;

-- A job that was asked to pause goes on.
-- name: resume_running
-- params: @job uuid, @now bigint, @actor text, @reason text
WITH forgotten AS (
  DELETE FROM {schema}.pause_request WHERE id = @job RETURNING id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, 'resume', id, @reason, '{"state":"running","asked":"pause"}', '{"state":"running"}' FROM forgotten
)
SELECT 1 FROM forgotten;

-- The journal of a job ends with entry @last from now on, or with that it continued as new.
-- name: resume_cut
-- params: @job uuid, @last bigint
WITH cut AS (
  DELETE FROM {schema}.journal
  WHERE id = @job AND seq > greatest(@last, {{generation}})
)
UPDATE {schema}.job SET closing = CASE WHEN closing <= @last THEN closing END,
  remembers = CASE WHEN EXISTS (SELECT 1 FROM {schema}.generation g WHERE g.id = @job OFFSET 0)
    OR EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = @job AND a.seq <= @last OFFSET 0) THEN true END
WHERE id = @job;

-- A held job waits for no other one any more, and becomes what it was, or, if it starts over,
-- available, whatever it waits for. Answers with its state, and with when it is due if that is not
-- available. @action is what is recorded.
-- name: resume_held
-- params: @job uuid, @now bigint, @actor text, @action text, @reason text, @over boolean
WITH gone AS (
  DELETE FROM {schema}.deferred d USING {schema}.job j
  WHERE j.id = @job AND d.due = j.run_at AND d.id = j.id AND d.state = {waiting} AND (d.held OR @over)
  RETURNING d.id, d.lane, d.ordering_key, j.unique_key, j.unique_states,
    CASE WHEN NOT @over AND d.was_state IN ({scheduled}, {retryable}) AND d.was_due > @now THEN d.was_state ELSE {available} END AS state, d.was_due,
    (d.held AND d.reason IS DISTINCT FROM 'dependency') IS TRUE AS for_person
), again AS MATERIALIZED (
  SELECT g.*, l.queue, l.priority, g.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = g.ordering_key AND k.id = g.id
  ) AS free
  FROM gone g CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = g.lane OFFSET 0) l
), unbound AS (
  DELETE FROM {schema}.edge e USING gone g WHERE e.successor = g.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = CASE WHEN a.state = {available} THEN @now ELSE a.was_due END FROM again a WHERE j.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM again WHERE state = {available} AND free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, @now, id, lane FROM again WHERE state = {available} AND NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM again WHERE state = {available} AND NOT free
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key)
  SELECT was_due, id, lane, state, ordering_key FROM again WHERE state <> {available}
), released AS (
  DELETE FROM {schema}.unique_key u USING again a
  WHERE a.unique_key IS NOT NULL AND (a.unique_states >> a.state) & 1 = 0 AND u.key = a.unique_key AND u.id = a.id
), forgotten AS (
  DELETE FROM {schema}.pause_request q USING again a WHERE q.id = a.id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, before, after)
  SELECT @now, @actor, @action, id, @reason, {{said_waits}}, {{said_becomes}} FROM (SELECT id, for_person, state AS becomes FROM again) t
)
SELECT state, lane, id, was_due FROM again;

-- The beginning of a journal is copied to a new job: the entries up to @last and the messages that
-- they received, and all that came from children and callbacks; if there are such entries, what was
-- published and streamed before them, too. @lease is that under which the entry after them was
-- written, NULL if that does not matter. Answers whether it was; no row: the old job is not there.
-- name: fork
-- params: @job uuid, @copy uuid, @last bigint, @now bigint, @actor text, @reason text
-- params: @lease bigint
WITH first AS MATERIALIZED (
  SELECT coalesce({{generation}}, 1) AS seq
), asked AS MATERIALIZED (
  SELECT j.id, @lease IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.journal a WHERE a.id = j.id AND a.seq = @last + 1 AND a.lease = @lease AND a.seq >= b.seq OFFSET 0
  ) AS same, b.seq AS first
  FROM {schema}.job j CROSS JOIN first b WHERE j.id = @job
), old AS MATERIALIZED (
  SELECT id, first FROM asked WHERE same
), entries AS (
  INSERT INTO {schema}.journal (id, seq, at, lease, ref, codec, kind, path, name, data, took)
  SELECT @copy, j.seq, j.at, 0, j.ref, j.codec, j.kind, j.path, j.name, j.data, j.took
  FROM old o CROSS JOIN LATERAL (SELECT * FROM {schema}.journal a WHERE a.id = o.id AND a.seq <= @last OFFSET 0) j
  WHERE @last >= o.first
), generations AS (
  INSERT INTO {schema}.generation (id, first) SELECT @copy, o.first FROM old o WHERE o.first > 1 AND @last >= o.first
), messages AS (
  INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, name, key, reason, error, data, trace)
  SELECT @copy, m.seq, m.at, m.from_id, m.codec, m.kind, m.state, m.name, m.key, m.reason, m.error, m.data, m.trace
  FROM old o CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox a WHERE a.id = o.id OFFSET 0) m
  WHERE m.kind IN ({answer_messages}) OR (m.seq IN (
    SELECT a.ref FROM {schema}.journal a
    WHERE a.id = @job AND a.seq >= (SELECT seq FROM first) AND a.seq <= @last AND a.kind = {entry_received}
  )) IS TRUE
), body AS (
  UPDATE {schema}.job j SET remembers = true FROM old o
  WHERE j.id = @copy AND EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = o.id AND a.seq >= o.first AND a.seq <= @last OFFSET 0)
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail, after)
  SELECT @now, @actor, 'fork', @copy, @reason, '{"from":"' || id || '"}' FROM old
)
SELECT same FROM asked;
