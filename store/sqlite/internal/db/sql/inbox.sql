-- What is sent to jobs.

-- All that a message needs to know of the job that it is for: where its pointer is if it waits, how
-- it waits, how it ended, the last message that it has, and the last that it has forgotten.
-- name: addressee
SELECT j.lane, j.run_at, j.ordering_key, f.state, (SELECT max(i.seq) FROM holdfast_inbox i WHERE i.id = j.id),
  (SELECT e.ref FROM holdfast_journal e INDEXED BY holdfast_journal_continued WHERE e.kind = {entry_continued} AND e.id = j.id
    ORDER BY e.seq DESC LIMIT 1),
  d.held, d.seen, d.kinds, d.awaited, d.failures
FROM holdfast_job j
LEFT JOIN holdfast_finished f ON f.id = j.id
LEFT JOIN holdfast_deferred d ON d.due = j.run_at AND d.id = j.id AND d.state = {waiting}
WHERE j.id = ?;

-- name: inbox_insert
INSERT INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason, trace)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: inbox_key
SELECT seq FROM holdfast_inbox WHERE id = ? AND key = ? AND key IS NOT NULL;

-- name: callback_opened
SELECT 1 FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN ({named_entries}) AND id = ? AND kind = {entry_callback} AND name = ? AND seq >= ? LIMIT 1;

-- name: callback_answered
SELECT 1 FROM holdfast_inbox INDEXED BY holdfast_inbox_answer WHERE kind IN ({callback_answers}) AND id = ? AND name = ?
  AND seq > ? LIMIT 1;

-- name: inbox
SELECT seq, kind, name, data, codec, error, from_id, state, reason, at, trace FROM holdfast_inbox WHERE id = ? AND seq > ?
ORDER BY seq LIMIT ? + 0;

-- name: inbox_count
SELECT count(*) FROM holdfast_inbox WHERE id = ? AND seq > ?;

-- What a wait looks at.
-- name: inbox_after
SELECT seq, kind, state FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq;

-- name: inbox_rows
SELECT seq FROM holdfast_inbox WHERE id = ? AND seq > ? ORDER BY seq;

-- name: inbox_is_signal
SELECT 1 FROM holdfast_inbox WHERE id = ? AND seq = ? AND kind = {message_signal};

-- The messages that the entries of a generation have received.
-- name: received
SELECT ref FROM holdfast_journal INDEXED BY holdfast_journal_received
WHERE kind = {entry_received} AND ref IS NOT NULL AND id = ? AND seq >= ?;

-- name: inbox_last
SELECT max(seq) FROM holdfast_inbox WHERE id = ?;

-- name: inbox_renumber
-- params: @new_seq, @job, @seq
UPDATE holdfast_inbox SET seq = @new_seq WHERE id = @job AND seq = @seq;

-- name: inbox_delete
DELETE FROM holdfast_inbox WHERE id = ? AND seq = ?;

-- What a fork knows of: the signals that entries have received; and what children and callbacks
-- sent. Messages are counted from the last one that the original has forgotten.
-- name: inbox_copy_received
-- params: @fork, @forgotten, @job, @from_entry, @to_entry
INSERT OR IGNORE INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason, trace)
SELECT @fork, e.ref, i.at, i.kind, i.name, i.key, i.codec, i.data, i.error, i.from_id, i.state, i.reason, i.trace
FROM holdfast_journal e CROSS JOIN holdfast_inbox i ON i.id = e.id AND i.seq = e.ref + @forgotten
WHERE e.id = @job AND e.seq >= @from_entry AND e.seq <= @to_entry AND e.kind = {entry_received} AND e.ref > 0 AND i.kind = {message_signal};

-- name: inbox_copy_answers
-- params: @fork, @forgotten, @job, @after_seq, @to_seq
INSERT OR IGNORE INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason, trace)
SELECT @fork, i.seq - @forgotten, i.at, i.kind, i.name, i.key, i.codec, i.data, i.error, i.from_id, i.state, i.reason, i.trace
FROM holdfast_inbox i WHERE i.id = @job AND i.seq > @after_seq AND i.seq <= @to_seq AND i.kind <> {message_signal};
