-- Children of jobs that have finished.

-- What is to be closed: $1 limit. A row for each child that has not finished, was not asked to, and is not to be left alone, with its
-- policy; one without a child for a parent that has none left. Tells of each parent whether it is finished still, or removed.
-- name: children_to_close
SELECT n.id, n.at,
  EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = n.id OFFSET 0) OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = n.id OFFSET 0),
  c.id, c.policy
FROM (SELECT p.id, p.at, p.after FROM {schema}.closed_parent p ORDER BY p.id LIMIT $1::int) n
LEFT JOIN LATERAL (
  SELECT j.id, j.link & 3 AS policy FROM {schema}.job j
  WHERE j.parent = n.id AND j.id > coalesce(n.after, '00000000-0000-0000-0000-000000000000') AND j.link & 3 <> 1
    AND NOT EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = j.id OFFSET 0)
    AND NOT (j.link & 3 = 0 AND EXISTS (SELECT 1 FROM {schema}.cancel_request q WHERE q.id = j.id OFFSET 0))
  ORDER BY j.id LIMIT $1::int
) c ON true
ORDER BY n.id, c.id LIMIT $1::int;

-- The parents that jobs, $1, answer when they end.
-- name: parents_of
SELECT j.id, j.parent FROM unnest($1::uuid[]) AS t (id)
CROSS JOIN LATERAL (SELECT a.id, a.parent FROM {schema}.job a WHERE a.id = t.id AND a.link & 4 <> 0 OFFSET 0) j;

-- Notes of those of the jobs $1 that have finished that their children are to be closed. $2 now.
-- name: close_children
INSERT INTO {schema}.closed_parent (id, at)
SELECT t.id, $2::bigint FROM unnest($1::uuid[]) AS t (id) WHERE EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = t.id OFFSET 0) ORDER BY t.id
ON CONFLICT (id) DO UPDATE SET at = excluded.at, after = NULL;

-- Parents whose children are closed: $1 ids, $2 when they were noted. One that has finished anew since is noted anew.
-- name: parents_closed
DELETE FROM {schema}.closed_parent p USING unnest($1::uuid[], $2::bigint[]) AS t (id, at) WHERE p.id = t.id AND p.at = t.at;

-- One that has more children: $1 id, $2 when it was noted, $3 the last child that was closed.
-- name: parent_closing
UPDATE {schema}.closed_parent SET after = $3::uuid WHERE id = $1::uuid AND at = $2::bigint;

-- The newest children of $5, for lists: as list_scan.
-- name: list_children
SELECT id, fits FROM (
  SELECT s.id, ($3::int[] IS NULL OR s.lane = ANY ($3::int[])) AND ($4::jsonb IS NULL OR coalesce(s.tags @> $4::jsonb, false)) AS fits,
    row_number() OVER (ORDER BY s.id) AS from_end
  FROM (SELECT j.id, j.lane, j.tags FROM {schema}.job j WHERE j.parent = $5::uuid AND j.id < $1::uuid ORDER BY j.id DESC LIMIT $2::int) s
) t WHERE fits OR from_end = 1 ORDER BY id DESC;
