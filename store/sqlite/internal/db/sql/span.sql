-- Spans: in which buckets of ids a lane has bodies. See the table holdfast_lane_span.

-- The buckets of a lane, from one to another, in their order.
-- name: spans_newest
SELECT bucket FROM holdfast_lane_span WHERE lane = ? AND bucket >= ? AND bucket <= ? ORDER BY bucket DESC LIMIT ? + 0;

-- name: spans_oldest
SELECT bucket FROM holdfast_lane_span WHERE lane = ? AND bucket >= ? AND bucket <= ? ORDER BY bucket LIMIT ? + 0;

-- name: span_delete
DELETE FROM holdfast_lane_span WHERE lane = ? AND bucket = ?;

-- The first lane after one that has spans.
-- name: span_lane_next
SELECT lane FROM holdfast_lane_span WHERE lane > ? ORDER BY lane LIMIT 1;

-- Whether a lane has a body in a range of ids.
-- name: span_has_body
SELECT 1 FROM holdfast_job WHERE id >= ? AND id < ? AND lane = ? LIMIT 1;
