-- What jobs remember.

-- An entry whose number is taken is passed over.
-- name: journal_insert
INSERT OR IGNORE INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data, took)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- Many at once. It ends at the first that is there already, and keeps those before it.
-- name: journal_insert_many
INSERT OR FAIL INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data, took)
VALUES {rows: (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)};

-- name: journal_lease
SELECT lease FROM holdfast_journal WHERE id = ? AND seq = ?;

-- Whether an entry is there, and is not one that was only kept when the job continued as new.
-- name: journal_reaches
SELECT 1 FROM holdfast_journal e WHERE e.id = ? AND e.seq = ? AND NOT EXISTS (
  SELECT 1 FROM holdfast_journal c INDEXED BY holdfast_journal_continued WHERE c.kind = {entry_continued} AND c.id = e.id
    AND c.seq > e.seq);

-- name: journal_has
SELECT 1 FROM holdfast_journal WHERE id = ? LIMIT 1;

-- name: journal_last
SELECT seq FROM holdfast_journal WHERE id = ? ORDER BY seq DESC LIMIT 1;

-- Who wrote last, and what.
-- name: journal_last_writer
SELECT lease, kind FROM holdfast_journal WHERE id = ? ORDER BY seq DESC LIMIT 1;

-- name: journal
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal WHERE id = ? AND seq >= ? ORDER BY seq;

-- With what a job last continued as new, and the last message that it has forgotten.
-- name: generation
SELECT seq, ref FROM holdfast_journal INDEXED BY holdfast_journal_continued
WHERE kind = {entry_continued} AND id = ? ORDER BY seq DESC LIMIT 1;

-- From @kinds_from on the first of two sets of kinds is looked for, and before it the second. A set
-- is made of bits; an empty name is any.
-- name: entries
-- params: @job, @begins_at, @after_seq, @kinds_from, @kinds, @earlier_kinds, @name, @limit
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal
WHERE id = @job AND seq >= @begins_at AND seq > @after_seq
  AND (CASE WHEN seq >= @kinds_from THEN @kinds ELSE @earlier_kinds END >> kind) & 1 AND @name IN ('', name) ORDER BY seq LIMIT @limit + 0;

-- name: entries_newest
-- params: @job, @begins_at, @before_seq, @kinds_from, @kinds, @earlier_kinds, @name, @limit
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal
WHERE id = @job AND seq >= @begins_at AND seq < @before_seq
  AND (CASE WHEN seq >= @kinds_from THEN @kinds ELSE @earlier_kinds END >> kind) & 1 AND @name IN ('', name)
ORDER BY seq DESC LIMIT @limit + 0;

-- name: entries_named
-- params: @job, @begins_at, @after_seq, @kind, @name, @limit
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN ({named_entries}) AND id = @job AND seq >= @begins_at AND seq > @after_seq AND kind = @kind AND name = @name
ORDER BY seq LIMIT @limit + 0;

-- name: entries_named_newest
-- params: @job, @begins_at, @before_seq, @kind, @name, @limit
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal INDEXED BY holdfast_journal_named
WHERE kind IN ({named_entries}) AND id = @job AND seq >= @begins_at AND seq < @before_seq AND kind = @kind AND name = @name
ORDER BY seq DESC LIMIT @limit + 0;

-- name: journal_trim
DELETE FROM holdfast_journal WHERE id = ? AND seq > ?;

-- name: journal_up_to
-- params: @job, @from_seq, @to_seq
SELECT seq, lease FROM holdfast_journal WHERE id = @job AND seq >= @from_seq AND seq <= @to_seq ORDER BY seq DESC LIMIT 1;

-- The entries of a fork. The messages that the original has forgotten are not counted in it.
-- name: journal_copy
-- params: @fork, @job, @from_seq, @to_seq
INSERT INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data, took)
SELECT @fork, seq, at, 0, kind, path, name, CASE WHEN kind <> {entry_continued} THEN ref END, codec, data, took
FROM holdfast_journal WHERE id = @job AND seq >= @from_seq AND seq <= @to_seq;

-- The last of so many entries.
-- name: journal_portion
-- params: @job, @after_seq, @to_seq, @limit
SELECT max(seq), count(*) FROM (
  SELECT seq FROM holdfast_journal WHERE id = @job AND seq > @after_seq AND seq <= @to_seq ORDER BY seq LIMIT @limit + 0);

-- What the original has kept. Of values that is the last one of their key before a Seq.
-- name: journal_copy_kept
-- params: @fork, @job, @after_seq, @to_seq, @before_seq
INSERT INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data, took)
SELECT @fork, e.seq, e.at, 0, e.kind, e.path, e.name, NULL, e.codec, e.data, e.took FROM holdfast_journal e
WHERE e.id = @job AND e.seq > @after_seq AND e.seq <= @to_seq AND (e.kind = {entry_streamed} OR e.kind = {entry_published} AND NOT EXISTS (
  SELECT 1 FROM holdfast_journal n INDEXED BY holdfast_journal_named
  WHERE n.kind IN ({named_entries}) AND n.id = e.id AND n.kind = {entry_published} AND n.name = e.name
    AND n.seq > e.seq AND n.seq < @before_seq));
