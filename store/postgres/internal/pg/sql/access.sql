-- Namespaces, and API keys.

-- Those that have a row or are in use. It reads what people and code have made, and no jobs.
-- name: namespaces
-- params: @after text, @now bigint, @limit int
SELECT s.name, n.note, n.created_at, n.created_by FROM (
  SELECT name FROM {schema}.namespace
  UNION SELECT namespace COLLATE "C" FROM {schema}.queue WHERE created_at IS NOT NULL AND deleted_at IS NULL
  UNION SELECT namespace COLLATE "C" FROM {schema}.schedule
  UNION SELECT namespace COLLATE "C" FROM {schema}.limit_rule
  UNION SELECT (info ->> 'namespace') COLLATE "C" FROM {schema}.node WHERE dead_at IS NULL AND info ->> 'namespace' <> ''
  UNION SELECT namespace FROM {schema}.endpoint
  UNION SELECT namespace FROM {schema}.api_key WHERE over_at IS NULL OR over_at > @now
) s LEFT JOIN {schema}.namespace n ON n.name = s.name WHERE s.name > @after ORDER BY s.name LIMIT @limit;

-- What one has, and is.
-- name: namespace_look
-- params: @name text, @now bigint
SELECT EXISTS (SELECT 1 FROM {schema}.schedule s WHERE s.namespace = w.name),
  EXISTS (SELECT 1 FROM {schema}.limit_rule l WHERE l.namespace = w.name),
  EXISTS (SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NULL AND n.info ->> 'namespace' = w.name),
  EXISTS (SELECT 1 FROM {schema}.api_key k WHERE k.namespace = w.name AND (k.over_at IS NULL OR k.over_at > @now)),
  EXISTS (SELECT 1 FROM {schema}.endpoint e WHERE e.namespace = w.name),
  EXISTS (SELECT 1 FROM {schema}.queue q WHERE q.namespace = w.name AND q.created_at IS NOT NULL AND q.deleted_at IS NULL),
  n.note, n.created_at, n.created_by
FROM (SELECT @name AS name) w LEFT JOIN {schema}.namespace n ON n.name = w.name;

-- Tells whether it has made one, which it records then.
-- name: namespace_insert
-- params: @name text, @note text, @now bigint, @actor text, @after text
WITH made AS (
  INSERT INTO {schema}.namespace (name, note, created_at, created_by) VALUES (@name, @note, @now, @actor)
  ON CONFLICT (name) DO NOTHING RETURNING name
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, after)
SELECT @now, @actor, 'create', name, 'namespace', name, 'namespace ' || name, @after FROM made RETURNING 1;

-- name: namespace_delete
-- params: @name text, @now bigint, @actor text, @before text
WITH gone AS (
  DELETE FROM {schema}.namespace WHERE name = @name
), queues AS (
  UPDATE {schema}.queue SET paused_at = NULL, paused_by = NULL, rest_until = NULL, rest_level = 0, attempts = NULL, deleted_at = @now
  WHERE namespace = @name AND created_at IS NOT NULL AND deleted_at IS NULL
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, before)
VALUES (@now, @actor, 'delete', @name, 'namespace', @name, 'namespace ' || @name, @before);

-- name: api_key
-- params: @id text
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM {schema}.api_key WHERE id = @id;

-- name: api_keys
-- params: @after text, @limit int
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM {schema}.api_key WHERE id > @after ORDER BY id LIMIT @limit;

-- name: api_keys_in
-- params: @namespace text, @after text, @limit int
SELECT id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, last_used_at, revoked_at, revoked_by
FROM {schema}.api_key WHERE namespace = @namespace AND id > @after ORDER BY id LIMIT @limit;

-- name: api_key_insert
-- params: @id text, @hash bytea, @name text, @namespace text, @role text, @scopes text, @now bigint, @actor text, @ends bigint, @after text
WITH made AS (
  INSERT INTO {schema}.api_key (id, hash, name, namespace, role, scopes, created_at, created_by, expires_at, over_at)
  VALUES (@id, @hash, @name, @namespace, @role, @scopes, @now, @actor, @ends, @ends)
  ON CONFLICT DO NOTHING RETURNING id -- by each index: what is not named would fail where two come at once
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, after)
SELECT @now, @actor, 'create', nullif(@namespace, ''), 'key', id, 'API key ' || id, @after FROM made;

-- name: api_key_revoke
-- params: @id text, @now bigint, @actor text
WITH gone AS (
  UPDATE {schema}.api_key SET revoked_at = @now, revoked_by = @actor, over_at = least(expires_at, @now)
  WHERE id = @id AND revoked_at IS NULL RETURNING id, namespace
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, before, after)
SELECT @now, @actor, 'revoke', nullif(namespace, ''), 'key', id, 'API key ' || id, '{"revoked":false}', '{"revoked":true}' FROM gone;

-- In the order of their ids, so that two processes do not wait for each other.
-- name: api_keys_use
-- params: @ids text[], @times bigint[]
UPDATE {schema}.api_key k SET last_used_at = t.at FROM (
  SELECT l.id, u.at FROM (SELECT id FROM {schema}.api_key WHERE id = ANY (@ids) ORDER BY id FOR UPDATE) l
  JOIN (SELECT id COLLATE "C" AS id, max(at) AS at FROM unnest(@ids, @times) AS t (id, at) GROUP BY 1) u ON u.id = l.id
) t WHERE k.id = t.id AND (k.last_used_at IS NULL OR k.last_used_at < t.at);

-- name: api_keys_forget
-- params: @before bigint, @limit int
DELETE FROM {schema}.api_key WHERE id = ANY (ARRAY(
  SELECT k.id FROM {schema}.api_key k WHERE k.over_at <= @before ORDER BY k.over_at LIMIT @limit));
