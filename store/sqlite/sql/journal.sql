-- What jobs remember.

-- An entry whose number is taken is passed over.
-- name: journal_insert
INSERT OR IGNORE INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: journal_lease
SELECT lease FROM holdfast_journal WHERE id = ? AND seq = ?;

-- Whether an entry is there, and is not one that was only kept when the job continued as new.
-- name: journal_reaches
SELECT 1 FROM holdfast_journal e WHERE e.id = ? AND e.seq = ? AND NOT EXISTS (
  SELECT 1 FROM holdfast_journal c INDEXED BY holdfast_journal_continued WHERE c.kind = 16 AND c.id = e.id AND c.seq > e.seq);

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

-- Seqs from, after; from which Seq on the first of two sets of kinds is looked for, and before it the
-- second. A set is made of bits; an empty name is any.
-- name: entries
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal
WHERE id = ? AND seq >= ? AND seq > ? AND (CASE WHEN seq >= ? THEN ? ELSE ? END >> kind) & 1 AND ? IN ('', name) ORDER BY seq LIMIT ? + 0;

-- name: entries_newest
SELECT seq, kind, path, name, ref, data, codec, at, lease FROM holdfast_journal
WHERE id = ? AND seq >= ? AND seq < ? AND (CASE WHEN seq >= ? THEN ? ELSE ? END >> kind) & 1 AND ? IN ('', name) ORDER BY seq DESC LIMIT ? + 0;

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

-- The last of so many entries after a Seq, and up to one.
-- name: journal_portion
SELECT max(seq), count(*) FROM (
  SELECT seq FROM holdfast_journal WHERE id = ? AND seq > ? AND seq <= ? ORDER BY seq LIMIT ? + 0);

-- What the original has kept: after a Seq, and up to one. Of values that is the last one of their key
-- before the last Seq.
-- name: journal_copy_kept
INSERT INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data)
SELECT ?, e.seq, e.at, 0, e.kind, e.path, e.name, NULL, e.codec, e.data FROM holdfast_journal e
WHERE e.id = ? AND e.seq > ? AND e.seq <= ? AND (e.kind = 13 OR e.kind = 12 AND NOT EXISTS (
  SELECT 1 FROM holdfast_journal n INDEXED BY holdfast_journal_named
  WHERE n.kind IN (8, 12, 13) AND n.id = e.id AND n.kind = 12 AND n.name = e.name AND n.seq > e.seq AND n.seq < ?));
