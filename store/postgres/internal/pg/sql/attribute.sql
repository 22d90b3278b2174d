-- Search attributes: what namespaces have declared, and what jobs have for it.

-- name: attributes_lock
LOCK TABLE {schema}.attribute IN SHARE ROW EXCLUSIVE MODE;

-- name: attributes_declared
-- params: @namespace text
SELECT id, name, type, declared_at, leaving FROM {schema}.attribute WHERE namespace = @namespace ORDER BY name;

-- name: attributes_all
SELECT namespace, name, type, declared_at, leaving FROM {schema}.attribute ORDER BY namespace, name;

-- name: attribute_put
-- params: @namespace text, @name text, @type int, @at bigint, @leaving boolean
INSERT INTO {schema}.attribute (namespace, name, type, declared_at, leaving) VALUES (@namespace, @name, @type, @at, @leaving)
ON CONFLICT (namespace, name) DO UPDATE SET type = excluded.type, declared_at = excluded.declared_at, leaving = excluded.leaving;

-- Removes the values of an attribute that has another type than this.
-- name: attribute_values_of_other_type
-- params: @namespace text, @name text, @type int
DELETE FROM {schema}.attribute_value v USING {schema}.attribute a
WHERE a.namespace = @namespace AND a.name = @name AND a.type <> @type AND v.attribute = a.id;

-- Begins to remove an attribute; nothing is written if that has begun before.
-- name: attribute_leave
-- params: @namespace text, @name text
WITH begun AS (
  UPDATE {schema}.attribute SET leaving = true WHERE namespace = @namespace AND name = @name AND NOT leaving RETURNING id
)
SELECT id, type, EXISTS (SELECT FROM begun) FROM {schema}.attribute WHERE namespace = @namespace AND name = @name;

-- Removes some of the values that jobs have, and answers with how many there were.
-- name: attribute_values_remove
-- params: @attribute int, @limit int
WITH rows AS MATERIALIZED (
  SELECT a.ctid AS place FROM {schema}.attribute_value a WHERE a.attribute = @attribute LIMIT @limit FOR UPDATE
), removed AS (
  DELETE FROM {schema}.attribute_value WHERE ctid = ANY (ARRAY(SELECT place FROM rows))
)
SELECT count(*) FROM rows;

-- name: attribute_delete
-- params: @attribute int
DELETE FROM {schema}.attribute WHERE id = @attribute;

-- Gives jobs values, each job and name once. One of a name that is not declared in the namespace of
-- the job, or is declared with another type, is dropped; and all of those of a job that was not
-- inserted at this time, if there is one.
-- name: attributes_set
-- params: @jobs uuid[], @names text[], @types int[], @values bytea[], @created bigint
INSERT INTO {schema}.attribute_value (id, attribute, value)
SELECT t.id, a.id, t.value FROM unnest(@jobs, @names, @types, @values) AS t (id, name, type, value)
CROSS JOIN LATERAL (SELECT b.lane FROM {schema}.job b WHERE b.id = t.id AND (@created IS NULL OR b.created_at = @created) OFFSET 0) j
CROSS JOIN LATERAL (SELECT b.queue FROM {schema}.lane b WHERE b.id = j.lane OFFSET 0) l
CROSS JOIN LATERAL (SELECT b.namespace FROM {schema}.queue b WHERE b.id = l.queue OFFSET 0) q
CROSS JOIN LATERAL (
  SELECT b.id FROM {schema}.attribute b WHERE b.namespace = q.namespace AND b.name = t.name AND b.type = t.type AND NOT b.leaving OFFSET 0
) a
ORDER BY t.id, a.id
ON CONFLICT (id, attribute) DO UPDATE SET value = excluded.value;

-- Takes values of jobs away.
-- name: attributes_unset
-- params: @jobs uuid[], @names text[]
WITH rows AS MATERIALIZED (
  SELECT v.place FROM unnest(@jobs, @names) AS t (id, name)
  CROSS JOIN LATERAL (SELECT a.ctid AS place, a.attribute FROM {schema}.attribute_value a WHERE a.id = t.id FOR UPDATE) v
  CROSS JOIN LATERAL (SELECT b.name FROM {schema}.attribute b WHERE b.id = v.attribute OFFSET 0) a
  WHERE a.name = t.name
)
DELETE FROM {schema}.attribute_value WHERE ctid = ANY (ARRAY(SELECT place FROM rows));

-- What a job, t, has, as JSON; NULL for nothing.
-- fragment: attributes_of_job
LEFT JOIN LATERAL (
  SELECT json_agg(json_build_object('name', a.name, 'type', a.type, 'value', encode(v.value, 'hex')) ORDER BY a.name)::text AS list
  FROM (SELECT b.attribute, b.value FROM {schema}.attribute_value b WHERE b.id = t.id OFFSET 0) v
  CROSS JOIN LATERAL (SELECT b.name, b.type FROM {schema}.attribute b WHERE b.id = v.attribute AND NOT b.leaving OFFSET 0) a
) searched ON true

-- The next jobs that have a value, in the order of their ids.
-- name: list_valued
-- params: @attribute int, @value bytea, @least uuid, @below uuid, @newest boolean, @limit int
(SELECT a.id FROM {schema}.attribute_value a
  WHERE @newest AND a.attribute = @attribute AND a.value = @value AND a.id >= @least AND a.id < @below ORDER BY a.id DESC LIMIT @limit)
UNION ALL
(SELECT a.id FROM {schema}.attribute_value a
  WHERE NOT @newest AND a.attribute = @attribute AND a.value = @value AND a.id >= @least AND a.id < @below ORDER BY a.id LIMIT @limit);

-- Jobs that have a value of a range.
-- name: list_valued_few
-- params: @attribute int, @from bytea, @below bytea, @limit int
SELECT a.id FROM {schema}.attribute_value a
WHERE a.attribute = @attribute AND a.value >= @from AND a.value < @below ORDER BY a.value LIMIT @limit;

-- name: list_values
-- params: @attribute int, @jobs uuid[]
SELECT t.place, v.value FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT a.value FROM {schema}.attribute_value a WHERE a.id = t.id AND a.attribute = @attribute OFFSET 0) v;

-- Removes those of jobs that went with their days. So many are looked at, after a job, and all
-- others of the same jobs; answers with the last job of them.
-- name: attributes_of_gone
-- params: @after uuid, @to uuid, @limit int
WITH looked AS MATERIALIZED (
  SELECT u.id FROM {schema}.attribute_value u WHERE u.id > @after AND u.id < @to ORDER BY u.id LIMIT @limit
), gone AS MATERIALIZED (
  SELECT t.id FROM (SELECT DISTINCT id FROM looked) t WHERE NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id OFFSET 0)
), rows AS MATERIALIZED (
  SELECT u.place FROM gone g
  CROSS JOIN LATERAL (SELECT a.ctid AS place FROM {schema}.attribute_value a WHERE a.id = g.id FOR UPDATE SKIP LOCKED) u
), forgotten AS (
  DELETE FROM {schema}.attribute_value WHERE ctid = ANY (ARRAY(SELECT place FROM rows))
)
SELECT id FROM looked ORDER BY id DESC LIMIT 1;
