-- Schedules. Whatever changes one compares its version while its row is locked; a transaction that
-- changes several locks them in the order of their ids.

-- fragment: schedule_columns
s.id, s.namespace, s.name, s.settings, s.declared, s.paused_at, s.paused_by, s.note, s.cursor, s.next_at, s.remaining, s.cancels,
  s.version, s.last, s.fired, s.created_at, s.updated_at

-- The schedules with these names, locked.
-- name: schedules_lock
-- params: @namespaces text[], @names text[]
SELECT {{schedule_columns}} FROM {schema}.schedule s
WHERE s.id = ANY (ARRAY(
  SELECT a.id FROM unnest(@namespaces, @names) AS t (namespace, name)
  CROSS JOIN LATERAL (
    SELECT b.id FROM {schema}.schedule b
    WHERE b.namespace = t.namespace AND b.name = t.name OFFSET 0
  ) a
)) ORDER BY s.id FOR NO KEY UPDATE;

-- Those of them that no other transaction has locked. It does not wait.
-- name: schedules_grab
-- params: @namespaces text[], @names text[]
SELECT {{schedule_columns}} FROM {schema}.schedule s
WHERE s.id = ANY (ARRAY(
  SELECT a.id FROM unnest(@namespaces, @names) AS t (namespace, name)
  CROSS JOIN LATERAL (
    SELECT b.id FROM {schema}.schedule b
    WHERE b.namespace = t.namespace AND b.name = t.name OFFSET 0
  ) a
)) ORDER BY s.id FOR NO KEY UPDATE SKIP LOCKED;

-- Which of them there are.
-- name: schedules_there
-- params: @namespaces text[], @names text[]
SELECT t.namespace, t.name FROM unnest(@namespaces, @names) AS t (namespace, name)
CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.schedule b
  WHERE b.namespace = t.namespace AND b.name = t.name OFFSET 0
) a;

-- name: schedules
-- params: @namespace text, @name text, @after_namespace text, @after_name text, @limit int
SELECT {{schedule_columns}} FROM {schema}.schedule s
WHERE (@namespace IS NULL OR s.namespace = @namespace) AND (@name IS NULL OR s.name = @name)
  AND (s.namespace, s.name) > (@after_namespace, @after_name)
ORDER BY s.namespace, s.name LIMIT @limit;

-- Schedules that are due, by time, and the next one that is not, if there are fewer: nothing is
-- read of those behind. Where many have one time their order is that of the index.
-- name: schedules_due
-- params: @now bigint, @limit int
(SELECT {{schedule_columns}} FROM {schema}.schedule s
  WHERE s.next_at <= @now AND s.paused_at IS NULL ORDER BY s.next_at LIMIT @limit)
UNION ALL
(SELECT {{schedule_columns}} FROM {schema}.schedule s
  WHERE s.next_at > @now AND s.paused_at IS NULL ORDER BY s.next_at LIMIT 1);

-- name: schedule_insert
-- params: @namespace text, @name text, @settings text, @declared text, @paused_at bigint, @paused_by text, @note text, @cursor bigint
-- params: @next_at bigint, @remaining bigint, @cancels uuid, @now bigint
INSERT INTO {schema}.schedule AS s (namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  created_at, updated_at, version, fired)
VALUES (@namespace, @name, @settings, @declared, @paused_at, @paused_by, @note, @cursor, @next_at, @remaining, @cancels, @now, @now, 1, 0)
ON CONFLICT DO NOTHING RETURNING {{schedule_columns}};

-- name: schedule_update
-- params: @namespace text, @name text, @settings text, @declared text, @paused_at bigint, @paused_by text, @note text, @cursor bigint
-- params: @next_at bigint, @remaining bigint, @cancels uuid, @now bigint, @expected bigint
UPDATE {schema}.schedule s SET settings = @settings, declared = @declared, paused_at = @paused_at, paused_by = @paused_by, note = @note,
  cursor = @cursor, next_at = @next_at, remaining = @remaining, cancels = @cancels, updated_at = @now, version = s.version + 1
WHERE s.namespace = @namespace AND s.name = @name AND s.version = @expected
RETURNING {{schedule_columns}};

-- The runs go with it, but for those that a fire writes at this moment, which are never found.
-- name: schedule_delete
-- params: @namespace text, @name text, @expected bigint
WITH gone AS (
  DELETE FROM {schema}.schedule s WHERE s.namespace = @namespace AND s.name = @name
    AND (@expected = 0 OR s.version = @expected) RETURNING s.id
), runs AS (
  DELETE FROM {schema}.schedule_run r USING gone g WHERE r.schedule = g.id
)
SELECT id FROM gone;

-- Notes runs, and answers with the places of those whose time has none yet.
-- name: schedule_runs_insert
-- params: @schedules bigint[], @nominal bigint[], @manual bigint[], @states int[], @jobs uuid[], @now bigint
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(@schedules, @nominal, @manual, @states, @jobs) WITH ORDINALITY AS t (schedule, nominal, manual, state, job, place)
), noted AS (
  INSERT INTO {schema}.schedule_run (schedule, nominal, manual, at, state, job)
  SELECT schedule, nominal, manual, @now, state, job FROM input ORDER BY place
  ON CONFLICT DO NOTHING RETURNING schedule, nominal, manual
)
SELECT min(i.place) FROM noted n JOIN input i ON i.schedule = n.schedule AND i.nominal = n.nominal AND i.manual = n.manual
GROUP BY n.schedule, n.nominal, n.manual;

-- name: schedules_fired
-- params: @ids bigint[], @cursors bigint[], @next_at bigint[], @remaining bigint[], @cancels uuid[], @last uuid[], @fired bigint[]
UPDATE {schema}.schedule s SET cursor = t.cursor, next_at = t.next_at, remaining = t.remaining, cancels = t.cancels, last = t.last,
  fired = t.fired, version = s.version + 1
FROM unnest(@ids, @cursors, @next_at, @remaining, @cancels, @last, @fired) AS t (id, cursor, next_at, remaining, cancels, last, fired)
WHERE s.id = t.id;

-- Removes the runs of schedules that were decided before the last so many.
-- name: schedule_runs_trim
-- params: @ids bigint[], @kept int
DELETE FROM {schema}.schedule_run r USING unnest(@ids) AS t (id)
WHERE r.schedule = t.id AND r.at < (
  SELECT a.at FROM {schema}.schedule_run a WHERE a.schedule = t.id ORDER BY a.at DESC OFFSET @kept LIMIT 1
);

-- name: schedule_runs
-- params: @namespace text, @name text, @before bigint, @before_manual bigint, @limit int
SELECT r.nominal, r.manual, r.at, r.state, r.job FROM (
  SELECT s.id FROM {schema}.schedule s WHERE s.namespace = @namespace AND s.name = @name OFFSET 0
) s
CROSS JOIN LATERAL (
  SELECT a.* FROM {schema}.schedule_run a WHERE a.schedule = s.id AND (a.nominal, a.manual) < (@before, @before_manual)
  ORDER BY a.nominal DESC, a.manual DESC LIMIT @limit
) r ORDER BY r.nominal DESC, r.manual DESC;
