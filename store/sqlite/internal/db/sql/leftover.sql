-- What is to be removed bit by bit.

-- name: leftover_any
SELECT 1 FROM holdfast_leftover LIMIT 1;

-- name: leftover_due
SELECT id FROM holdfast_leftover WHERE due <= ? LIMIT 1;

-- name: leftover_note
INSERT INTO holdfast_leftover (id, due, maker, cleared) VALUES (?, ?, ?, ?)
ON CONFLICT (id) DO UPDATE SET due = excluded.due, maker = excluded.maker, cleared = excluded.cleared;

-- How far it is with what a job has forgotten.
-- name: leftover_cleared
SELECT cleared FROM holdfast_leftover WHERE id = ?;

-- Who copies a fork says so, if no rows are left under its id, and goes on if no other has taken
-- it.
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

-- Entries, but for values and items of streams.
-- name: leftover_forget
-- params: @job, @after_seq, @to_seq
DELETE FROM holdfast_journal WHERE id = @job AND seq > @after_seq AND seq <= @to_seq AND kind NOT IN ({kept_entries});

-- The values that later ones have replaced.
-- name: leftover_replaced
-- params: @job, @after_seq, @to_seq, @same_job
DELETE FROM holdfast_journal WHERE rowid IN (
  SELECT o.rowid FROM (
    SELECT e.name, max(e.seq) AS seq FROM holdfast_journal e WHERE e.id = @job AND e.seq > @after_seq AND e.seq <= @to_seq
      AND e.kind = {entry_published} GROUP BY e.name
  ) v CROSS JOIN holdfast_journal o INDEXED BY holdfast_journal_named
  WHERE o.kind IN ({named_entries}) AND o.id = @same_job AND o.kind = {entry_published} AND o.name = v.name AND o.seq < v.seq);

-- The first rows of a job up to a number, and at most so many.
-- name: leftover_journal
DELETE FROM holdfast_journal WHERE rowid IN (
  SELECT e.rowid FROM holdfast_journal e WHERE e.id = ? AND e.seq <= ? ORDER BY e.seq LIMIT ? + 0);

-- name: leftover_inbox
DELETE FROM holdfast_inbox WHERE rowid IN (
  SELECT i.rowid FROM holdfast_inbox i WHERE i.id = ? AND i.seq <= ? ORDER BY i.seq LIMIT ? + 0);
