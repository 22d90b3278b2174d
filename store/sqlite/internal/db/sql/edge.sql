-- Jobs that come after others.

-- name: edge_put
INSERT INTO holdfast_edge (predecessor, successor, policy) VALUES (?, ?, ?)
ON CONFLICT (predecessor, successor) DO UPDATE SET policy = excluded.policy, told = NULL;

-- As another database knows it.
-- name: edge_import
INSERT OR IGNORE INTO holdfast_edge (predecessor, successor, policy, told) VALUES (?, ?, ?, ?);

-- name: edges_of
SELECT predecessor, policy, told FROM holdfast_edge INDEXED BY holdfast_edge_successor WHERE successor = ? ORDER BY predecessor;

-- name: edge_left
SELECT 1 FROM holdfast_edge INDEXED BY holdfast_edge_successor WHERE successor = ? LIMIT 1;

-- Those whose successor does not know yet how the predecessor has ended.
-- name: edges_untold
-- params: @predecessor, @state, @limit
SELECT successor, policy FROM holdfast_edge
WHERE predecessor = @predecessor AND told IS NOT @state ORDER BY successor LIMIT @limit + 0;

-- name: edge_told
UPDATE holdfast_edge SET told = ? WHERE predecessor = ? AND successor = ?;

-- name: edge_delete
DELETE FROM holdfast_edge WHERE predecessor = ? AND successor = ?;

-- name: edges_delete
DELETE FROM holdfast_edge WHERE successor = ?;

-- Whether a job waits for another one, or for one that does, and so on.
-- name: edge_cycle
-- params: @job, @other
WITH RECURSIVE above (id) AS (
  SELECT @job UNION SELECT e.predecessor FROM above a CROSS JOIN holdfast_edge e INDEXED BY holdfast_edge_successor ON e.successor = a.id
)
SELECT 1 FROM above WHERE id = @other LIMIT 1;

-- name: edge_check_put
INSERT OR IGNORE INTO holdfast_edge_check (predecessor) VALUES (?);

-- name: edge_check_delete
DELETE FROM holdfast_edge_check WHERE predecessor = ?;

-- name: edge_check_any
SELECT 1 FROM holdfast_edge_check LIMIT 1;

-- Predecessors that have finished, or are not there any more.
-- name: edge_checks_over
SELECT c.predecessor FROM holdfast_edge_check c
WHERE EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = c.predecessor)
  OR NOT EXISTS (SELECT 1 FROM holdfast_job j WHERE j.id = c.predecessor)
ORDER BY c.predecessor LIMIT ? + 0;

-- Those that have a pointer: they were put back.
-- name: edge_checks_back
SELECT c.predecessor FROM holdfast_edge_check c CROSS JOIN holdfast_job j ON j.id = c.predecessor
WHERE EXISTS (SELECT 1 FROM holdfast_ready r WHERE r.lane = j.lane AND r.run_at = j.run_at AND r.id = j.id)
  OR EXISTS (SELECT 1 FROM holdfast_deferred d WHERE d.due IN (j.run_at, {never}) AND d.id = j.id)
  OR j.ordering_key IS NOT NULL AND EXISTS (
    SELECT 1 FROM holdfast_lane l CROSS JOIN holdfast_keyed k ON k.queue = l.queue AND k.ordering_key = j.ordering_key
      AND k.priority = l.priority AND k.run_at = j.run_at AND k.id = j.id
    WHERE l.id = j.lane
  )
ORDER BY c.predecessor LIMIT ? + 0;

-- name: job_mark_successors
UPDATE holdfast_job SET marks = coalesce(marks, 0) | {mark_successors}
WHERE id = ? AND coalesce(marks, 0) & {mark_successors} = 0;
