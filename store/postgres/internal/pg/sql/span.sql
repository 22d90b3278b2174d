-- Spans: in which buckets of ids a lane has bodies. See migration 44, and list.sql.

-- From which id on bodies have theirs; no row: all have. It is locked for who gives them to others.
-- name: spans_lock
SELECT value::uuid FROM {schema}.meta WHERE name = 'spans_from' FOR UPDATE;

-- The last bodies before an id get theirs. Answers how many, and with the first of them.
-- name: spans_fill
-- params: @before uuid, @limit int
WITH bodies AS MATERIALIZED (
  SELECT a.id, a.lane FROM {schema}.job a WHERE a.id < @before ORDER BY a.id DESC LIMIT @limit
), filled AS (
  INSERT INTO {schema}.lane_span (lane, bucket)
  SELECT DISTINCT lane, ('x' || left(encode(uuid_send(id), 'hex'), 11))::bit(44)::bigint FROM bodies
)
SELECT (SELECT count(*) FROM bodies), b.id FROM bodies b ORDER BY b.id LIMIT 1;

-- name: spans_from_set
-- params: @from uuid
UPDATE {schema}.meta SET value = @from::text WHERE name = 'spans_from';

-- name: spans_from_done
DELETE FROM {schema}.meta WHERE name = 'spans_from';

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
