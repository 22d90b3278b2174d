-- Lists. Ids are from one on, which belongs to a range, to one below which it ends.

-- What is looked at of a job. Nothing of it is behind the payload, but for the parent of a child,
-- or the batch of a member.
-- fragment: facts
j.id, j.lane, j.run_at, j.ordering_key, j.tags, j.parent, j.marks & {mark_member}

-- name: jobs_newest
SELECT {{facts}} FROM holdfast_job j WHERE j.id >= ? AND j.id < ? ORDER BY j.id DESC LIMIT ? + 0;

-- name: jobs_oldest
SELECT {{facts}} FROM holdfast_job j WHERE j.id >= ? AND j.id < ? ORDER BY j.id LIMIT ? + 0;

-- name: finished_newest
SELECT id, state FROM holdfast_finished WHERE id >= ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: finished_oldest
SELECT id, state FROM holdfast_finished WHERE id >= ? AND id < ? ORDER BY id LIMIT ? + 0;

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
SELECT state, finished_at, reason, fingerprint FROM holdfast_finished WHERE id = ?;

-- name: not_completed_newest
SELECT id FROM holdfast_finished INDEXED BY holdfast_finished_not_completed
WHERE state > {completed} AND state = ? AND id >= ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: not_completed_oldest
SELECT id FROM holdfast_finished INDEXED BY holdfast_finished_not_completed
WHERE state > {completed} AND state = ? AND id >= ? AND id < ? ORDER BY id LIMIT ? + 0;

-- name: not_completed_in_lane
SELECT id, state FROM holdfast_finished INDEXED BY holdfast_finished_lane WHERE state > {completed} AND lane = ? LIMIT ? + 0;

-- Jobs that finished at one time, and those that did so before it. The index has no ids, so only
-- the former are in the order of theirs.
-- name: ended_at
SELECT finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at = ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- name: ended_before
SELECT finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at < ? AND finished_at >= ? ORDER BY finished_at DESC LIMIT ? + 0;

-- Jobs of a lane that failed, and have a fingerprint, or none: the last ones before a place.
-- name: dead_alike
-- params: @lane, @fingerprint, @before_at, @before_id, @from, @limit
SELECT finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_dead
WHERE state = {failed} AND lane = @lane AND fingerprint IS @fingerprint
  AND (finished_at, id) < (@before_at, @before_id) AND finished_at >= @from
ORDER BY finished_at DESC, id DESC LIMIT @limit + 0;

-- The greatest fingerprint up to one that failed jobs of a lane have, and the last of these.
-- name: dead_next
-- params: @lane, @to
SELECT fingerprint, finished_at, id FROM holdfast_finished INDEXED BY holdfast_finished_dead
WHERE state = {failed} AND lane = @lane AND fingerprint <= @to
ORDER BY fingerprint DESC, finished_at DESC, id DESC LIMIT 1;

-- How many there are, up to a bound, and when the first one failed.
-- name: dead_count
SELECT count(*) FROM (
  SELECT 1 FROM holdfast_finished INDEXED BY holdfast_finished_dead WHERE state = {failed} AND lane = ? AND fingerprint IS ? LIMIT ? + 0
);

-- name: dead_first
SELECT finished_at FROM holdfast_finished INDEXED BY holdfast_finished_dead
WHERE state = {failed} AND lane = ? AND fingerprint IS ? ORDER BY finished_at LIMIT 1;

-- name: dead_said
SELECT reason, error FROM holdfast_finished WHERE id = ?;

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
-- fragment: lost
taken = {taken_lost}

-- name: lanes_all
SELECT l.id, l.queue, q.namespace, q.name, l.kind FROM holdfast_lane l JOIN holdfast_queue q ON q.id = l.queue;

-- The key of a limit that a job has.
-- name: job_limit_key
SELECT lane, options ->> 'limit_key' FROM holdfast_job WHERE id = ?;

-- How many jobs of a key of a limit wait in lanes, which are a JSON list, the newest first. Most of
-- those that do not wait have finished.
-- name: waiting_of_key
-- params: @key, @lanes, @most
SELECT count(*) FROM (
  SELECT 1 FROM holdfast_job j INDEXED BY holdfast_job_limit_key
  WHERE instr(j.options, '"limit_key"') > 0 AND j.options ->> 'limit_key' = @key
    AND NOT EXISTS (SELECT 1 FROM holdfast_finished a WHERE a.id = j.id)
    AND j.lane IN (SELECT value FROM json_each(@lanes))
    AND (
      EXISTS (SELECT 1 FROM holdfast_ready a WHERE a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id)
      OR EXISTS (SELECT 1 FROM holdfast_gated a WHERE a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id)
      OR EXISTS (
        SELECT 1 FROM holdfast_deferred a WHERE a.due = j.run_at AND a.id = j.id AND a.state IN ({scheduled}, {retryable})
      )
      OR j.ordering_key IS NOT NULL AND EXISTS (
        SELECT 1 FROM holdfast_lane l CROSS JOIN holdfast_keyed a
        WHERE l.id = j.lane AND a.queue = l.queue AND a.ordering_key = j.ordering_key AND a.priority = l.priority
          AND a.run_at = j.run_at AND a.id = j.id
      )
    )
  ORDER BY j.id DESC LIMIT @most + 0
);

-- The keys of a queue that a job has the turn of, from after one on, and, of those whose job has
-- failed, since when and how many wait behind it.
-- name: stuck_keys
-- params: @most, @namespace, @queue, @after, @look
SELECT k.ordering_key, k.id, f.id IS NOT NULL, f.finished_at, f.reason, CASE WHEN f.id IS NOT NULL THEN (
  SELECT count(*) FROM (SELECT 1 FROM holdfast_keyed w WHERE w.queue = k.queue AND w.ordering_key = k.ordering_key LIMIT @most + 0)
) END
FROM (
  SELECT h.queue, h.ordering_key, h.id FROM holdfast_key_holder h
  WHERE h.queue = (SELECT q.id FROM holdfast_queue q WHERE q.namespace = @namespace AND q.name = @queue) AND h.ordering_key > @after
  ORDER BY h.ordering_key LIMIT @look + 0
) k LEFT JOIN holdfast_finished f ON f.id = k.id AND f.state = {failed}
ORDER BY k.ordering_key;
