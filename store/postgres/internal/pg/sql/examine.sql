-- What "holdfast doctor" looks at. None of it locks anything, or changes anything.

-- name: examine_server
SELECT pg_is_in_recovery(), current_setting('fsync')::boolean, current_setting('full_page_writes')::boolean,
  current_setting('synchronous_commit') AS synchronous_commit,
  current_setting('autovacuum')::boolean AND current_setting('track_counts')::boolean AS vacuums,
  current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS connections,
  (SELECT count(*) FROM pg_stat_activity a WHERE a.backend_type = 'client backend')::int AS used,
  current_setting('synchronous_standby_names') <> '' AS waits, (SELECT count(*) FROM pg_stat_replication)::int AS standbys;

-- The transaction that has been open for longest among those that keep dead rows from being
-- cleared away. What another role runs is not told to everybody, but that it does is.
-- name: examine_open
SELECT a.pid, coalesce(a.application_name, ''), coalesce(a.usename, ''), coalesce(a.state, ''),
  extract(epoch FROM clock_timestamp() - a.xact_start)::float8 AS seconds
FROM pg_stat_activity a
WHERE a.pid <> pg_backend_pid() AND a.xact_start IS NOT NULL AND (a.backend_xid IS NOT NULL OR a.backend_xmin IS NOT NULL)
  AND a.backend_type <> 'autovacuum worker'
ORDER BY a.xact_start LIMIT 1;

-- name: examine_prepared
SELECT p.gid, extract(epoch FROM clock_timestamp() - p.prepared)::float8 AS seconds FROM pg_prepared_xacts p ORDER BY p.prepared LIMIT 1;

-- The slot of replication that nothing uses and that keeps the most of the write-ahead log.
-- name: examine_slots
SELECT s.slot_name::text, coalesce(pg_wal_lsn_diff(CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() ELSE pg_current_wal_lsn() END,
    s.restart_lsn), 0)::bigint AS kept, s.xmin IS NOT NULL OR s.catalog_xmin IS NOT NULL AS holds
FROM pg_replication_slots s WHERE NOT s.active ORDER BY 2 DESC LIMIT 1;

-- The size of the tables, how old their oldest transaction id is, and the one with most dead rows.
-- name: examine_tables
-- params: @schema text
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint AS size, coalesce(max(age(c.relfrozenxid)), 0)::bigint AS age,
  (array_agg(c.relname::text ORDER BY s.n_dead_tup DESC NULLS LAST))[1] AS worst, coalesce(max(s.n_dead_tup), 0)::bigint AS dead,
  coalesce((array_agg(s.n_live_tup ORDER BY s.n_dead_tup DESC NULLS LAST))[1], 0)::bigint AS live
FROM pg_class c LEFT JOIN pg_stat_user_tables s ON s.relid = c.oid
WHERE c.relnamespace = (SELECT n.oid FROM pg_namespace n WHERE n.nspname = @schema) AND c.relkind = 'r';

-- The rights that the role lacks on the schema and its tables, but for the days' partitions: their
-- rights are those of the table.
-- name: examine_rights
-- params: @schema text
SELECT p.name || ' ON SCHEMA ' || quote_ident(n.nspname) AS lacks
FROM pg_namespace n CROSS JOIN unnest(ARRAY['USAGE', 'CREATE']) AS p (name)
WHERE n.nspname = @schema AND NOT has_schema_privilege(n.oid, p.name)
UNION ALL
SELECT p.name || ' ON ' || quote_ident(n.nspname) || '.' || quote_ident(c.relname)
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace CROSS JOIN unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS p (name)
WHERE n.nspname = @schema AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND NOT has_table_privilege(c.oid, p.name)
ORDER BY 1;

-- Sends a notification to the examination itself.
-- name: examine_notify
-- params: @channel text
SELECT pg_notify(@channel, '');
