-- The schema's version.

-- By a look at the catalog itself: names that were resolved before may be remembered as missing by
-- the session.
-- name: schema_exists
-- params: @schema text
SELECT EXISTS (
  SELECT 1 FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = @schema AND c.relname = 'migration'
);

-- name: schema_version
SELECT coalesce(max(version), 0) FROM {schema}.migration;

-- Which programs the steps after a version serve; 0: only those that know them all.
-- name: schema_serves
-- params: @version integer
SELECT CASE WHEN bool_or(serves IS NULL) THEN 0 ELSE max(serves) END FROM {schema}.migration WHERE version > @version;

-- In a transaction that may be the caller's, whose settings are none of ours.
-- name: notify
-- params: @channel text, @payloads text[]
SELECT pg_notify(@channel, t.payload) FROM unnest(@payloads) AS t (payload);

-- In a transaction of its own, whose commit does not wait for the disk: what it tells of is
-- durable, and that it was told need not be.
-- name: notify_alone
-- params: @channel text, @payloads text[]
SELECT set_config('synchronous_commit', 'off', true), pg_notify(@channel, t.payload) FROM unnest(@payloads) AS t (payload);

-- name: schema_drop
DROP SCHEMA IF EXISTS {schema} CASCADE;

-- A node that joins waits for it, and then finds the new tables.
-- name: reset_lock
LOCK TABLE {schema}.node IN ACCESS EXCLUSIVE MODE;

-- name: reset_alive
SELECT coalesce(min(id), 0) FROM {schema}.node WHERE dead_at IS NULL;

-- The functions that the migrations have made, as DROP FUNCTION wants them: those whose text stands
-- there. Others with such a name are not ours.
-- name: reset_functions
-- params: @schema text, @names text[], @migrations text
SELECT p.oid::regprocedure::text FROM pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace
WHERE n.nspname = @schema AND p.proname = ANY (@names)
  AND (strpos(@migrations, '$$' || p.prosrc || '$$') > 0 OR strpos(@migrations, quote_literal(p.prosrc)) > 0);

-- The triggers that the migrations have made, which need their functions.
-- name: reset_triggers
DROP TRIGGER IF EXISTS span_of_new ON {schema}.job;
DROP TRIGGER IF EXISTS span_of_moved ON {schema}.job;
DROP TRIGGER IF EXISTS audit_of ON {schema}.audit;
