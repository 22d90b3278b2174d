-- Nodes and their leader.

-- What people want of a node stays with the process when it joins again, after it was declared
-- dead.
-- name: node_insert
-- params: @name, @version, @started_at, @beat_at, @info, @mode, @was
INSERT INTO holdfast_node (name, version, started_at, beat_at, last_seq, info, mode, mode_at, mode_by)
SELECT @name, @version, @started_at, @beat_at, 0, @info, CASE WHEN o.id IS NULL THEN nullif(@mode, 0) ELSE o.mode END, o.mode_at, o.mode_by
FROM (SELECT 1) LEFT JOIN holdfast_node o ON o.id = @was RETURNING id;

-- Whether a copy into the database is not complete.
-- name: node_waits
SELECT 1 FROM holdfast_meta WHERE name = 'copied_from' AND json_extract(value, '$.done') = 0;

-- name: node_alive
SELECT last_seq FROM holdfast_node WHERE id = ? AND dead_at IS NULL;

-- name: node_claims
-- params: @seq, @node
UPDATE holdfast_node SET last_seq = max(last_seq, @seq) WHERE id = @node;

-- name: node_info
SELECT info FROM holdfast_node WHERE id = ?;

-- name: node_beat
-- params: @now, @unwell, @node
UPDATE holdfast_node SET beat_at = @now, unwell = @unwell WHERE id = @node AND dead_at IS NULL RETURNING coalesce(mode, 0);

-- name: node_mode
SELECT dead_at IS NOT NULL, coalesce(mode, 0) FROM holdfast_node WHERE id = ?;

-- name: node_ask
-- params: @mode, @now, @actor, @node
UPDATE holdfast_node SET mode = @mode, mode_at = @now, mode_by = @actor WHERE id = @node;

-- name: node_audit
-- params: @now, @actor, @action, @node
INSERT INTO holdfast_audit (at, actor, action, node) VALUES (@now, @actor, @action, @node);

-- Whether there are requests that may not have been applied, and whether jobs have left children,
-- or successors.
-- name: work
SELECT EXISTS (SELECT 1 FROM holdfast_cancel_request) OR EXISTS (SELECT 1 FROM holdfast_pause_request),
  EXISTS (SELECT 1 FROM holdfast_closed_parent) OR EXISTS (SELECT 1 FROM holdfast_edge_check);

-- name: node_end
-- params: @now, @ended, @node
UPDATE holdfast_node SET dead_at = @now, ended = @ended WHERE id = @node AND dead_at IS NULL;

-- name: nodes
SELECT id, started_at, beat_at, dead_at, coalesce(ended, 0), info, coalesce(mode, 0), mode_at, mode_by, unwell FROM holdfast_node
WHERE dead_at IS NULL OR dead_at > ? ORDER BY dead_at IS NOT NULL, id;

-- name: nodes_asked
SELECT id, mode FROM holdfast_node WHERE dead_at IS NULL AND mode IS NOT NULL;

-- name: nodes_alive
SELECT id, beat_at FROM holdfast_node WHERE dead_at IS NULL ORDER BY id;

-- name: node_infos_alive
SELECT info FROM holdfast_node WHERE dead_at IS NULL;

-- name: nodes_forgettable
SELECT id FROM holdfast_node
WHERE dead_at <= ? AND NOT EXISTS (SELECT 1 FROM holdfast_claim c WHERE c.node = holdfast_node.id);

-- name: node_delete
DELETE FROM holdfast_node WHERE id = ?;

-- name: leader
SELECT node, epoch, expires_at, ttl FROM holdfast_leader WHERE name = ?;

-- name: leader_put
INSERT INTO holdfast_leader (name, node, epoch, expires_at, ttl) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (name) DO UPDATE
SET node = excluded.node, epoch = excluded.epoch, expires_at = excluded.expires_at, ttl = excluded.ttl;

-- name: leader_resign
UPDATE holdfast_leader SET expires_at = ? WHERE node = ?;

-- Takes the write lock and writes nothing.
-- name: lock
UPDATE holdfast_meta SET value = value WHERE name = '';
