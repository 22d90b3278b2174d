-- What remains of nodes whose rows are removed, and of jobs that were archived.

-- The build of a node, be its row there or not.
-- name: build_of
-- params: @node
WITH w AS (SELECT @node AS node)
SELECT coalesce(n.version, b.program), coalesce(CASE WHEN n.id IS NULL THEN b.engine ELSE json_extract(n.info, '$.engine') END, '')
FROM w LEFT JOIN holdfast_node n ON n.id = w.node LEFT JOIN holdfast_node_build b ON b.node = w.node
WHERE n.id IS NOT NULL OR b.node IS NOT NULL;

-- name: build_keep
INSERT INTO holdfast_node_build (node, ended_at, program, engine)
SELECT id, dead_at, version, coalesce(json_extract(info, '$.engine'), '') FROM holdfast_node WHERE id = ?
ON CONFLICT (node) DO NOTHING;

-- name: build_put
INSERT INTO holdfast_node_build (node, ended_at, program, engine) VALUES (?, ?, ?, ?) ON CONFLICT (node) DO NOTHING;

-- name: builds_old
SELECT 1 FROM holdfast_node_build INDEXED BY holdfast_node_build_ended WHERE ended_at < ? LIMIT 1;

-- name: builds_forget
DELETE FROM holdfast_node_build WHERE node IN (
  SELECT node FROM holdfast_node_build INDEXED BY holdfast_node_build_ended WHERE ended_at < ? ORDER BY ended_at LIMIT ? + 0);

-- Nodes of a database into which another one is copied, which have ended: those of the other one
-- have the same ids.
-- name: builds_clear
DELETE FROM holdfast_node_build;

-- name: nodes_clear
DELETE FROM holdfast_node;

-- name: stub_put
-- params: @now, @finished_at, @state, @place, @id
INSERT INTO holdfast_stub (archived_at, finished_at, state, place, id, namespace, queue, kind)
SELECT p.now, p.finished_at, p.state, p.place, j.id, q.namespace, q.name, l.kind
FROM (SELECT @now AS now, @finished_at AS finished_at, @state AS state, @place AS place, @id AS id) p
CROSS JOIN holdfast_job j ON j.id = p.id CROSS JOIN holdfast_lane l ON l.id = j.lane CROSS JOIN holdfast_queue q ON q.id = l.queue
WHERE true
ON CONFLICT (id) DO UPDATE SET archived_at = excluded.archived_at, finished_at = excluded.finished_at, state = excluded.state,
  place = excluded.place, namespace = excluded.namespace, queue = excluded.queue, kind = excluded.kind;

-- name: stub
SELECT id, namespace, queue, kind, state, finished_at, archived_at, place FROM holdfast_stub WHERE id = ?;

-- name: stubs_old
SELECT 1 FROM holdfast_stub INDEXED BY holdfast_stub_time WHERE archived_at <= ? LIMIT 1;

-- name: stubs_forget
DELETE FROM holdfast_stub WHERE rowid IN (
  SELECT rowid FROM holdfast_stub INDEXED BY holdfast_stub_time WHERE archived_at <= ? ORDER BY archived_at LIMIT ? + 0);

-- name: copy_stubs
SELECT id, namespace, queue, kind, state, finished_at, archived_at, place FROM holdfast_stub WHERE id > ? ORDER BY id LIMIT ? + 0;

-- name: copy_stub_put
INSERT INTO holdfast_stub (id, namespace, queue, kind, state, finished_at, archived_at, place) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (id) DO NOTHING;
