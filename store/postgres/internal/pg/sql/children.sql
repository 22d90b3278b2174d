-- Children of jobs that have finished.

-- What is to be closed: a row for each child that has not finished, was not asked to, and is not to
-- be left alone, with its policy; and one without a child for a parent that has none left. Begins
-- with the first parent after @after. Tells of each parent whether it is finished still, or
-- removed.
-- name: children_to_close
-- params: @after uuid, @limit int
SELECT n.id, n.at,
  EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = n.id OFFSET 0)
    OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = n.id OFFSET 0),
  c.id, c.policy
FROM (SELECT p.id, p.at, p.after FROM {schema}.closed_parent p WHERE p.id > @after ORDER BY p.id LIMIT @limit) n
LEFT JOIN LATERAL (
  SELECT j.id, j.link & {policy_bits} AS policy FROM {schema}.job j
  WHERE j.parent = n.id AND j.id > coalesce(n.after, '00000000-0000-0000-0000-000000000000') AND j.link & {policy_bits} <> {abandon_child}
    AND NOT EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = j.id OFFSET 0)
    AND NOT (j.link & {policy_bits} <> {terminate_child}
      AND EXISTS (SELECT 1 FROM {schema}.cancel_request q WHERE q.id = j.id OFFSET 0))
  ORDER BY j.id LIMIT @limit
) c ON true
ORDER BY n.id, c.id LIMIT @limit;

-- The parents that jobs answer when they end.
-- name: parents_of
-- params: @jobs uuid[]
SELECT j.id, j.parent FROM unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT a.id, a.parent FROM {schema}.job a WHERE a.id = t.id AND a.link & {answers} <> 0 OFFSET 0) j;

-- Notes of those of the jobs that have finished that their children are to be closed.
-- name: close_children
-- params: @jobs uuid[], @now bigint
INSERT INTO {schema}.closed_parent (id, at)
SELECT t.id, @now FROM unnest(@jobs) AS t (id) WHERE EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = t.id OFFSET 0) ORDER BY t.id
ON CONFLICT (id) DO UPDATE SET at = excluded.at, after = NULL;

-- Parents whose children are closed. One that has finished again since it was noted stays, and one
-- that a caller's transaction lets run again.
-- name: parents_closed
-- params: @jobs uuid[], @noted_at bigint[]
WITH closed AS MATERIALIZED (
  SELECT c.place FROM unnest(@jobs, @noted_at) AS t (id, at) CROSS JOIN LATERAL (
    SELECT p.ctid AS place FROM {schema}.closed_parent p WHERE p.id = t.id AND p.at = t.at FOR UPDATE SKIP LOCKED
  ) c
)
DELETE FROM {schema}.closed_parent WHERE ctid = ANY (ARRAY(SELECT place FROM closed));

-- One that has more children than were closed: @after is the last that was. Answers with it, unless
-- a caller's transaction lets it run again, or it has finished again.
-- name: parent_closing
-- params: @job uuid, @noted_at bigint, @after uuid
UPDATE {schema}.closed_parent SET after = @after WHERE ctid = ANY (ARRAY(
  SELECT p.ctid FROM {schema}.closed_parent p WHERE p.id = @job AND p.at = @noted_at FOR UPDATE SKIP LOCKED
)) RETURNING id;
