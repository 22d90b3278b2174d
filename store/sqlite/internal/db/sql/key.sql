-- Business keys.

-- Who has a key: a job that is unfinished, or one that keeps it; held tells that. If no job holds
-- it this is the last one that did. One that was removed has no run time. One that keeps nothing
-- holds nothing when it has finished, whatever the clock says: that of the process which finished
-- it may be ahead.
-- name: key_row
-- params: @now, @namespace, @kind, @key
SELECT k.id, k.args, j.run_at,
  k.keep < 0 OR j.run_at IS NOT NULL AND f.finished_at IS NULL OR k.keep > 0 AND coalesce(k.until, f.finished_at + k.keep, 0) > @now
FROM holdfast_job_key k
LEFT JOIN holdfast_job j ON j.id = k.id
LEFT JOIN holdfast_finished f ON f.id = k.id
WHERE k.namespace = @namespace AND k.kind = @kind AND k.key = @key;

-- name: key_take
INSERT INTO holdfast_job_key (namespace, kind, key, id, keep, args) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, kind, key) DO UPDATE
SET id = excluded.id, keep = excluded.keep, until = NULL, args = excluded.args;

-- A job that is removed now: its key goes, unless it is kept.
-- name: key_leave
DELETE FROM holdfast_job_key WHERE id = ? AND until IS NULL AND keep = 0;

-- One that a person deletes: its key goes, whether or not it is kept.
-- name: key_free
DELETE FROM holdfast_job_key WHERE id = ? AND until IS NULL;

-- name: key_keep
-- params: @job, @same_job
UPDATE holdfast_job_key SET until = CASE WHEN keep < 0 THEN {never}
  ELSE (SELECT f.finished_at FROM holdfast_finished f WHERE f.id = @job) + keep END
WHERE id = @same_job AND until IS NULL;

-- name: keys_over
SELECT 1 FROM holdfast_job_key INDEXED BY holdfast_job_key_until WHERE until < {never} AND until <= ? LIMIT 1;

-- name: keys_over_delete
DELETE FROM holdfast_job_key WHERE (namespace, kind, key) IN (
  SELECT namespace, kind, key FROM holdfast_job_key INDEXED BY holdfast_job_key_until
  WHERE until < {never} AND until <= ? ORDER BY until LIMIT ? + 0);

-- name: key_sent
SELECT s.job, s.seq, s.differs, j.run_at FROM holdfast_key_sent s LEFT JOIN holdfast_job j ON j.id = s.job WHERE s.id = ? AND s.namespace = ?;

-- name: key_sent_insert
INSERT INTO holdfast_key_sent (id, namespace, job, seq, at, differs) VALUES (?, ?, ?, ?, ?, ?);

-- name: key_sent_over
SELECT 1 FROM holdfast_key_sent INDEXED BY holdfast_key_sent_at WHERE at <= ? LIMIT 1;

-- name: key_sent_over_delete
DELETE FROM holdfast_key_sent WHERE (id, namespace) IN (
  SELECT id, namespace FROM holdfast_key_sent INDEXED BY holdfast_key_sent_at WHERE at <= ? ORDER BY at LIMIT ? + 0);
