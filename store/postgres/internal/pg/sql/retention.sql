-- Classes of retention, and what retention has removed.

-- name: classes
SELECT name, completed, failed, cancelled, set_at, set_by FROM {schema}.retention_class ORDER BY name;

-- Keeps others from changing the classes. Who lets a queue name one waits for no more than the row.
-- name: classes_lock
LOCK TABLE {schema}.retention_class IN SHARE ROW EXCLUSIVE MODE;

-- name: class_put
-- params: @name text, @completed bigint, @failed bigint, @cancelled bigint, @set_at bigint, @set_by text
INSERT INTO {schema}.retention_class (name, completed, failed, cancelled, set_at, set_by)
VALUES (@name, @completed, @failed, @cancelled, @set_at, @set_by)
ON CONFLICT (name) DO UPDATE SET completed = excluded.completed, failed = excluded.failed, cancelled = excluded.cancelled,
  set_at = excluded.set_at, set_by = excluded.set_by;

-- Whether a class is there, which no other transaction deletes then until this one ends.
-- name: class_hold
-- params: @name text
SELECT true FROM {schema}.retention_class WHERE name = @name FOR KEY SHARE;

-- Waits for those who are about to name it.
-- name: class_take
-- params: @name text
SELECT true FROM {schema}.retention_class WHERE name = @name FOR UPDATE;

-- name: class_delete
-- params: @name text
DELETE FROM {schema}.retention_class WHERE name = @name;

-- name: class_clear
DELETE FROM {schema}.retention_class;

-- What is set of all queues of which something is.
-- name: queues_set
SELECT id, namespace, name, attempts FROM {schema}.queue WHERE attempts IS NOT NULL;

-- Jobs that failed or were cancelled after a place and until a time, with their queues.
-- name: ended_after
-- params: @state int, @at bigint, @after uuid, @until bigint, @limit int
SELECT f.id, f.finished_at, l.queue FROM (
  SELECT a.id, a.finished_at FROM {schema}.finished a
  WHERE a.state = @state AND a.state <> {completed} AND (a.finished_at, a.id) > (@at, @after) AND a.finished_at <= @until
  ORDER BY a.finished_at, a.id LIMIT @limit
) f CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = f.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l ORDER BY f.finished_at, f.id;

-- The same of jobs that outlived their day.
-- name: ended_after_default
-- params: @state int, @at bigint, @after uuid, @until bigint, @limit int
SELECT f.id, f.finished_at, l.queue FROM (
  SELECT a.id, a.finished_at FROM {schema}.finished_default a
  WHERE a.state = @state AND a.finished_at >= @at AND (a.finished_at, a.id) > (@at, @after) AND a.finished_at <= @until
  ORDER BY a.finished_at, a.id LIMIT @limit
) f CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = f.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l ORDER BY f.finished_at, f.id;

-- Finished jobs of a range of ids, in their order, with their queues.
-- name: ended_between
-- params: @after uuid, @to uuid, @limit int
SELECT f.id, f.state, f.finished_at, l.queue FROM (
  SELECT a.id, a.state, a.finished_at FROM {schema}.finished a WHERE a.id > @after AND a.id < @to ORDER BY a.id LIMIT @limit
) f CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = f.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l ORDER BY f.id;

-- Those of the jobs that are as finished as they were, and that no others need: see finished_over.
-- They are locked; one that a caller's transaction has is left out.
-- name: over_lock
-- params: @jobs uuid[], @states int[], @ends bigint[]
WITH expired AS MATERIALIZED (
  SELECT f.id FROM unnest(@jobs, @states, @ends) AS t (id, state, ended) CROSS JOIN LATERAL (
    SELECT a.id FROM {schema}.finished a WHERE a.id = t.id AND a.state = t.state AND a.finished_at = t.ended
        AND (a.id IN (SELECT id FROM {schema}.key_holder)) IS NOT TRUE AND (a.id IN ({{uncalled}})) IS NOT TRUE
      FOR UPDATE SKIP LOCKED
  ) f
)
SELECT e.id FROM expired e CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job j WHERE j.id = e.id FOR UPDATE SKIP LOCKED) b
WHERE NOT {{is_untold}};

-- How jobs have finished.
-- name: ended_of
-- params: @jobs uuid[]
SELECT f.id, f.state, f.finished_at FROM unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT a.id, a.state, a.finished_at FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f;

-- Whether there is a job of a range of ids.
-- name: any_between
-- params: @from uuid, @to uuid
SELECT true FROM {schema}.job WHERE id >= @from AND id < @to LIMIT 1;

-- Those that are as finished as they were.
-- name: over_still
-- params: @jobs uuid[], @states int[], @ends bigint[]
SELECT f.id FROM unnest(@jobs, @states, @ends) AS t (id, state, ended) CROSS JOIN LATERAL (
  SELECT a.id FROM {schema}.finished a WHERE a.id = t.id AND a.state = t.state AND a.finished_at = t.ended OFFSET 0
) f;

