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

-- Not those that are paused, unless they have a job to be asked to stop.
-- fragment: is_looked_at
(s.paused_at IS NULL OR s.cancels IS NOT NULL)

-- Schedules that are due, by time, and the next one that is not, if there are fewer: nothing is
-- read of those behind. Where many have one time their order is that of the index.
-- name: schedules_due
-- params: @now bigint, @limit int
(SELECT {{schedule_columns}} FROM {schema}.schedule s
  WHERE s.next_at <= @now AND {{is_looked_at}} ORDER BY s.next_at LIMIT @limit)
UNION ALL
(SELECT {{schedule_columns}} FROM {schema}.schedule s
  WHERE s.next_at > @now AND {{is_looked_at}} ORDER BY s.next_at LIMIT 1);

-- name: schedule_insert
-- params: @namespace text, @name text, @settings text, @declared text, @paused_at bigint, @paused_by text, @note text, @cursor bigint
-- params: @next_at bigint, @remaining bigint, @cancels uuid, @now bigint
INSERT INTO {schema}.schedule AS s (namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  created_at, updated_at, version, fired)
VALUES (@namespace, @name, @settings, @declared, @paused_at, @paused_by, @note, @cursor, @next_at, @remaining, @cancels, @now, @now, @now, 0)
ON CONFLICT DO NOTHING RETURNING {{schedule_columns}};

-- The runs of a schedule that may go: those that were decided before the last so many; those that a
-- person asked for not before a time, since asking again must find them.
-- fragment: may_go
r.schedule = s.id AND (r.manual = 0 OR r.at < @asked_before)
  AND r.at < (SELECT a.at FROM {schema}.schedule_run a WHERE a.schedule = s.id ORDER BY a.at DESC OFFSET @kept LIMIT 1)

-- name: schedule_update
-- params: @namespace text, @name text, @settings text, @declared text, @paused_at bigint, @paused_by text, @note text, @cursor bigint
-- params: @next_at bigint, @remaining bigint, @cancels uuid, @now bigint, @expected bigint, @trims boolean, @kept int, @asked_before bigint
WITH s AS (
  UPDATE {schema}.schedule s SET settings = @settings, declared = @declared, paused_at = @paused_at, paused_by = @paused_by, note = @note,
    cursor = @cursor, next_at = @next_at, remaining = @remaining, cancels = @cancels, updated_at = @now, version = s.version + 1
  WHERE s.namespace = @namespace AND s.name = @name AND s.version = @expected
  RETURNING {{schedule_columns}}
), trimmed AS (
  DELETE FROM {schema}.schedule_run r USING s WHERE @trims AND {{may_go}}
)
SELECT {{schedule_columns}} FROM s;

-- The schedule that is to be deleted, which nothing changes any more.
-- name: schedule_lock
-- params: @namespace text, @name text, @expected bigint
SELECT {{schedule_columns}} FROM {schema}.schedule s WHERE s.namespace = @namespace AND s.name = @name
  AND (@expected = 0 OR s.version = @expected) FOR UPDATE;

-- name: schedule_delete
-- params: @namespace text, @name text
DELETE FROM {schema}.schedule s WHERE s.namespace = @namespace AND s.name = @name RETURNING s.id;

-- By a statement of its own, which sees those that a fire has written while the schedule was to be
-- deleted.
-- name: schedule_runs_delete
-- params: @id bigint
DELETE FROM {schema}.schedule_run r WHERE r.schedule = @id;

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
-- params: @ids bigint[], @versions bigint[], @cursors bigint[], @next_at bigint[], @remaining bigint[], @cancels uuid[], @last uuid[]
-- params: @fired bigint[]
UPDATE {schema}.schedule s SET version = t.version, cursor = t.cursor, next_at = t.next_at, remaining = t.remaining, cancels = t.cancels,
  last = t.last, fired = t.fired
FROM unnest(@ids, @versions, @cursors, @next_at, @remaining, @cancels, @last, @fired)
  AS t (id, version, cursor, next_at, remaining, cancels, last, fired)
WHERE s.id = t.id;

