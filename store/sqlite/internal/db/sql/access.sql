-- Namespaces, and API keys.

-- Those that have a row or are in use. It reads what people and code have made, and no jobs.
-- name: namespaces
-- params: @now, @after, @limit
SELECT s.name, n.note, n.created_at, n.created_by FROM (
  SELECT name FROM holdfast_namespace
  UNION SELECT namespace FROM holdfast_queue WHERE deleted_at IS NULL
  UNION SELECT namespace FROM holdfast_schedule
  UNION SELECT namespace FROM holdfast_limit_rule
  UNION SELECT json_extract(info, '$.namespace') FROM holdfast_node WHERE dead_at IS NULL AND json_extract(info, '$.namespace') <> ''
  UNION SELECT namespace FROM holdfast_endpoint
  UNION SELECT namespace FROM holdfast_api_key WHERE over_at IS NULL OR over_at > @now
) s LEFT JOIN holdfast_namespace n ON n.name = s.name WHERE s.name > @after ORDER BY s.name LIMIT @limit + 0;

-- What one has, and is.
-- name: namespace_look
-- params: @name, @now
SELECT EXISTS (SELECT 1 FROM holdfast_schedule s WHERE s.namespace = w.name),
  EXISTS (SELECT 1 FROM holdfast_limit_rule l WHERE l.namespace = w.name),
  EXISTS (SELECT 1 FROM holdfast_node n WHERE n.dead_at IS NULL AND json_extract(n.info, '$.namespace') = w.name),
  EXISTS (SELECT 1 FROM holdfast_api_key k WHERE k.namespace = w.name AND (k.over_at IS NULL OR k.over_at > w.now)),
  EXISTS (SELECT 1 FROM holdfast_endpoint e WHERE e.namespace = w.name),
  EXISTS (SELECT 1 FROM holdfast_queue q WHERE q.namespace = w.name AND q.deleted_at IS NULL),
  n.note, n.created_at, n.created_by
FROM (SELECT @name AS name, @now AS now) w LEFT JOIN holdfast_namespace n ON n.name = w.name;

-- name: namespace_insert
INSERT INTO holdfast_namespace (name, note, created_at, created_by) VALUES (?, ?, ?, ?);

-- name: namespace_delete
DELETE FROM holdfast_namespace WHERE name = ?;

-- name: namespace_queues_delete
UPDATE holdfast_queue SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0, attempts = NULL, deleted_at = ?
WHERE namespace = ? AND deleted_at IS NULL;

-- name: api_key
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM holdfast_api_key WHERE id = ?;

-- name: api_keys
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM holdfast_api_key WHERE id > ? ORDER BY id LIMIT ? + 0;

-- name: api_keys_in
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM holdfast_api_key WHERE namespace = ? AND id > ? ORDER BY id LIMIT ? + 0;

-- name: api_key_insert
INSERT INTO holdfast_api_key (id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, over_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: api_key_revoke
UPDATE holdfast_api_key SET revoked_at = ?, revoked_by = ?, over_at = ? WHERE id = ?;

-- name: api_key_use
UPDATE holdfast_api_key SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?;

-- name: api_keys_over
SELECT 1 FROM holdfast_api_key INDEXED BY holdfast_api_key_over WHERE over_at <= ? LIMIT 1;

-- name: api_keys_forget
DELETE FROM holdfast_api_key WHERE id IN (
  SELECT id FROM holdfast_api_key INDEXED BY holdfast_api_key_over WHERE over_at <= ? ORDER BY over_at LIMIT ? + 0);