-- For how long the lanes of queues that name a class keep their jobs: those that ended since are
-- kept.
-- fragment: own
SELECT l.id AS lane, o.state, o.since FROM unnest(@queues, @own_states, @own_since) AS o (queue, state, since)
JOIN {schema}.lane l ON l.queue = o.queue

-- kept_between where queues name classes.
-- name: kept_between_own
-- params: @from uuid, @to uuid, @states int[], @since bigint[], @limit int, @queues int[], @own_states int[], @own_since bigint[]
WITH own AS MATERIALIZED ({{own}})
SELECT f.id FROM {schema}.finished f JOIN unnest(@states, @since) AS k (state, since) ON k.state = f.state
JOIN {schema}.job j ON j.id = f.id AND j.id >= @from AND j.id < @to LEFT JOIN own o ON o.lane = j.lane AND o.state = f.state
WHERE f.id >= @from AND f.id < @to AND f.finished_at > coalesce(o.since, k.since) LIMIT @limit;

-- kept_again where queues name classes.
-- name: kept_again_own
-- params: @from uuid, @to uuid, @states int[], @since bigint[], @completed uuid[]
-- params: @queues int[], @own_states int[], @own_since bigint[]
WITH own AS MATERIALIZED ({{own}}), ended AS MATERIALIZED (
  SELECT f.id, f.state, f.finished_at FROM {schema}.finished f
  WHERE f.id >= @from AND f.id < @to AND f.state <> {completed} AND f.state IN ({failed_states})
  UNION ALL
  SELECT f.id, f.state, f.finished_at FROM {schema}.finished f WHERE f.id = ANY (@completed) AND f.state = {completed}
)
SELECT f.id FROM ended f JOIN unnest(@states, @since) AS k (state, since) ON k.state = f.state
CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = f.id OFFSET 0) b
LEFT JOIN own o ON o.lane = b.lane AND o.state = f.state WHERE f.finished_at > coalesce(o.since, k.since);

-- How many jobs of a range have finished, but for some of them.
-- name: count_by_queue
-- params: @from uuid, @to uuid, @but uuid[]
SELECT q.namespace, q.name, g.state, sum(g.jobs)::bigint FROM (
  SELECT j.lane, f.state, count(*) AS jobs FROM {schema}.finished f JOIN {schema}.job j ON j.id = f.id AND j.id >= @from AND j.id < @to
  WHERE f.id >= @from AND f.id < @to AND f.id <> ALL (@but) GROUP BY j.lane, f.state
) g JOIN {schema}.lane l ON l.id = g.lane JOIN {schema}.queue q ON q.id = l.queue GROUP BY q.namespace, q.name, g.state;

-- The same of some jobs.
-- name: count_of_jobs
-- params: @jobs uuid[]
SELECT q.namespace, q.name, f.state, count(*) FROM unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f
CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
JOIN {schema}.lane l ON l.id = b.lane JOIN {schema}.queue q ON q.id = l.queue GROUP BY q.namespace, q.name, f.state;

-- name: removed_add
-- params: @day int, @namespaces text[], @queues text[], @states int[], @jobs bigint[], @stubs bigint[]
INSERT INTO {schema}.removed AS r (day, namespace, queue, state, jobs, stubs)
SELECT @day, t.namespace, t.queue, t.state, t.jobs, t.stubs
FROM unnest(@namespaces, @queues, @states, @jobs, @stubs) AS t (namespace, queue, state, jobs, stubs)
ORDER BY t.namespace, t.queue, t.state
ON CONFLICT (namespace, day, queue, state) DO UPDATE SET jobs = r.jobs + excluded.jobs, stubs = r.stubs + excluded.stubs;

-- name: removed_forget
-- params: @before int, @limit int
DELETE FROM {schema}.removed WHERE ctid = ANY (ARRAY(SELECT ctid FROM {schema}.removed WHERE day < @before ORDER BY day LIMIT @limit));

-- The order is by the bytes of names, so that pages are as of SQLite: what the index does not have
-- in this order is sorted within its day.
-- name: removed
-- params: @namespace text, @limit int
SELECT day, queue, state, jobs, stubs FROM {schema}.removed WHERE namespace = @namespace
ORDER BY day DESC, queue, state LIMIT @limit;

-- The days of one queue: each is found by the one after it, and there are RemovedKept of them.
-- name: removed_in
-- params: @namespace text, @queue text, @limit int
WITH RECURSIVE days (day) AS (
  SELECT max(day) FROM {schema}.removed WHERE namespace = @namespace
  UNION ALL SELECT (SELECT max(r.day) FROM {schema}.removed r WHERE r.namespace = @namespace AND r.day < d.day) FROM days d
  WHERE d.day IS NOT NULL
)
SELECT r.day, r.queue, r.state, r.jobs, r.stubs FROM days d CROSS JOIN LATERAL (
  SELECT a.day, a.queue, a.state, a.jobs, a.stubs FROM {schema}.removed a
  WHERE a.namespace = @namespace AND a.day = d.day AND a.queue = @queue OFFSET 0
) r ORDER BY r.day DESC, r.state LIMIT @limit;
