-- What people do.

-- $1 jobs, $2 now, $3 reason, $4 actor. Jobs that have a pointer are cancelled; of those that run it is asked. Answers
-- with the state of each job that exists; 0 is one that moved at this moment: ask again.
-- name: cancel
WITH body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.ordering_key, j.unique_key, j.unique_states, l.queue, l.priority
  FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS t (id)) t
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), ready_gone AS (
  DELETE FROM {schema}.ready r USING body b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
), deferred_gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id RETURNING d.id
), keyed_gone AS (
  DELETE FROM {schema}.keyed k USING body b
  WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
  RETURNING k.id
), stopped AS MATERIALIZED (
  SELECT * FROM body WHERE (id IN (SELECT id FROM ready_gone UNION ALL SELECT id FROM deferred_gone UNION ALL SELECT id FROM keyed_gone)) IS TRUE
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, reason, error) SELECT id, 8, $2::bigint, 'cancelled', $3::text FROM stopped
), released AS (
  DELETE FROM {schema}.unique_key u USING stopped b
  WHERE b.unique_key IS NOT NULL AND (b.unique_states >> 8) & 1 = 0 AND u.key = b.unique_key AND u.id = b.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING stopped b
  WHERE b.ordering_key IS NOT NULL AND k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.id = b.id
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM stopped WHERE ordering_key IS NOT NULL
), answered AS (
  DELETE FROM {schema}.cancel_request q USING stopped b WHERE q.id = b.id
), running AS MATERIALIZED (
  SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
  WHERE k.ids && $1::uuid[] AND (k.done >> (s.place - 1)::int) & 1 = 0 AND (s.id IN (SELECT id FROM body)) IS TRUE
), asked AS (
  INSERT INTO {schema}.cancel_request (id, at, reason, actor) SELECT id, $2::bigint, $3::text, $4::text FROM running
  ON CONFLICT (id) DO NOTHING RETURNING id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job, detail)
  SELECT $2::bigint, $4::text, 'cancel', id, $3::text FROM (SELECT id FROM stopped UNION ALL SELECT id FROM asked) t
)
SELECT b.id, CASE
  WHEN b.id IN (SELECT id FROM stopped) THEN 8
  WHEN b.id IN (SELECT id FROM running) THEN 3
  ELSE coalesce((SELECT f.state FROM {schema}.finished f WHERE f.id = b.id), 0)
END
FROM body b;

-- A request for a job that moved whenever it was looked at: the sweep finds out what became of it.
-- name: cancel_request_put
INSERT INTO {schema}.cancel_request (id, at, reason, actor) SELECT id, $2::bigint, $3::text, $4::text FROM unnest($1::uuid[]) AS t (id)
ON CONFLICT (id) DO NOTHING;

-- Requests whose job does not run, with the words of who asked. $1 limit.
-- name: cancel_requests_left
SELECT q.id, q.reason, q.actor FROM {schema}.cancel_request q
WHERE NOT EXISTS (
  SELECT 1 FROM {schema}.claim k WHERE k.ids @> ARRAY[q.id] AND (k.done >> (array_position(k.ids, q.id) - 1)) & 1 = 0
)
ORDER BY q.id LIMIT $1::int;

-- Forgets requests that have no job any more or a finished one.
-- name: cancel_requests_forget
DELETE FROM {schema}.cancel_request q WHERE q.id = ANY ($1::uuid[])
  AND (EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = q.id) OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = q.id))
RETURNING q.id;

