-- Retention and partitions. The partitions of one day are job_DAY, finished_DAY, and so on.
-- Statements that take no parameters are for one {table}, and are run for each; {day}, {from} and
-- {to} are put into them, which are made of a date and of nothing else.

-- The partitions of tables.
-- name: partitions
-- params: @tables text[]
SELECT c.relname FROM unnest(@tables) AS t (name)
JOIN pg_catalog.pg_inherits i ON i.inhparent = to_regclass(t.name)
JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid ORDER BY c.relname;

-- name: partition_make
CREATE TABLE {schema}.{table}_{day} PARTITION OF {schema}.{table} FOR VALUES FROM ('{from}') TO ('{to}');

-- Where the default partition has rows of that day already: it is taken off, its rows move, and it
-- comes back. That jobs were inserted long before the day of their ids, as clocks may be far ahead,
-- does not matter to retention: their lanes are as of today. Written to the partition itself: the
-- table has a trigger that takes what is written for ends (feed.sql).
-- name: partition_make_around
ALTER TABLE {schema}.{table} DETACH PARTITION {schema}.{table}_default;
CREATE TABLE {schema}.{table}_{day} PARTITION OF {schema}.{table} FOR VALUES FROM ('{from}') TO ('{to}');
WITH moved AS (DELETE FROM {schema}.{table}_default WHERE id >= '{from}' AND id < '{to}' RETURNING *)
INSERT INTO {schema}.{table}_{day} SELECT * FROM moved;
ALTER TABLE {schema}.{table} ATTACH PARTITION {schema}.{table}_default DEFAULT;

-- The lanes of jobs that have moved into the partition of a day, of {table}, are used on that day.
-- name: partition_lanes
-- params: @day int
UPDATE {schema}.lane SET used_on = greatest(used_on, @day) WHERE id IN (SELECT DISTINCT lane FROM {schema}.{table}_{day});

-- What changes a job reads or writes one of these, so that nothing moves while they are locked.
-- name: partition_lock
LOCK TABLE {schema}.job, {schema}.finished, {schema}.attempt, {schema}.journal, {schema}.inbox IN ACCESS EXCLUSIVE MODE;

-- The jobs of a range that have a pointer, those that have not finished; those that have the turn
-- of an ordering key, also if they have failed; those after which others come that do not know yet
-- how they have ended; and the members of batches that were not called back. Found from the side of
-- the pointers, which are few, instead of from all that a day has seen.
-- name: unfinished_between
-- params: @from uuid, @to uuid, @limit int
SELECT id FROM {schema}.ready WHERE id >= @from AND id < @to
UNION ALL SELECT id FROM {schema}.keyed WHERE id >= @from AND id < @to
UNION ALL SELECT id FROM {schema}.gated WHERE id >= @from AND id < @to
UNION ALL SELECT id FROM {schema}.deferred WHERE id >= @from AND id < @to
UNION ALL SELECT id FROM {schema}.key_holder WHERE id >= @from AND id < @to
UNION ALL
SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}}
WHERE {{slot_open}} AND s.id >= @from AND s.id < @to
UNION ALL
SELECT e.predecessor FROM {schema}.edge e CROSS JOIN LATERAL (
  SELECT a.state FROM {schema}.finished a WHERE a.id = e.predecessor OFFSET 0
) f
WHERE e.predecessor >= @from AND e.predecessor < @to AND {{edge_untold}}
UNION ALL
SELECT m.id FROM {schema}.batch b CROSS JOIN LATERAL (
  SELECT a.id FROM {schema}.job a WHERE a.parent = b.id AND a.id >= @from AND a.id < @to
    AND EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = a.id OFFSET 0) OFFSET 0
) m WHERE b.done_at IS NULL
LIMIT @limit;

-- The finished jobs of a range that are to be kept: those of each state that ended after a time.
-- name: kept_between
-- params: @from uuid, @to uuid, @states int[], @since bigint[], @limit int
SELECT f.id FROM {schema}.finished f JOIN unnest(@states, @since) AS k (state, since) ON k.state = f.state
WHERE f.id >= @from AND f.id < @to AND f.finished_at > k.since LIMIT @limit;

-- The same where it has to be quick: of the completed ones only those in @completed are looked at.
-- name: kept_again
-- params: @from uuid, @to uuid, @states int[], @since bigint[], @completed uuid[]
SELECT f.id FROM {schema}.finished f JOIN unnest(@states, @since) AS k (state, since) ON k.state = f.state
WHERE f.id >= @from AND f.id < @to AND f.finished_at > k.since AND f.state <> {completed} AND f.state IN ({failed_states})
UNION ALL
SELECT f.id FROM {schema}.finished f JOIN unnest(@states, @since) AS k (state, since) ON k.state = f.state
WHERE f.id = ANY (@completed) AND f.state = {completed} AND f.finished_at > k.since;

-- name: count_finished_between
-- params: @from uuid, @to uuid
SELECT count(*) FROM {schema}.finished WHERE id >= @from AND id < @to;

