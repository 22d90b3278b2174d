-- What remains of nodes whose rows are removed, and of jobs that were archived.

-- The builds of nodes, of those that are known, be their rows there or not.
-- name: builds_of
-- params: @nodes bigint[]
SELECT n.id, n.version, coalesce(n.info ->> 'engine', '') FROM {schema}.node n WHERE n.id = ANY (@nodes)
UNION ALL
SELECT b.node, b.program, b.engine FROM {schema}.node_build b WHERE b.node = ANY (@nodes);

-- name: builds_put
-- params: @nodes bigint[], @programs text[], @engines text[], @now bigint
INSERT INTO {schema}.node_build (node, ended_at, program, engine)
SELECT t.node, @now, t.program, t.engine FROM unnest(@nodes, @programs, @engines) AS t (node, program, engine)
ON CONFLICT (node) DO NOTHING;

-- name: builds_forget
-- params: @before bigint, @limit int
DELETE FROM {schema}.node_build WHERE node = ANY (ARRAY(
  SELECT b.node FROM {schema}.node_build b WHERE b.ended_at < @before ORDER BY b.ended_at LIMIT @limit));

-- Nodes of a database into which another one is copied, which have ended: those of the other one
-- have the same ids.
-- name: nodes_clear
DELETE FROM {schema}.node;

-- name: builds_clear
DELETE FROM {schema}.node_build;

-- Finished jobs that are still there, and are removed by this transaction, leave their stubs. How
-- many, by queue and state.
-- name: stubs_leave
-- params: @jobs uuid[], @places text[], @now bigint
WITH put AS (
  INSERT INTO {schema}.stub (id, archived_at, finished_at, state, namespace, queue, kind, place)
  SELECT t.id, @now, f.finished_at, f.state, q.namespace, q.name, l.kind, t.place FROM unnest(@jobs, @places) AS t (id, place)
  CROSS JOIN LATERAL (SELECT a.state, a.finished_at FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f
  CROSS JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
  JOIN {schema}.lane l ON l.id = b.lane JOIN {schema}.queue q ON q.id = l.queue
  ON CONFLICT (id) DO UPDATE SET archived_at = excluded.archived_at, finished_at = excluded.finished_at, state = excluded.state,
    namespace = excluded.namespace, queue = excluded.queue, kind = excluded.kind, place = excluded.place
  RETURNING namespace, queue, state
)
SELECT p.namespace, p.queue, p.state, count(*) FROM put p GROUP BY p.namespace, p.queue, p.state;

-- name: stub
-- params: @job uuid
SELECT s.id, s.namespace, s.queue, s.kind, s.state, s.finished_at, s.archived_at, s.place FROM {schema}.stub s WHERE s.id = @job;

-- How many stubs were removed.
-- name: stubs_forget
-- params: @until bigint, @limit int
WITH gone AS (
  DELETE FROM {schema}.stub WHERE id = ANY (ARRAY(
    SELECT s.id FROM {schema}.stub s WHERE s.archived_at <= @until ORDER BY s.archived_at LIMIT @limit)) RETURNING 1
)
SELECT count(*) FROM gone;

-- name: copy_stubs
-- params: @after uuid, @limit int
SELECT s.id, s.namespace, s.queue, s.kind, s.state, s.finished_at, s.archived_at, s.place FROM {schema}.stub s
WHERE s.id > @after ORDER BY s.id LIMIT @limit;

-- name: copy_stubs_put
-- params: @rows text
INSERT INTO {schema}.stub (id, namespace, queue, kind, state, finished_at, archived_at, place)
SELECT t.id, t.namespace, t.queue, t.kind, t.state, t.finished_at, t.archived_at, t.place
FROM json_to_recordset(@rows::json) AS t (id uuid, namespace text, queue text, kind text, state int, finished_at bigint,
  archived_at bigint, place text)
ON CONFLICT (id) DO NOTHING;
