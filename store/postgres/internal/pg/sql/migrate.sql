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

-- What it tells of is durable; that it was told need not be.
-- name: notify
-- params: @channel text, @payloads text[]
SELECT set_config('synchronous_commit', 'off', true), pg_notify(@channel, t.payload) FROM unnest(@payloads) AS t (payload);

-- name: schema_drop
DROP SCHEMA IF EXISTS {schema} CASCADE;
