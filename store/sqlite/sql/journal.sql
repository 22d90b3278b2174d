-- What jobs remember.

-- An entry whose number is taken is passed over.
-- name: journal_insert
INSERT OR IGNORE INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: journal_lease
SELECT lease FROM holdfast_journal WHERE id = ? AND seq = ?;

-- name: journal_has
SELECT 1 FROM holdfast_journal WHERE id = ? LIMIT 1;

-- name: journal_last
SELECT seq FROM holdfast_journal WHERE id = ? ORDER BY seq DESC LIMIT 1;

-- Who wrote last.
-- name: journal_last_writer
SELECT lease FROM holdfast_journal WHERE id = ? ORDER BY seq DESC LIMIT 1;

-- name: journal
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal WHERE id = ? AND seq >= ? ORDER BY seq;

-- With what a job last continued as new, and the last message that it has forgotten.
-- name: generation
SELECT seq, ref FROM holdfast_journal INDEXED BY holdfast_journal_continued
WHERE kind = 16 AND id = ? ORDER BY seq DESC LIMIT 1;

-- The kinds are a set of bits; an empty name is any.
-- name: entries
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal
WHERE id = ? AND seq >= ? AND seq > ? AND (? >> kind) & 1 AND ? IN ('', name) ORDER BY seq LIMIT ? + 0;

-- name: entries_newest
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal
WHERE id = ? AND seq >= ? AND seq < ? AND (? >> kind) & 1 AND ? IN ('', name) ORDER BY seq DESC LIMIT ? + 0;

-- name: entries_named
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN (8, 12, 13) AND id = ? AND seq >= ? AND seq > ? AND kind = ? AND name = ? ORDER BY seq LIMIT ? + 0;

-- name: entries_named_newest
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN (8, 12, 13) AND id = ? AND seq >= ? AND seq < ? AND kind = ? AND name = ? ORDER BY seq DESC LIMIT ? + 0;

-- name: journal_trim
DELETE FROM holdfast_journal WHERE id = ? AND seq > ?;

-- name: journal_up_to
SELECT seq, lease FROM holdfast_journal WHERE id = ? AND seq >= ? AND seq <= ? ORDER BY seq DESC LIMIT 1;

-- The entries of a fork, and the signals that they received: seqs from, to. The messages that the
-- original has forgotten are not counted in the fork.
-- name: journal_copy
INSERT INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data)
SELECT ?, seq, at, 0, kind, path, name, CASE WHEN kind <> 16 THEN ref END, codec, data
FROM holdfast_journal WHERE id = ? AND seq >= ? AND seq <= ?;
