-- Retention and partitions. The partitions of one day are job_DAY, finished_DAY, and so on. Statements that take no parameters are for
-- one {table}, and are run for each; {day}, {from} and {to} are put into them, which are made of a date and of nothing else.

-- $1 tables.
-- name: partitions
SELECT c.relname FROM unnest($1::text[]) AS t (name)
JOIN pg_catalog.pg_inherits i ON i.inhparent = to_regclass(t.name)
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid ORDER BY c.relname;

-- name: partition_make
CREATE TABLE {schema}.{table}_{day} PARTITION OF {schema}.{table} FOR VALUES FROM ('{from}') TO ('{to}');

-- Where the default partition has rows of that day already: it is taken off, its rows move, and it comes back. That jobs were inserted long before
-- the day of their ids, as clocks may be far ahead, does not matter to retention: their lanes are as of today.
-- name: partition_make_around
ALTER TABLE {schema}.{table} DETACH PARTITION {schema}.{table}_default;
CREATE TABLE {schema}.{table}_{day} PARTITION OF {schema}.{table} FOR VALUES FROM ('{from}') TO ('{to}');
WITH moved AS (DELETE FROM {schema}.{table}_default WHERE id >= '{from}' AND id < '{to}' RETURNING *) INSERT INTO {schema}.{table} SELECT * FROM moved;
ALTER TABLE {schema}.{table} ATTACH PARTITION {schema}.{table}_default DEFAULT;

-- The lanes of jobs that have moved into the partition of a day, of {table}, are used on day $1.
-- name: partition_lanes
UPDATE {schema}.lane SET used_on = greatest(used_on, $1::int) WHERE id IN (SELECT DISTINCT lane FROM {schema}.{table}_{day});

-- Whoever changes a job reads or writes one of these, so that nothing moves while they are locked.
-- name: partition_lock
LOCK TABLE {schema}.job, {schema}.finished, {schema}.attempt, {schema}.journal, {schema}.inbox IN ACCESS EXCLUSIVE MODE;

-- The jobs of a range, $1 to $2, that have a pointer: those that have not finished. Found from the side of the pointers,
-- which are few, instead of from all that a day has seen. At most $3.
-- name: unfinished_between
SELECT id FROM {schema}.ready WHERE id >= $1::uuid AND id < $2::uuid
UNION ALL SELECT id FROM {schema}.keyed WHERE id >= $1::uuid AND id < $2::uuid
UNION ALL SELECT id FROM {schema}.deferred WHERE id >= $1::uuid AND id < $2::uuid
UNION ALL
SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
WHERE (k.done >> (s.place - 1)::int) & 1 = 0 AND s.id >= $1::uuid AND s.id < $2::uuid
LIMIT $3::int;

-- The finished jobs of a range that are to be kept: $3 states, $4 the time since which jobs of the state are kept. At most $5.
-- name: kept_between
SELECT f.id FROM {schema}.finished f JOIN unnest($3::int[], $4::bigint[]) AS k (state, since) ON k.state = f.state
WHERE f.id >= $1::uuid AND f.id < $2::uuid AND f.finished_at > k.since LIMIT $5::int;

-- The same where it has to be quick: of the completed ones only those in $5 are looked at.
-- name: kept_again
SELECT f.id FROM {schema}.finished f JOIN unnest($3::int[], $4::bigint[]) AS k (state, since) ON k.state = f.state
WHERE f.id >= $1::uuid AND f.id < $2::uuid AND f.finished_at > k.since AND f.state <> 6 AND f.state IN (7, 8)
UNION ALL
SELECT f.id FROM {schema}.finished f JOIN unnest($3::int[], $4::bigint[]) AS k (state, since) ON k.state = f.state
WHERE f.id = ANY ($5::uuid[]) AND f.state = 6 AND f.finished_at > k.since;

-- name: count_finished_between
SELECT count(*) FROM {schema}.finished WHERE id >= $1::uuid AND id < $2::uuid;

-- How many entries the journals of jobs of a range have, $3, at most $4.
-- name: count_entries
SELECT count(*) FROM (
  SELECT 1 FROM {schema}.journal a WHERE a.id >= $1::uuid AND a.id < $2::uuid AND a.id = ANY ($3::uuid[]) LIMIT $4::int
) a;

