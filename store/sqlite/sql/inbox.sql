-- What is sent to jobs.

-- All that a message needs to know of the job that it is for: where its pointer is if it waits, how it waits, how it
-- ended, and the last message that it has.
-- name: addressee
SELECT j.lane, j.run_at, j.ordering_key, f.state, (SELECT max(i.seq) FROM holdfast_inbox i WHERE i.id = j.id),
  d.held, d.seen, d.kinds, d.awaited, d.failures
FROM holdfast_job j
LEFT JOIN holdfast_finished f ON f.id = j.id
LEFT JOIN holdfast_deferred d ON d.due = j.run_at AND d.id = j.id AND d.state = 5
WHERE j.id = ?;

-- name: inbox_insert
INSERT INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: inbox_key
SELECT seq FROM holdfast_inbox WHERE id = ? AND key = ? AND key IS NOT NULL;

-- name: callback_opened
SELECT 1 FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN (8, 12, 13) AND id = ? AND kind = 8 AND name = ? LIMIT 1;

-- name: callback_answered
SELECT 1 FROM holdfast_inbox INDEXED BY holdfast_inbox_answer WHERE kind IN (2, 3) AND id = ? AND name = ? LIMIT 1;

-- name: inbox
SELECT seq, kind, name, data, codec, error, from_id, state, reason, at FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq LIMIT ? + 0;

-- name: inbox_count
SELECT count(*) FROM holdfast_inbox WHERE id = ?;

-- What a wait looks at.
-- name: inbox_after
SELECT seq, kind, state FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq;

-- Only signals that no entry has received outlive a run that continues as new.
-- name: inbox_forget
DELETE FROM holdfast_inbox WHERE id = ? AND (kind <> 1 OR seq IN (
  SELECT e.ref FROM holdfast_journal e WHERE e.id = ? AND e.kind = 6 AND e.ref IS NOT NULL));

-- name: inbox_renumber
UPDATE holdfast_inbox SET seq = ? WHERE id = ? AND seq = ?;

-- What a fork knows of: what children and callbacks sent, and what the entries that it keeps have received.
-- name: inbox_copy
INSERT INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason)
SELECT ?, i.seq, i.at, i.kind, i.name, i.key, i.codec, i.data, i.error, i.from_id, i.state, i.reason FROM holdfast_inbox i
WHERE i.id = ? AND (i.kind <> 1 OR i.seq IN (
  SELECT e.ref FROM holdfast_journal e WHERE e.id = ? AND e.seq <= ? AND e.kind = 6 AND e.ref IS NOT NULL));