-- How many entries the journals of jobs of a range have, up to a limit.
-- name: count_entries
-- params: @from uuid, @to uuid, @jobs uuid[], @limit int
SELECT count(*) FROM (
  SELECT 1 FROM {schema}.journal a WHERE a.id >= @from AND a.id < @to AND a.id = ANY (@jobs) LIMIT @limit
) a;

-- name: partition_detach
ALTER TABLE {schema}.{table} DETACH PARTITION {schema}.{table}_{day};

-- Survivors go to the default partition, not by way of the table and its triggers.
-- name: partition_keep
-- params: @survivors uuid[]
INSERT INTO {schema}.{table}_default SELECT * FROM {schema}.{table}_{day} WHERE id = ANY (@survivors);

-- What belongs to jobs of the range that do not survive, and is not in the partition of their day.
-- name: forget_between
-- params: @from_id uuid, @to_id uuid, @survivors uuid[]
DELETE FROM {schema}.{table} WHERE id >= @from_id AND id < @to_id AND id <> ALL (@survivors);

-- What belongs to jobs that are removed one by one.
-- name: forget_of
-- params: @jobs uuid[]
DELETE FROM {schema}.{table} WHERE id = ANY (@jobs);

-- name: forget_unique_keys_of
-- params: @jobs uuid[]
DELETE FROM {schema}.unique_key u USING unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT j.unique_key FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
WHERE b.unique_key IS NOT NULL AND u.key = b.unique_key AND u.id = t.id;

-- name: forget_actions_of
-- params: @jobs uuid[]
UPDATE {schema}.audit SET gone = true WHERE job = ANY (@jobs);

-- What people did before a time, but to jobs that are still there; so much of it is looked at,
-- after a number.
-- name: forget_actions
-- params: @before bigint, @after bigint, @limit int
DELETE FROM {schema}.audit WHERE at < @before AND seq IN (SELECT s.seq FROM (
  SELECT seq, at, job FROM {schema}.audit WHERE seq > @after ORDER BY seq LIMIT @limit
) s WHERE s.at < @before AND (s.job IS NULL OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = s.job OFFSET 0)));

-- The last of the actions that the statement before looks at, and whether it is that old: there may
-- be more then.
-- name: actions_looked_at
-- params: @before bigint, @after bigint, @limit int
SELECT s.seq, s.at < @before FROM (SELECT seq, at FROM {schema}.audit WHERE seq > @after ORDER BY seq LIMIT @limit) s
ORDER BY s.seq DESC LIMIT 1;

-- name: partition_drop
DROP TABLE {schema}.{table}_{day};

-- The members of batches that were not called back.
-- fragment: uncalled
SELECT j.id FROM {schema}.batch b CROSS JOIN LATERAL (SELECT m.id FROM {schema}.job m WHERE m.parent = b.id OFFSET 0) j WHERE b.done_at IS NULL

-- Jobs whose time is over and whose partition stays: of states and until when they are over, and
-- of states of which only the default partition is looked at. They are locked; one that a caller's
-- transaction has is left to the next time, and one after which others come that do not know yet
-- how it has ended. None that has failed and keeps the turn of its ordering key, and no member of a
-- batch that was not called back.
--
-- Those that others have to be told of are passed over, up to {untold_passed} of each state, so
-- that a page of them does not hold up the rest: it is looked at once more under the locks.
-- name: finished_over
-- params: @states int[], @until bigint[], @default_states int[], @default_until bigint[]
-- params: @limit int
WITH expired AS MATERIALIZED (
  SELECT f.id FROM unnest(@states, @until) AS k (state, until) CROSS JOIN LATERAL (
    SELECT a.id FROM (
      SELECT c.id FROM {schema}.finished c WHERE c.state = k.state AND c.state <> {completed} AND c.finished_at <= k.until
          AND (c.id IN (SELECT id FROM {schema}.key_holder)) IS NOT TRUE AND (c.id IN ({{uncalled}})) IS NOT TRUE
        ORDER BY c.id LIMIT @limit + {untold_passed}
    ) e CROSS JOIN LATERAL (
      SELECT a.id FROM {schema}.finished a WHERE a.id = e.id AND a.state = k.state FOR UPDATE SKIP LOCKED
    ) a
    WHERE NOT {{is_untold}} LIMIT @limit
  ) f
  UNION
  SELECT f.id FROM unnest(@default_states, @default_until) AS k (state, until) CROSS JOIN LATERAL (
    SELECT a.id FROM (
      SELECT c.id FROM {schema}.finished_default c WHERE c.state = k.state AND c.finished_at <= k.until
          AND (c.id IN (SELECT id FROM {schema}.key_holder)) IS NOT TRUE AND (c.id IN ({{uncalled}})) IS NOT TRUE
        ORDER BY c.finished_at LIMIT @limit + {untold_passed}
    ) e CROSS JOIN LATERAL (
      SELECT a.id FROM {schema}.finished_default a WHERE a.id = e.id AND a.state = k.state FOR UPDATE SKIP LOCKED
    ) a
    WHERE NOT {{is_untold}} LIMIT @limit
  ) f
  LIMIT @limit
)
SELECT e.id FROM expired e CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job j WHERE j.id = e.id FOR UPDATE SKIP LOCKED) b
WHERE NOT {{is_untold}};
