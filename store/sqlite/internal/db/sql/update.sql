-- Requests to runs. Those without a verdict are open.

-- name: update_insert
INSERT INTO holdfast_job_update (id, key, name, at, codec, data) VALUES (?, ?, ?, ?, ?, ?);

-- name: update_seq
SELECT seq FROM holdfast_job_update WHERE id = ? AND key = ?;

-- name: update
SELECT seq, key, name, at, codec, data, verdict, answered_at, answer_codec, answer, error
FROM holdfast_job_update WHERE id = ? AND key = ?;

-- Of a job that was removed some may be left for a while.
-- name: updates_open
SELECT seq, key, name, at, codec, data FROM holdfast_job_update u INDEXED BY holdfast_job_update_open
WHERE verdict IS NULL AND id = ? AND seq > ? AND EXISTS (SELECT 1 FROM holdfast_job j WHERE j.id = u.id) ORDER BY seq LIMIT ? + 0;

-- name: updates_after
SELECT 1 FROM holdfast_job_update INDEXED BY holdfast_job_update_open WHERE verdict IS NULL AND id = ? AND seq > ? LIMIT 1;

-- The first answer stays.
-- name: update_answer
-- params: @now, @verdict, @codec, @answer, @error, @seq, @job
UPDATE holdfast_job_update SET answered_at = @now, verdict = @verdict, answer_codec = @codec, answer = @answer, error = @error
WHERE seq = @seq AND id = @job AND verdict IS NULL;

-- name: update_forget
DELETE FROM holdfast_job_update WHERE id = ? AND key = ? AND verdict = {update_refused};

-- name: updates_forget_open
DELETE FROM holdfast_job_update WHERE seq IN (
  SELECT u.seq FROM holdfast_job_update u INDEXED BY holdfast_job_update_open WHERE u.verdict IS NULL AND u.id = ?);

-- Those with an answer that entries after one have accepted.
-- name: updates_forget_accepted
-- params: @job, @after_seq, @same_job
DELETE FROM holdfast_job_update WHERE seq IN (
  SELECT e.ref FROM holdfast_journal e WHERE e.id = @job AND e.seq > @after_seq AND e.kind = {entry_updated}
) AND id = @same_job AND verdict IS NOT NULL;

-- name: updates_refused
SELECT 1 FROM holdfast_job_update INDEXED BY holdfast_job_update_refused WHERE verdict = {update_refused} AND answered_at < ? LIMIT 1;

-- name: updates_refused_delete
DELETE FROM holdfast_job_update WHERE seq IN (
  SELECT u.seq FROM holdfast_job_update u INDEXED BY holdfast_job_update_refused
  WHERE u.verdict = {update_refused} AND u.answered_at < ? ORDER BY u.answered_at LIMIT ? + 0);

-- The first requests to a job, up to a number, and at most so many.
-- name: leftover_updates
DELETE FROM holdfast_job_update WHERE seq IN (
  SELECT u.seq FROM holdfast_job_update u INDEXED BY holdfast_job_update_key WHERE u.id = ? AND u.seq <= ? LIMIT ? + 0);

-- name: retain_updates
DELETE FROM holdfast_job_update WHERE id = ?;
