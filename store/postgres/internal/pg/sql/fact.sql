-- What nodes have counted and measured.

-- One that is there is replaced, unless it is newer. What is too late is left out. The order is
-- that in which all lock the rows.
-- name: facts_keep
-- params: @namespaces text[], @ats bigint[], @nodes bigint[], @numbers bigint[], @versions bigint[], @jobs bytea[], @gauges bytea[], @span int, @late bigint, @clock bigint
INSERT INTO {schema}.fact AS f (namespace, span, at, node, number, version, jobs, gauges)
SELECT t.namespace, @span, t.at, t.node, t.number, t.version, t.jobs, t.gauges
FROM unnest(@namespaces, @ats, @nodes, @numbers, @versions, @jobs, @gauges) AS t (namespace, at, node, number, version, jobs, gauges)
WHERE t.at > {schema}.clock(@clock) - @late
ORDER BY t.namespace, t.at, t.node, t.number
ON CONFLICT (namespace, span, at, node, number) DO UPDATE SET version = excluded.version, jobs = excluded.jobs, gauges = excluded.gauges
WHERE excluded.version >= f.version;

-- Those that are there are left out; answers with how many were not.
-- name: facts_put
-- params: @namespaces text[], @spans int[], @ats bigint[], @nodes bigint[], @numbers bigint[], @versions bigint[], @jobs bytea[], @gauges bytea[]
WITH put AS (
  INSERT INTO {schema}.fact (namespace, span, at, node, number, version, jobs, gauges)
  SELECT t.namespace, t.span, t.at, t.node, t.number, t.version, t.jobs, t.gauges
  FROM unnest(@namespaces, @spans, @ats, @nodes, @numbers, @versions, @jobs, @gauges)
    AS t (namespace, span, at, node, number, version, jobs, gauges)
  ORDER BY t.namespace, t.span, t.at, t.node, t.number
  ON CONFLICT (namespace, span, at, node, number) DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM put;

-- Answers with how many were there.
-- name: facts_delete
-- params: @namespaces text[], @spans int[], @ats bigint[], @nodes bigint[], @numbers bigint[]
WITH rows AS MATERIALIZED (
  SELECT l.place FROM unnest(@namespaces, @spans, @ats, @nodes, @numbers) AS t (namespace, span, at, node, number)
  CROSS JOIN LATERAL (
    SELECT f.ctid AS place FROM {schema}.fact f
    WHERE f.namespace = t.namespace AND f.span = t.span AND f.at = t.at AND f.node = t.node AND f.number = t.number FOR UPDATE
  ) l
), gone AS (
  DELETE FROM {schema}.fact WHERE ctid = ANY (ARRAY(SELECT place FROM rows)) RETURNING 1
)
SELECT count(*) FROM gone;

-- A page of those of a namespace.
-- name: facts_page
-- params: @namespace text, @span int, @from bigint, @to bigint, @after bigint, @node bigint, @number bigint, @limit int
SELECT f.namespace, f.span::int, f.at, f.node, f.number, f.version, f.jobs, f.gauges FROM {schema}.fact f
WHERE f.namespace = @namespace AND f.span = @span AND f.at >= @from AND f.at < @to AND (f.at, f.node, f.number) > (@after, @node, @number)
ORDER BY f.at, f.node, f.number LIMIT @limit;

-- A page of the minutes of all namespaces.
-- name: facts_minutes
-- params: @from bigint, @to bigint, @after bigint, @namespace text, @node bigint, @number bigint, @limit int
SELECT f.namespace, f.span::int, f.at, f.node, f.number, f.version, f.jobs, f.gauges FROM {schema}.fact f
WHERE f.span = 1 AND f.at >= @from AND f.at < @to AND (f.at, f.namespace, f.node, f.number) > (@after, @namespace, @node, @number)
ORDER BY f.at, f.namespace, f.node, f.number LIMIT @limit;

-- A page of the hours of all namespaces.
-- name: facts_hours
-- params: @from bigint, @to bigint, @after bigint, @namespace text, @node bigint, @number bigint, @limit int
SELECT f.namespace, f.span::int, f.at, f.node, f.number, f.version, f.jobs, f.gauges FROM {schema}.fact f
WHERE f.span = 2 AND f.at >= @from AND f.at < @to AND (f.at, f.namespace, f.node, f.number) > (@after, @namespace, @node, @number)
ORDER BY f.at, f.namespace, f.node, f.number LIMIT @limit;

-- name: measure_size
SELECT pg_database_size(current_database());

-- name: measure_server
SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint END AS written,
  (SELECT count(*) FROM pg_stat_activity a WHERE a.backend_type = 'client backend') AS used,
  current_setting('max_connections')::bigint - current_setting('superuser_reserved_connections')::bigint AS most;