-- Removes old runs of schedules.
-- name: schedule_runs_trim
-- params: @ids bigint[], @kept int, @asked_before bigint
DELETE FROM {schema}.schedule_run r USING unnest(@ids) AS s (id) WHERE {{may_go}};

-- name: schedule_runs
-- params: @namespace text, @name text, @before bigint, @before_manual bigint, @limit int
SELECT r.nominal, r.manual, r.at, r.state, r.job FROM (
  SELECT s.id FROM {schema}.schedule s WHERE s.namespace = @namespace AND s.name = @name OFFSET 0
) s
CROSS JOIN LATERAL (
  SELECT a.* FROM {schema}.schedule_run a WHERE a.schedule = s.id AND (a.nominal, a.manual) < (@before, @before_manual)
  ORDER BY a.nominal DESC, a.manual DESC LIMIT @limit
) r ORDER BY r.nominal DESC, r.manual DESC;

-- For a copy into another database.

-- name: copy_schedule_sums
SELECT count(*), coalesce(sum(s.version - s.created_at), 0)::bigint,
  (SELECT count(*) FROM {schema}.schedule_run r JOIN {schema}.schedule a ON a.id = r.schedule) FROM {schema}.schedule s;

-- Those that begin within so many bytes.
-- name: copy_schedules
-- params: @namespace text, @name text, @limit int, @bytes bigint
SELECT {{schedule_columns}} FROM (
  SELECT b.*, sum(octet_length(b.settings)) OVER by_name - octet_length(b.settings) AS before FROM (
    SELECT * FROM {schema}.schedule a WHERE (a.namespace, a.name) > (@namespace, @name) ORDER BY a.namespace, a.name LIMIT @limit
  ) b WINDOW by_name AS (ORDER BY b.namespace, b.name)
) s WHERE s.before = 0 OR s.before < @bytes ORDER BY s.namespace, s.name;

-- name: copy_runs
-- params: @schedule bigint, @nominal bigint, @manual bigint, @limit int
SELECT r.schedule, s.namespace, s.name, r.nominal, r.manual, r.at, r.state, r.job
FROM (SELECT * FROM {schema}.schedule_run a WHERE (a.schedule, a.nominal, a.manual) > (@schedule, @nominal, @manual)
  ORDER BY a.schedule, a.nominal, a.manual LIMIT @limit) r
CROSS JOIN LATERAL (SELECT a.namespace, a.name FROM {schema}.schedule a WHERE a.id = r.schedule OFFSET 0) s
ORDER BY r.schedule, r.nominal, r.manual;

-- name: copy_schedules_put
-- params: @rows text
INSERT INTO {schema}.schedule (namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  version, last, fired, created_at, updated_at)
SELECT namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  version, last, fired, created_at, updated_at FROM json_to_recordset(@rows::json)
  AS t (namespace text, name text, settings text, declared text, paused_at bigint, paused_by text, note text, cursor bigint,
    next_at bigint, remaining bigint, cancels uuid, version bigint, last uuid, fired bigint, created_at bigint, updated_at bigint)
ON CONFLICT (namespace, name) DO UPDATE SET settings = excluded.settings, declared = excluded.declared, paused_at = excluded.paused_at,
  paused_by = excluded.paused_by, note = excluded.note, cursor = excluded.cursor, next_at = excluded.next_at,
  remaining = excluded.remaining, cancels = excluded.cancels, version = excluded.version, last = excluded.last, fired = excluded.fired,
  created_at = excluded.created_at, updated_at = excluded.updated_at;

-- name: copy_runs_put
-- params: @rows text
INSERT INTO {schema}.schedule_run (schedule, nominal, manual, at, state, job)
SELECT s.id, t.nominal, t.manual, t.at, t.state, t.job FROM json_to_recordset(@rows::json)
  AS t (namespace text, name text, nominal bigint, manual bigint, at bigint, state smallint, job uuid)
CROSS JOIN LATERAL (
  SELECT a.id FROM {schema}.schedule a WHERE a.namespace = t.namespace AND a.name = t.name OFFSET 0
) s
ON CONFLICT DO NOTHING;
