-- Children. The policy is marks >> 3 & 3; 1 is that of children that go on.

-- name: children_has
SELECT 1 FROM holdfast_job j
WHERE j.parent = ? AND j.marks >> 3 & 3 <> 1 AND NOT EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = j.id) LIMIT 1;

-- name: children_page
SELECT id, lane, tags FROM holdfast_job WHERE parent = ? AND id < ? ORDER BY id DESC LIMIT ? + 0;

-- Those that were asked to end need not be asked again.
-- name: children_unfinished
SELECT j.id, j.marks >> 3 & 3 FROM holdfast_job j
WHERE j.parent = ? AND j.id > ? AND j.marks >> 3 & 3 <> 1 AND NOT EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = j.id)
  AND (j.marks >> 3 & 3 = 2 OR NOT EXISTS (SELECT 1 FROM holdfast_cancel_request r WHERE r.id = j.id))
ORDER BY j.id LIMIT ? + 0;

-- name: closed_put
INSERT INTO holdfast_closed_parent (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET closed = NULL;

-- name: closed
SELECT id, closed FROM holdfast_closed_parent ORDER BY id LIMIT ? + 0;

-- name: closed_until
UPDATE holdfast_closed_parent SET closed = ? WHERE id = ?;

-- name: closed_delete
DELETE FROM holdfast_closed_parent WHERE id = ?;
