-- What the clock asks for, and counts.

-- name: next_due
SELECT due FROM holdfast_deferred ORDER BY due, id LIMIT 1;

-- name: due
SELECT due, id, lane, ordering_key FROM holdfast_deferred WHERE due <= ? ORDER BY due, id LIMIT ? + 0;

-- name: due_take
DELETE FROM holdfast_deferred WHERE (due, id) <= (?, ?);

-- name: expired
SELECT id, finished_at FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = ? AND finished_at <= ?
  AND NOT EXISTS (SELECT 1 FROM holdfast_edge e WHERE e.predecessor = holdfast_finished.id AND e.told IS NOT holdfast_finished.state)
  AND NOT (state = {failed} AND EXISTS (
    SELECT 1 FROM holdfast_job j CROSS JOIN holdfast_lane l ON l.id = j.lane
      CROSS JOIN holdfast_key_holder k ON k.queue = l.queue AND k.ordering_key = j.ordering_key
    WHERE j.id = holdfast_finished.id AND j.ordering_key IS NOT NULL AND k.id = holdfast_finished.id))
  AND NOT (EXISTS (SELECT 1 FROM holdfast_batch WHERE done_at IS NULL) AND EXISTS (
    SELECT 1 FROM holdfast_job j CROSS JOIN holdfast_batch b ON b.id = j.parent
    WHERE j.id = holdfast_finished.id AND j.marks & {mark_member} <> 0 AND b.done_at IS NULL))
ORDER BY state, finished_at LIMIT ? + 0;

-- name: retain_unique_key
-- params: @job, @same_job
DELETE FROM holdfast_unique_key
WHERE key = (SELECT unique_key FROM holdfast_job WHERE id = @job) AND id = @same_job;

-- name: retain_attempts
DELETE FROM holdfast_attempt WHERE id = ?;

-- name: retain_checkpoint
DELETE FROM holdfast_checkpoint WHERE id = ?;

-- name: retain_journal
DELETE FROM holdfast_journal WHERE id = ?;

-- name: retain_inbox
DELETE FROM holdfast_inbox WHERE id = ?;

-- name: audit_gone
UPDATE holdfast_audit SET gone = 1 WHERE job = ?;

-- name: audit_over
SELECT 1 FROM holdfast_audit INDEXED BY holdfast_audit_over
WHERE (job IS NULL OR gone IS NOT NULL) AND at <= ? LIMIT 1;

-- name: audit_over_delete
DELETE FROM holdfast_audit WHERE seq IN (
  SELECT seq FROM holdfast_audit INDEXED BY holdfast_audit_over
  WHERE (job IS NULL OR gone IS NOT NULL) AND at <= ? ORDER BY at LIMIT ? + 0);

-- Lanes that were not used since a day, and those of a day that has not come: the clock was set
-- back.
-- name: lanes_unused
-- params: @until_day, @after_day, @limit
SELECT * FROM (
  SELECT id, queue, used_on FROM holdfast_lane INDEXED BY holdfast_lane_used WHERE idle_since IS NULL AND used_on <= @until_day
  UNION ALL
  SELECT id, queue, used_on FROM holdfast_lane INDEXED BY holdfast_lane_used WHERE idle_since IS NULL AND used_on > @after_day
) LIMIT @limit + 0;

-- name: lane_in_use
-- params: @lane_1, @lane_2, @lane_3, @lane_4, @queue
SELECT 1 WHERE EXISTS (SELECT 1 FROM holdfast_ready WHERE lane = @lane_1)
  OR EXISTS (SELECT 1 FROM holdfast_deferred WHERE lane = @lane_2)
  OR EXISTS (SELECT 1 FROM holdfast_finished INDEXED BY holdfast_finished_lane WHERE state > {completed} AND lane = @lane_3)
  OR EXISTS (SELECT 1 FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane = @lane_4)
  OR EXISTS (SELECT 1 FROM holdfast_keyed WHERE queue = @queue);

-- name: lane_idle
UPDATE holdfast_lane SET idle_since = ? WHERE id = ?;

-- name: lanes_over
SELECT id FROM holdfast_lane INDEXED BY holdfast_lane_idle WHERE idle_since < ? LIMIT ? + 0;

-- name: lane_delete
DELETE FROM holdfast_lane WHERE id = ?;

-- name: completed_first
SELECT finished_at FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = {completed} ORDER BY finished_at LIMIT 1;

-- name: completed_last
SELECT finished_at FROM holdfast_finished INDEXED BY holdfast_finished_by_time
WHERE state = {completed} ORDER BY finished_at DESC LIMIT 1;

-- name: queues_page
-- params: @now, @created_before, @after, @limit
SELECT q.id, q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now AND q.attempts IS NULL AND q.created_at <= @created_before
  AND NOT EXISTS (SELECT 1 FROM holdfast_lane l WHERE l.queue = q.id)
FROM holdfast_queue q WHERE q.id > @after ORDER BY q.id LIMIT @limit + 0;

-- name: queue_delete
DELETE FROM holdfast_queue WHERE id = ?;

-- name: ready_count
SELECT count(*) FROM (SELECT 1 FROM holdfast_ready WHERE lane = ? LIMIT ? + 0);

-- name: ready_oldest
SELECT run_at FROM holdfast_ready WHERE lane = ? ORDER BY run_at, id LIMIT 1;

-- name: keyed_page
SELECT run_at, id FROM holdfast_keyed WHERE queue = ? LIMIT ? + 0;

-- name: deferred_count
SELECT count(*) FROM (
  SELECT 1 FROM holdfast_deferred INDEXED BY holdfast_deferred_lane WHERE lane = ? AND state = ? LIMIT ? + 0);
