-- Lists. Ids are from one on, which belongs to a range, to one below which it ends.

-- What is looked at of a job. Nothing of it is behind the payload, but for the parent of a child,
-- or the batch of a member.
-- fragment: facts
j.id, j.lane, j.run_at, j.ordering_key, j.tags, j.parent, j.marks & {mark_member}

-- name: jobs_newest
SELECT {{facts}} FROM holdfast_job j WHERE j.id >= ? AND j.id < ? ORDER BY j.id DESC LIMIT ? + 0;

-- name: jobs_oldest
SELECT {{facts}} FROM holdfast_job j WHERE j.id >= ? AND j.id < ? ORDER BY j.id LIMIT ? + 0;

-- name: children_newest
SELECT {{facts}} FROM holdfast_job j INDEXED BY holdfast_job_parent
WHERE j.parent = ? AND j.id >= ? AND j.id < ? ORDER BY j.id DESC LIMIT ? + 0;

-- name: children_oldest
SELECT {{facts}} FROM holdfast_job j INDEXED BY holdfast_job_parent
WHERE j.parent = ? AND j.id >= ? AND j.id < ? ORDER BY j.id LIMIT ? + 0;

-- name: job_facts
SELECT {{facts}} FROM holdfast_job j WHERE j.id = ?;

-- name: job_documents
SELECT args, codec, metadata FROM holdfast_job WHERE id = ?;

-- name: children_ids
SELECT id FROM holdfast_job INDEXED BY holdfast_job_parent WHERE parent = ? ORDER BY id LIMIT ? + 0;

-- name: end_facts
SELECT state, finished_at, reason FROM holdfast_finished WHERE id = ?;

-- name: not_completed_newest
SELECT id FROM holdfast_finished INDEXED BY holdfast_finished_not_completed
WHERE state > {completed} AND state = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: not_completed_oldest
SELECT id FROM holdfast_finished INDEXED BY holdfast_finished_not_completed
WHERE state > {completed} AND state = ? AND id >= ? AND id < ? ORDER BY id LIMIT ? + 0;

-- The lane is not known of jobs that ended in a program which did not know migration 4 yet.
-- name: not_completed_in_lane
SELECT id, state FROM holdfast_finished INDEXED BY holdfast_finished_lane WHERE state > {completed} AND lane IS ? LIMIT ? + 0;

-- Jobs that finished at one time, and those that did so before it. The index has no ids, so only
-- the former are in the order of theirs.
-- name: ended_at
SELECT finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at = ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: ended_before
SELECT finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at < ? AND finished_at >= ? ORDER BY finished_at DESC LIMIT ? + 0;

-- name: ready_in_lane
SELECT run_at, id FROM holdfast_ready WHERE lane = ? AND (run_at, id) > (?, ?) AND run_at <= ? ORDER BY run_at, id LIMIT ? + 0;

-- name: keyed_in_queue
SELECT run_at, id FROM holdfast_keyed WHERE queue = ? LIMIT ? + 0;

-- What waits for no time is due at the greatest number.
-- name: deferred_in_lane
SELECT due, id FROM holdfast_deferred INDEXED BY holdfast_deferred_lane
WHERE lane = ? AND state = ? AND due >= ? AND due <= ? ORDER BY due, id LIMIT ? + 0;

-- name: deferred_page
SELECT due, id, state FROM holdfast_deferred WHERE (due, id) > (?, ?) ORDER BY due, id LIMIT ? + 0;

-- name: lost_from
SELECT id FROM holdfast_attempt INDEXED BY holdfast_attempt_lost
WHERE taken <> 0 AND node = ? AND {{lost}} LIMIT ? + 0;

-- name: lost_from_has
SELECT 1 FROM holdfast_attempt WHERE taken <> 0 AND node = ? AND id = ? AND {{lost}} LIMIT 1;

-- Whether an attempt that did not end by itself was lost, and not given back or terminated.
-- Programs that did not know migration 13 say it by the reason alone.
-- fragment: lost
(taken = {taken_lost} OR reason IN ('node_lost', 'crash_loop'))

-- name: lanes_all
SELECT l.id, l.queue, q.namespace, q.name, l.kind FROM holdfast_lane l JOIN holdfast_queue q ON q.id = l.queue;
