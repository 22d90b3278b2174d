-- What is to be removed bit by bit.

-- name: leftover_any
SELECT 1 FROM holdfast_leftover LIMIT 1;

-- name: leftover_due
SELECT id FROM holdfast_leftover WHERE due <= ? LIMIT 1;

-- name: leftover_note
INSERT INTO holdfast_leftover (id, due, maker) VALUES (?, ?, ?)
ON CONFLICT (id) DO UPDATE SET due = excluded.due, maker = excluded.maker;

-- Who copies a fork says so, if no rows are left under its id, and goes on if nobody has taken it
-- from him.
-- name: leftover_begin
INSERT OR IGNORE INTO holdfast_leftover (id, due, maker) VALUES (?, ?, ?);

-- name: leftover_keep
UPDATE holdfast_leftover SET due = ? WHERE id = ? AND maker = ?;

-- name: leftover_take
UPDATE holdfast_leftover SET maker = 0 WHERE id = ? AND maker <> 0;

-- name: leftover_delete
DELETE FROM holdfast_leftover WHERE id = ?;

-- name: leftover_clear
DELETE FROM holdfast_leftover WHERE id = ? AND maker IS NOT NULL;

-- The first rows of a job up to a number, and at most so many.
-- name: leftover_journal
DELETE FROM holdfast_journal WHERE rowid IN (
  SELECT e.rowid FROM holdfast_journal e WHERE e.id = ? AND e.seq <= ? ORDER BY e.seq LIMIT ? + 0);

-- name: leftover_inbox
DELETE FROM holdfast_inbox WHERE rowid IN (
  SELECT i.rowid FROM holdfast_inbox i WHERE i.id = ? AND i.seq <= ? ORDER BY i.seq LIMIT ? + 0);
