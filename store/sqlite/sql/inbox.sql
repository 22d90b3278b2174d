-- What is sent to jobs.

-- All that a message needs to know of the job that it is for: where its pointer is if it waits, how it waits, how it
-- ended, the last message that it has, and the last that it has forgotten.
-- name: addressee
SELECT j.lane, j.run_at, j.ordering_key, f.state, (SELECT max(i.seq) FROM holdfast_inbox i WHERE i.id = j.id),
  (SELECT e.ref FROM holdfast_journal e INDEXED BY holdfast_journal_continued WHERE e.kind = 16 AND e.id = j.id ORDER BY e.seq DESC LIMIT 1),
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
WHERE kind IN (8, 12, 13) AND id = ? AND kind = 8 AND name = ? AND seq >= ? LIMIT 1;

-- name: callback_answered
SELECT 1 FROM holdfast_inbox INDEXED BY holdfast_inbox_answer WHERE kind IN (2, 3) AND id = ? AND name = ? AND seq > ? LIMIT 1;

-- name: inbox
SELECT seq, kind, name, data, codec, error, from_id, state, reason, at FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq LIMIT ? + 0;

-- name: inbox_count
SELECT count(*) FROM holdfast_inbox WHERE id = ? AND seq > ?;

-- What a wait looks at.
-- name: inbox_after
SELECT seq, kind, state FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq;

-- name: inbox_rows
SELECT seq FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq;

-- name: inbox_is_signal
SELECT 1 FROM holdfast_inbox WHERE id = ? AND seq = ? AND kind = 1;

-- The messages that the entries of a generation have received.
-- name: received
SELECT ref FROM holdfast_journal INDEXED BY holdfast_journal_received
WHERE kind = 6 AND ref IS NOT NULL AND id = ? AND seq >= ?;

-- name: inbox_last
SELECT max(seq) FROM holdfast_inbox WHERE id = ?;

-- name: inbox_renumber
UPDATE holdfast_inbox SET seq = ? WHERE id = ? AND seq = ?;

-- name: inbox_delete
DELETE FROM holdfast_inbox WHERE id = ? AND seq = ?;

-- What a fork knows of: the signals that entries have received, seqs from, to; and what children and
-- callbacks sent. Messages are counted from the last one that the original has forgotten.
-- name: inbox_copy_received
INSERT OR IGNORE INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason)
SELECT ?, e.ref, i.at, i.kind, i.name, i.key, i.codec, i.data, i.error, i.from_id, i.state, i.reason
FROM holdfast_journal e CROSS JOIN holdfast_inbox i ON i.id = e.id AND i.seq = e.ref + ?
WHERE e.id = ? AND e.seq >= ? AND e.seq <= ? AND e.kind = 6 AND e.ref > 0 AND i.kind = 1;

-- name: inbox_copy_answers
INSERT OR IGNORE INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason)
SELECT ?, i.seq - ?, i.at, i.kind, i.name, i.key, i.codec, i.data, i.error, i.from_id, i.state, i.reason
FROM holdfast_inbox i WHERE i.id = ? AND i.seq > ? AND i.seq <= ? AND i.kind <> 1;
