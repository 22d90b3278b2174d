-- What code tells of queues and kinds.

-- Those of the descriptors that differ from what is there.
-- name: descriptors_other
-- params: @namespaces text[], @subjects smallint[], @names text[], @data text[]
SELECT t.place FROM unnest(@namespaces, @subjects, @names, @data) WITH ORDINALITY AS t (namespace, subject, name, data, place)
LEFT JOIN {schema}.descriptor d ON d.namespace = t.namespace AND d.subject = t.subject AND d.name = t.name
WHERE coalesce(d.data, '') <> t.data ORDER BY t.place;

-- Who writes descriptors takes turns: nodes that start at once tell the same.
-- name: descriptors_lock
LOCK TABLE {schema}.descriptor IN SHARE ROW EXCLUSIVE MODE;

-- name: descriptors_put
-- params: @namespaces text[], @subjects smallint[], @names text[], @data text[], @programs text[], @engines text[], @now bigint
INSERT INTO {schema}.descriptor (namespace, subject, name, at, program, engine, data)
SELECT t.namespace, t.subject, t.name, @now, t.program, t.engine, t.data
FROM unnest(@namespaces, @subjects, @names, @data, @programs, @engines) AS t (namespace, subject, name, data, program, engine)
WHERE t.data <> ''
ON CONFLICT (namespace, subject, name) DO UPDATE
SET at = excluded.at, program = excluded.program, engine = excluded.engine, data = excluded.data;

-- name: descriptors_delete
-- params: @namespaces text[], @subjects smallint[], @names text[], @data text[]
DELETE FROM {schema}.descriptor d USING unnest(@namespaces, @subjects, @names, @data) AS t (namespace, subject, name, data)
WHERE t.data = '' AND d.namespace = t.namespace AND d.subject = t.subject AND d.name = t.name;

-- How many there are of the sorts of some.
-- name: descriptors_count
-- params: @namespaces text[], @subjects smallint[]
SELECT coalesce(max(c.n), 0) FROM (SELECT DISTINCT namespace, subject FROM unnest(@namespaces, @subjects) AS t (namespace, subject)) s
CROSS JOIN LATERAL (SELECT count(*) AS n FROM {schema}.descriptor d WHERE d.namespace = s.namespace AND d.subject = s.subject) c;

-- name: descriptors
-- params: @namespace text, @subject smallint, @after text, @limit int
SELECT d.name, d.at, d.program, d.engine, d.data FROM {schema}.descriptor d
WHERE d.namespace = @namespace AND d.subject = @subject AND d.name > @after ORDER BY d.name LIMIT @limit;

-- name: descriptors_of
-- params: @namespace text, @subject smallint, @name text
SELECT d.name, d.at, d.program, d.engine, d.data FROM {schema}.descriptor d
WHERE d.namespace = @namespace AND d.subject = @subject AND d.name = @name;
