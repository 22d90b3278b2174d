-- Limits, and how many slots of them nodes hold.

-- fragment: limit_columns
l.id, l.namespace, l.name, l.settings, l.declared, l.version, l.created_at, l.updated_at, l.wanted_at

-- With those who hold slots of them: a row for each.
-- name: limits
-- params: @namespace text, @name text
SELECT {{limit_columns}}, g.node, g.held FROM {schema}.limit_rule l
LEFT JOIN LATERAL (
  SELECT a.node, a.held FROM {schema}.limit_grant a WHERE a.rule = l.id AND a.held > 0 OFFSET 0
) g ON true
WHERE (@namespace IS NULL OR l.namespace = @namespace) AND (@name IS NULL OR l.name = @name)
ORDER BY l.namespace, l.name, g.node;

-- name: limit_insert
-- params: @namespace text, @name text, @settings text, @declared text, @capacity bigint, @now bigint
INSERT INTO {schema}.limit_rule AS l (namespace, name, settings, declared, capacity, version, created_at, updated_at)
VALUES (@namespace, @name, @settings, @declared, @capacity, @now, @now, @now)
ON CONFLICT DO NOTHING RETURNING l.id;

-- name: limit_update
-- params: @namespace text, @name text, @settings text, @declared text, @capacity bigint, @now bigint, @expected bigint
UPDATE {schema}.limit_rule l SET settings = @settings, declared = @declared, capacity = @capacity, updated_at = @now, version = l.version + 1
WHERE l.namespace = @namespace AND l.name = @name AND l.version = @expected RETURNING l.id;

-- So that no node is given slots of it any more.
-- name: limit_lock
-- params: @namespace text, @name text
SELECT l.id FROM {schema}.limit_rule l WHERE l.namespace = @namespace AND l.name = @name FOR UPDATE;

-- name: limit_holders
-- params: @id bigint
SELECT g.node, g.held FROM {schema}.limit_grant g WHERE g.rule = @id AND g.held > 0 ORDER BY g.node;

-- Notes that slots of it are wanted.
-- name: limit_wanted
-- params: @id bigint, @now bigint, @before bigint
UPDATE {schema}.limit_rule l SET wanted_at = @now WHERE l.id = @id AND (l.wanted_at IS NULL OR l.wanted_at <= @before);

-- name: limit_delete
-- params: @id bigint
WITH grants AS (DELETE FROM {schema}.limit_grant g WHERE g.rule = @id)
DELETE FROM {schema}.limit_rule l WHERE l.id = @id;

-- Locks the node, if it is alive, and then the limits that are asked about. It may wait for both;
-- what others have committed until it has them is seen by grant, a statement of its own.
-- name: limits_lock
-- params: @node bigint, @limits bigint[]
WITH alive AS MATERIALIZED (
  SELECT n.id FROM {schema}.node n WHERE n.id = @node AND n.dead_at IS NULL FOR KEY SHARE
)
SELECT l.id FROM {schema}.limit_rule l WHERE l.id = ANY (@limits) AND EXISTS (SELECT 1 FROM alive)
ORDER BY l.id FOR NO KEY UPDATE;

-- Gives the node slots: what it wants as far as others leave any, and what it keeps in any case.
-- Answers a row for each limit that has the version which the node knows, unless it has made a
-- later call; and one with NULLs if there is none. No row: the node is not alive. Limits of which
-- it gets less than it wants are noted as wanted, unless they were a moment ago.
-- name: grant
-- params: @node bigint, @call bigint, @limits bigint[], @versions bigint[], @keeps bigint[], @wants bigint[]
-- params: @now bigint, @before bigint
WITH alive AS MATERIALIZED (
  SELECT n.id FROM {schema}.node n WHERE n.id = @node AND n.dead_at IS NULL
), asked AS MATERIALIZED (
  SELECT t.id, t.keep, t.want, l.capacity, coalesce(o.held, 0) AS others, h.held AS had, h.call
  FROM alive a CROSS JOIN unnest(@limits, @versions, @keeps, @wants) AS t (id, version, keep, want)
  CROSS JOIN LATERAL (
    SELECT b.capacity FROM {schema}.limit_rule b WHERE b.id = t.id AND b.version = t.version OFFSET 0
  ) l
  CROSS JOIN LATERAL (
    SELECT sum(b.held)::bigint AS held FROM {schema}.limit_grant b WHERE b.rule = t.id AND b.node <> @node
  ) o
  LEFT JOIN LATERAL (
    SELECT b.held, b.call FROM {schema}.limit_grant b WHERE b.rule = t.id AND b.node = @node OFFSET 0
  ) h ON true
), given AS (
  INSERT INTO {schema}.limit_grant AS g (rule, node, held, call)
  SELECT t.id, @node, greatest(t.keep, least(t.want, t.capacity - t.others), 0), @call
  FROM asked t WHERE t.call IS NULL OR t.call < @call ORDER BY t.id
  ON CONFLICT (rule, node) DO UPDATE SET held = excluded.held, call = excluded.call WHERE g.call < excluded.call
  RETURNING g.rule, g.held
), wanted AS (
  UPDATE {schema}.limit_rule r SET wanted_at = @now
  WHERE r.id = ANY (ARRAY(
    SELECT t.id FROM asked t CROSS JOIN LATERAL (SELECT b.held FROM given b WHERE b.rule = t.id) g WHERE g.held < t.want
  )) AND (r.wanted_at IS NULL OR r.wanted_at <= @before)
)
SELECT t.id, t.capacity, t.others, t.held FROM alive a LEFT JOIN (
  SELECT t.id, t.capacity, t.others, g.held FROM asked t CROSS JOIN LATERAL (SELECT b.held FROM given b WHERE b.rule = t.id) g
  UNION ALL
  SELECT t.id, t.capacity, t.others, t.had FROM asked t WHERE t.call = @call
) t ON true;

-- Deletes what nodes hold that are not alive and have no claim record: one that this does not see
-- is not there, as they had died before. Answers with the names of the limits.
-- name: grants_sweep
WITH gone AS (
  DELETE FROM {schema}.limit_grant g WHERE NOT EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = g.node AND n.dead_at IS NULL OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = g.node OFFSET 0)
  RETURNING g.rule, g.held
)
SELECT l.namespace, l.name FROM (SELECT DISTINCT rule FROM gone WHERE held > 0) g
CROSS JOIN LATERAL (SELECT a.namespace, a.name FROM {schema}.limit_rule a WHERE a.id = g.rule OFFSET 0) l
ORDER BY 1, 2;

-- For a copy into another database.

-- Leaves the limits that are named, as they are described.
-- name: copy_limits_put
-- params: @rows text
WITH rows AS MATERIALIZED (
  SELECT * FROM json_to_recordset(@rows::json) AS t (namespace text, name text, settings text, declared text, capacity bigint, version bigint,
    created_at bigint, updated_at bigint)
), others AS (
  DELETE FROM {schema}.limit_rule l WHERE NOT EXISTS (SELECT 1 FROM rows t WHERE t.namespace = l.namespace AND t.name = l.name)
)
INSERT INTO {schema}.limit_rule (namespace, name, settings, declared, capacity, version, created_at, updated_at)
SELECT namespace, name, settings, declared, capacity, version, created_at, updated_at FROM rows
ON CONFLICT (namespace, name) DO UPDATE SET settings = excluded.settings, declared = excluded.declared, capacity = excluded.capacity, version = excluded.version,
  created_at = excluded.created_at, updated_at = excluded.updated_at;
