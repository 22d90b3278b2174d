-- Schedules.

-- fragment: schedule_columns
id, namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels, version, last, fired,
  created_at, updated_at

-- name: schedule
SELECT {{schedule_columns}}
FROM holdfast_schedule WHERE namespace = ? AND name = ?;

-- name: schedules
-- params: @any_namespace, @namespace, @any_name, @name, @after_namespace, @after_name, @limit
SELECT {{schedule_columns}}
FROM holdfast_schedule INDEXED BY holdfast_schedule_name
WHERE (@any_namespace OR namespace = @namespace) AND (@any_name OR name = @name)
  AND (namespace, name) > (@after_namespace, @after_name)
ORDER BY namespace, name LIMIT @limit + 0;

-- Those that are due, by time, also paused ones that have a job to be asked to stop. Where many
-- have one time their order is that of the index.
-- name: schedules_due
SELECT {{schedule_columns}}
FROM holdfast_schedule INDEXED BY holdfast_schedule_due
WHERE next_at <= ? AND (paused_at IS NULL OR cancels IS NOT NULL) ORDER BY next_at LIMIT ? + 0;

-- name: schedules_next
SELECT next_at FROM holdfast_schedule INDEXED BY holdfast_schedule_due
WHERE next_at > ? AND (paused_at IS NULL OR cancels IS NOT NULL) ORDER BY next_at LIMIT 1;

-- name: schedule_insert
-- params: @namespace, @name, @settings, @declared, @paused_at, @paused_by, @note, @cursor, @next_at, @remaining, @cancels, @now, @same_now, @first_version
INSERT INTO holdfast_schedule (namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  created_at, updated_at, version, fired)
VALUES (@namespace, @name, @settings, @declared, @paused_at, @paused_by, @note, @cursor, @next_at, @remaining, @cancels, @now, @same_now, @first_version, 0);

-- name: schedule_update
-- params: @settings, @declared, @paused_at, @paused_by, @note, @cursor, @next_at, @remaining, @cancels, @now, @id
UPDATE holdfast_schedule SET settings = @settings, declared = @declared, paused_at = @paused_at, paused_by = @paused_by, note = @note,
  cursor = @cursor, next_at = @next_at, remaining = @remaining, cancels = @cancels, updated_at = @now, version = version + 1
WHERE id = @id;

-- name: schedule_delete
DELETE FROM holdfast_schedule WHERE id = ?;

-- name: schedule_runs_delete
DELETE FROM holdfast_schedule_run WHERE schedule = ?;

-- name: schedule_fired
-- params: @cursor, @next_at, @remaining, @cancels, @last, @fired, @id
UPDATE holdfast_schedule SET cursor = @cursor, next_at = @next_at, remaining = @remaining, cancels = @cancels, last = @last, fired = @fired,
  version = version + 1
WHERE id = @id;

-- name: schedule_run_insert
INSERT OR IGNORE INTO holdfast_schedule_run (schedule, nominal, manual, at, state, job) VALUES (?, ?, ?, ?, ?, ?);

-- name: schedule_runs
-- params: @schedule, @before, @before_manual, @limit
SELECT nominal, manual, at, state, job FROM holdfast_schedule_run
WHERE schedule = @schedule AND (nominal, manual) < (@before, @before_manual) ORDER BY nominal DESC, manual DESC LIMIT @limit + 0;

-- Runs that were decided before the last so many; those that a person asked for not before a time,
-- since asking again must find them.
-- name: schedule_runs_trim
-- params: @asked_before, @schedule, @same_schedule, @kept
DELETE FROM holdfast_schedule_run WHERE (manual = 0 OR at < @asked_before) AND schedule = @schedule AND at < (
  SELECT at FROM holdfast_schedule_run WHERE schedule = @same_schedule ORDER BY at DESC LIMIT 1 OFFSET @kept + 0);

-- For a copy into another database.

-- name: copy_schedule_sums
SELECT count(*), coalesce(sum(s.version - s.created_at), 0),
  (SELECT count(*) FROM holdfast_schedule_run r JOIN holdfast_schedule a ON a.id = r.schedule) FROM holdfast_schedule s;

-- name: copy_schedules
-- params: @namespace, @name, @limit
SELECT {{schedule_columns}}
FROM holdfast_schedule WHERE (namespace, name) > (@namespace, @name) ORDER BY namespace, name LIMIT @limit + 0;

-- name: copy_runs
-- params: @schedule, @nominal, @manual, @limit
SELECT r.schedule, s.namespace, s.name, r.nominal, r.manual, r.at, r.state, r.job
FROM holdfast_schedule_run r CROSS JOIN holdfast_schedule s ON s.id = r.schedule
WHERE (r.schedule, r.nominal, r.manual) > (@schedule, @nominal, @manual) ORDER BY r.schedule, r.nominal, r.manual LIMIT @limit + 0;

-- name: copy_schedule_put
INSERT INTO holdfast_schedule (namespace, name, settings, declared, paused_at, paused_by, note, cursor, next_at, remaining, cancels,
  version, last, fired, created_at, updated_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, name) DO UPDATE SET settings = excluded.settings, declared = excluded.declared, paused_at = excluded.paused_at,
  paused_by = excluded.paused_by, note = excluded.note, cursor = excluded.cursor, next_at = excluded.next_at,
  remaining = excluded.remaining, cancels = excluded.cancels, version = excluded.version, last = excluded.last, fired = excluded.fired,
  created_at = excluded.created_at, updated_at = excluded.updated_at;

-- name: copy_run_put
-- params: @nominal, @manual, @at, @state, @job, @namespace, @name
INSERT OR IGNORE INTO holdfast_schedule_run (schedule, nominal, manual, at, state, job)
SELECT id, @nominal, @manual, @at, @state, @job FROM holdfast_schedule WHERE namespace = @namespace AND name = @name;
