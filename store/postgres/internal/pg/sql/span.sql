-- Spans: in which buckets of ids a lane has bodies. See the table lane_span, and list.sql.

-- The next spans after one that begin before a bucket, of some lanes, each found from the one
-- before it; and the last of these lanes, without a bucket, if there are more.
-- name: spans_old
-- params: @lane int, @bucket bigint, @before bigint, @most_lanes int, @limit int
WITH RECURSIVE lanes (id, n) AS (
  (SELECT a.lane, 1 FROM {schema}.lane_span a WHERE a.lane >= @lane ORDER BY a.lane LIMIT 1)
  UNION ALL
  SELECT h.lane, l.n + 1 FROM lanes l CROSS JOIN LATERAL (
    SELECT a.lane FROM {schema}.lane_span a WHERE a.lane > l.id ORDER BY a.lane LIMIT 1
  ) h WHERE l.n < @most_lanes
), old AS MATERIALIZED (
  SELECT s.lane, s.bucket FROM lanes l CROSS JOIN LATERAL (
    SELECT a.lane, a.bucket FROM {schema}.lane_span a
    WHERE a.lane = l.id AND a.bucket < @before AND (a.lane, a.bucket) > (@lane, @bucket) ORDER BY a.bucket LIMIT @limit
  ) s LIMIT @limit
)
SELECT lane, bucket FROM old
UNION ALL
SELECT id, NULL FROM lanes WHERE n = @most_lanes;

-- Those of the spans in which the lane has no body go, by one look at both: what is written now has
-- its own span, since these are old.
-- name: spans_remove
-- params: @lanes int[], @buckets bigint[], @least uuid[], @below uuid[]
DELETE FROM {schema}.lane_span s USING unnest(@lanes, @buckets, @least, @below) AS t (lane, bucket, least, below)
WHERE s.lane = t.lane AND s.bucket = t.bucket AND NOT EXISTS (
  SELECT 1 FROM {schema}.job j WHERE j.id >= t.least AND j.id < t.below AND j.lane = t.lane OFFSET 0
) RETURNING s.lane;
