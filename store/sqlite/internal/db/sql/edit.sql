-- What people, and runs, change of a job.

-- name: job_set_tags
UPDATE holdfast_job SET tags = ? WHERE id = ?;

-- name: job_set_metadata
UPDATE holdfast_job SET metadata = ? WHERE id = ?;

-- name: job_set_args
UPDATE holdfast_job SET args = ?, codec = ? WHERE id = ?;

-- name: job_set_place
UPDATE holdfast_job SET lane = ?, run_at = ?, max_attempts = ?, options = ? WHERE id = ?;

-- A job that waits stays what it is.
-- name: wait_move
-- params: @to_due, @lane, @due, @job
UPDATE holdfast_deferred SET due = @to_due, lane = @lane WHERE due = @due AND id = @job;

-- What a held job waits for.
-- name: wait_relabel
UPDATE holdfast_deferred SET wait = ? WHERE due = ? AND id = ?;

-- A child that is not finished, whatever becomes of it.
-- name: child_unfinished
SELECT j.id FROM holdfast_job j INDEXED BY holdfast_job_parent
WHERE j.parent = ? AND NOT EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = j.id) LIMIT 1;