-- name: partition_detach
ALTER TABLE {schema}.{table} DETACH PARTITION {schema}.{table}_{day};

-- Survivors, $1, go to the default partition.
-- name: partition_keep
INSERT INTO {schema}.{table} SELECT * FROM {schema}.{table}_{day} WHERE id = ANY ($1::uuid[]);

-- What belongs to jobs of the range that do not survive. $1 from, $2 to, $3 survivors.
-- name: forget_checkpoints
DELETE FROM {schema}.checkpoint WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- name: forget_generations
DELETE FROM {schema}.generation WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- name: forget_requests
DELETE FROM {schema}.cancel_request WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- name: forget_unique_keys
DELETE FROM {schema}.unique_key WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- name: forget_pauses
DELETE FROM {schema}.pause_request WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- Of days that an older program made partitions for, these are in the default partition.
-- name: forget_journals
DELETE FROM {schema}.journal WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- name: forget_inboxes
DELETE FROM {schema}.inbox WHERE id >= $1::uuid AND id < $2::uuid AND id <> ALL ($3::uuid[]);

-- What people did before $1, but to jobs that are still there; $3 of it after number $2 is looked at.
-- name: forget_actions
DELETE FROM {schema}.audit WHERE at < $1::bigint AND seq IN (SELECT s.seq FROM (
  SELECT seq, at, job FROM {schema}.audit WHERE seq > $2::bigint ORDER BY seq LIMIT $3::int
) s WHERE s.at < $1::bigint AND (s.job IS NULL OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = s.job OFFSET 0)));

-- The last of the actions that the statement before looks at, and whether it is that old: there may be more then.
-- name: actions_looked_at
SELECT s.seq, s.at < $1::bigint FROM (SELECT seq, at FROM {schema}.audit WHERE seq > $2::bigint ORDER BY seq LIMIT $3::int) s ORDER BY s.seq DESC LIMIT 1;

-- name: partition_drop
DROP TABLE {schema}.{table}_{day};

-- Jobs whose time is over and whose partition stays, one by one. $1 states, $2 the time until which they are over, $3
-- states of which only the default partition is looked at, $4 their times, $5 limit.
-- name: delete_finished
WITH over AS MATERIALIZED (
  SELECT f.id FROM unnest($1::int[], $2::bigint[]) AS k (state, until) CROSS JOIN LATERAL (
    SELECT a.id FROM {schema}.finished a WHERE a.state = k.state AND a.state <> 6 AND a.finished_at <= k.until ORDER BY a.id LIMIT $5::int FOR UPDATE SKIP LOCKED
  ) f
  UNION
  SELECT f.id FROM unnest($3::int[], $4::bigint[]) AS k (state, until) CROSS JOIN LATERAL (
    SELECT a.id FROM {schema}.finished_default a WHERE a.state = k.state AND a.finished_at <= k.until ORDER BY a.finished_at LIMIT $5::int FOR UPDATE SKIP LOCKED
  ) f
  LIMIT $5::int
), attempts AS (
  DELETE FROM {schema}.attempt a USING over o WHERE a.id = o.id
), checkpoints AS (
  DELETE FROM {schema}.checkpoint a USING over o WHERE a.id = o.id
), journals AS (
  DELETE FROM {schema}.journal a USING over o WHERE a.id = o.id
), inboxes AS (
  DELETE FROM {schema}.inbox a USING over o WHERE a.id = o.id
), generations AS (
  DELETE FROM {schema}.generation a USING over o WHERE a.id = o.id
), requests AS (
  DELETE FROM {schema}.cancel_request a USING over o WHERE a.id = o.id
), pauses AS (
  DELETE FROM {schema}.pause_request a USING over o WHERE a.id = o.id
), keys AS (
  DELETE FROM {schema}.unique_key u USING over o CROSS JOIN LATERAL (SELECT j.unique_key FROM {schema}.job j WHERE j.id = o.id OFFSET 0) b
  WHERE b.unique_key IS NOT NULL AND u.key = b.unique_key AND u.id = o.id
), bodies AS (
  DELETE FROM {schema}.job a USING over o WHERE a.id = o.id
)
DELETE FROM {schema}.finished a USING over o WHERE a.id = o.id RETURNING a.id;
