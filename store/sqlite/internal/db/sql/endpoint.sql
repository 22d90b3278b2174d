-- Endpoints and webhooks.

-- name: endpoint
SELECT namespace, purpose, name, data, version, created_at, created_by, updated_at, updated_by
FROM holdfast_endpoint WHERE namespace = ? AND purpose = ? AND name = ?;

-- There are few of them.
-- name: endpoints
-- params: @purpose, @namespace, @name, @afterspace, @aftername, @limit
SELECT e.namespace, e.purpose, e.name, e.data, e.version, e.created_at, e.created_by, e.updated_at, e.updated_by
FROM (SELECT @purpose AS purpose, @namespace AS namespace, @name AS name, @afterspace AS afterspace, @aftername AS aftername) w
CROSS JOIN holdfast_endpoint e
WHERE e.purpose = w.purpose AND (w.namespace = '' OR e.namespace = w.namespace) AND (w.name = '' OR e.name = w.name)
  AND (e.namespace, e.name) > (w.afterspace, w.aftername)
ORDER BY e.namespace, e.name LIMIT @limit + 0;

-- name: endpoints_count
SELECT count(*) FROM holdfast_endpoint WHERE namespace = ? AND purpose = ?;

-- name: endpoint_insert
INSERT INTO holdfast_endpoint (namespace, purpose, name, data, version, created_at, created_by, updated_at, updated_by)
VALUES (?, ?, ?, ?, 1, ?, ?, ?, ?);

-- name: endpoint_update
UPDATE holdfast_endpoint SET data = ?, version = version + 1, updated_at = ?, updated_by = ?
WHERE namespace = ? AND purpose = ? AND name = ?;

-- name: endpoint_delete
DELETE FROM holdfast_endpoint WHERE namespace = ? AND purpose = ? AND name = ?;