-- Failed and cancelled jobs become available, if they get their unique keys. $1 jobs, $2 now, $3 actor.
-- name: retry_finished
WITH over AS MATERIALIZED (
  SELECT f.id, f.lease, j.lease AS body_lease, j.lane, j.ordering_key, j.unique_key, l.queue, l.priority
  FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS t (id)) t
  CROSS JOIN LATERAL (SELECT a.id, a.lease FROM {schema}.finished a WHERE a.id = t.id AND a.state IN (7, 8) FOR UPDATE) f
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
), kept AS MATERIALIZED (
  SELECT o.id FROM over o WHERE EXISTS (SELECT 1 FROM {schema}.unique_key u WHERE u.key = o.unique_key AND u.id = o.id OFFSET 0)
), taken AS (
  INSERT INTO {schema}.unique_key (key, id)
  SELECT DISTINCT ON (unique_key) unique_key, id FROM over WHERE unique_key IS NOT NULL AND (id NOT IN (SELECT id FROM kept)) IS TRUE ORDER BY unique_key, id
  ON CONFLICT (key) DO NOTHING RETURNING id
), again AS MATERIALIZED (
  SELECT * FROM over WHERE unique_key IS NULL OR id IN (SELECT id FROM kept UNION ALL SELECT id FROM taken)
), unfinished AS (
  DELETE FROM {schema}.finished f USING again a WHERE f.id = a.id
), bodies AS (
  UPDATE {schema}.job j SET run_at = $2::bigint, lease = greatest(a.body_lease, coalesce(a.lease, 0)), attempt = 0 FROM again a WHERE j.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, $2::bigint, id FROM again WHERE ordering_key IS NULL
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, $2::bigint, id, lane FROM again WHERE ordering_key IS NOT NULL
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM again WHERE ordering_key IS NOT NULL
), answered AS (
  DELETE FROM {schema}.cancel_request q USING again a WHERE q.id = a.id
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job) SELECT $2::bigint, $3::text, 'retry', id FROM again
)
SELECT id FROM again;

-- Scheduled and retryable jobs become available at once. $1 jobs, $2 now, $3 actor.
-- name: retry_deferred
WITH early AS MATERIALIZED (
  SELECT d.place, d.id, d.lane, d.ordering_key, l.queue, l.priority, d.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = d.ordering_key AND k.id = d.id
  ) AS free
  FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS t (id)) t
  CROSS JOIN LATERAL (SELECT b.run_at FROM {schema}.job b WHERE b.id = t.id OFFSET 0) j
  CROSS JOIN LATERAL (
    SELECT a.ctid AS place, a.id, a.lane, a.ordering_key FROM {schema}.deferred a
    WHERE a.due = j.run_at AND a.id = t.id AND a.state IN (1, 4) FOR UPDATE
  ) d
  CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = d.lane OFFSET 0) l
), gone AS (
  DELETE FROM {schema}.deferred WHERE ctid = ANY (ARRAY(SELECT place FROM early))
), bodies AS (
  UPDATE {schema}.job j SET run_at = $2::bigint FROM early a WHERE j.id = a.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, $2::bigint, id FROM early WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, $2::bigint, id, lane FROM early WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM early WHERE NOT free
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, job) SELECT $2::bigint, $3::text, 'retry', id FROM early
)
SELECT id FROM early;

-- Who holds the unique keys of jobs. $1 jobs.
-- name: key_holders_of
SELECT j.id, u.id FROM {schema}.job j JOIN {schema}.unique_key u ON u.key = j.unique_key AND u.id <> j.id WHERE j.id = ANY ($1::uuid[]);

-- $1 namespace, $2 name, $3 now, $4 actor.
-- name: queue_pause
WITH changed AS (
  INSERT INTO {schema}.queue (namespace, name, created_at, paused_at, paused_by) VALUES ($1::text, $2::text, $3::bigint, $3::bigint, $4::text)
  ON CONFLICT (namespace, name) DO UPDATE SET paused_at = excluded.paused_at, paused_by = excluded.paused_by,
    created_at = coalesce(queue.created_at, excluded.created_at)
  WHERE queue.paused_at IS NULL RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, queue) SELECT $3::bigint, $4::text, 'pause', id FROM changed;

-- name: queue_resume
WITH changed AS (
  INSERT INTO {schema}.queue (namespace, name, created_at) VALUES ($1::text, $2::text, $3::bigint)
  ON CONFLICT (namespace, name) DO UPDATE SET paused_at = NULL, paused_by = NULL,
    created_at = coalesce(queue.created_at, excluded.created_at)
  WHERE queue.paused_at IS NOT NULL OR queue.created_at IS NULL RETURNING id
)
INSERT INTO {schema}.audit (at, actor, action, queue) SELECT $3::bigint, $4::text, 'resume', id FROM changed;
