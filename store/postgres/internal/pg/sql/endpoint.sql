-- Endpoints and webhooks.

-- name: endpoint
-- params: @namespace text, @purpose smallint, @name text
SELECT namespace, purpose, name, data, version, created_at, created_by, updated_at, updated_by
FROM {schema}.endpoint WHERE namespace = @namespace AND purpose = @purpose AND name = @name;

-- There are few of them.
-- name: endpoints
-- params: @purpose smallint, @namespace text, @name text, @afterspace text, @aftername text, @limit int
SELECT namespace, purpose, name, data, version, created_at, created_by, updated_at, updated_by
FROM {schema}.endpoint
WHERE purpose = @purpose AND (@namespace = '' OR namespace = @namespace) AND (@name = '' OR name = @name)
  AND (namespace, name) > (@afterspace, @aftername)
ORDER BY namespace, name LIMIT @limit;

-- Those who make some at once may exceed the bound by as many as they are.
-- name: endpoint_insert
-- params: @namespace text, @purpose smallint, @name text, @data bytea, @now bigint, @actor text, @most bigint, @after text
WITH made AS (
  INSERT INTO {schema}.endpoint (namespace, purpose, name, data, version, created_at, created_by, updated_at, updated_by)
  SELECT @namespace, @purpose, @name, @data, 1, @now, @actor, @now, @actor
  WHERE (SELECT count(*) FROM {schema}.endpoint e WHERE e.namespace = @namespace AND e.purpose = @purpose) < @most
  ON CONFLICT (namespace, purpose, name) DO NOTHING RETURNING 1
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, after)
SELECT @now, @actor, 'create', @namespace, CASE @purpose WHEN 1 THEN 'endpoint' ELSE 'webhook' END, @name,
  CASE @purpose WHEN 1 THEN 'endpoint ' ELSE 'webhook ' END || @name, @after FROM made;

-- name: endpoint_update
-- params: @namespace text, @purpose smallint, @name text, @data bytea, @version bigint, @now bigint, @actor text, @before text, @after text
WITH changed AS (
  UPDATE {schema}.endpoint SET data = @data, version = version + 1, updated_at = @now, updated_by = @actor
  WHERE namespace = @namespace AND purpose = @purpose AND name = @name AND version = @version RETURNING 1
)
INSERT INTO {schema}.audit (at, actor, action, namespace, kind, name, detail, before, after)
SELECT @now, @actor, 'update', @namespace, CASE @purpose WHEN 1 THEN 'endpoint' ELSE 'webhook' END, @name,
  CASE @purpose WHEN 1 THEN 'endpoint ' ELSE 'webhook ' END || @name, @before, @after FROM changed;

-- Answers with the version of the one that there was.
-- name: endpoint_delete
-- params: @namespace text, @purpose smallint, @name text
DELETE FROM {schema}.endpoint WHERE namespace = @namespace AND purpose = @purpose AND name = @name RETURNING version;
