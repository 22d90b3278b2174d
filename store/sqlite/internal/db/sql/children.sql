-- Children.

-- What becomes of a child when its parent finishes: two bits of its marks.
-- fragment: policy
j.marks >> {mark_policy} & {policy_bits}

-- name: children_has
SELECT 1 FROM holdfast_job j
WHERE j.parent = ? AND {{policy}} <> {abandon_child} AND NOT EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = j.id) LIMIT 1;

-- Those that were asked to end need not be asked again.
-- name: children_unfinished
SELECT j.id, {{policy}} FROM holdfast_job j
WHERE j.parent = ? AND j.id > ? AND {{policy}} <> {abandon_child} AND NOT EXISTS (SELECT 1 FROM holdfast_finished f WHERE f.id = j.id)
  AND ({{policy}} = {terminate_child} OR NOT EXISTS (SELECT 1 FROM holdfast_cancel_request r WHERE r.id = j.id))
ORDER BY j.id LIMIT ? + 0;

-- name: closed_put
INSERT INTO holdfast_closed_parent (id) VALUES (?) ON CONFLICT (id) DO UPDATE SET closed = NULL;

-- name: closed
SELECT id, closed FROM holdfast_closed_parent ORDER BY id LIMIT ? + 0;

-- name: closed_until
UPDATE holdfast_closed_parent SET closed = ? WHERE id = ?;

-- name: closed_delete
DELETE FROM holdfast_closed_parent WHERE id = ?;
