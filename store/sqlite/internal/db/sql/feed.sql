-- The feed of changes.

-- No row: the feed is off.
-- name: feed_status
SELECT CAST(m.value AS INTEGER), coalesce((SELECT f.first - 1 FROM holdfast_feed f ORDER BY f.first LIMIT 1), 0),
  coalesce((SELECT f.first + f.n - 1 FROM holdfast_feed f ORDER BY f.first DESC LIMIT 1), 0)
FROM holdfast_meta m WHERE m.name = 'feed';

-- name: feed_live
INSERT INTO holdfast_meta (name, value) VALUES ('feed', CAST(? AS TEXT));

-- name: feed_end
DELETE FROM holdfast_meta WHERE name = 'feed';

-- name: feed_empty
DELETE FROM holdfast_feed;

-- name: feed_put
INSERT INTO holdfast_feed (first, n, at, states, ids, reasons) VALUES (?, ?, ?, ?, ?, ?);

-- The rows that have changes between two positions.
-- name: feed_page
-- params: @from, @to
SELECT first, n, at, states, ids, reasons FROM holdfast_feed
WHERE first >= coalesce((SELECT f.first FROM holdfast_feed f WHERE f.first <= @from ORDER BY f.first DESC LIMIT 1), 0)
  AND first <= @to ORDER BY first;

-- name: feed_lane
SELECT lane FROM holdfast_job WHERE id = ?;

-- name: feed_fingerprint
SELECT fingerprint FROM holdfast_finished WHERE id = ? AND state = {failed};

-- The oldest rows, without the newest one, which tells the positions.
-- name: feed_oldest
SELECT first, at FROM holdfast_feed
WHERE first < (SELECT f.first FROM holdfast_feed f ORDER BY f.first DESC LIMIT 1) ORDER BY first LIMIT ? + 0;

-- name: feed_forget
DELETE FROM holdfast_feed WHERE first <= ?;
