-- Jobs that continue as new, and forks: so that nobody waits for what is large.

-- A journal begins with the entry with which its job last continued as new (kind 16). What was
-- before is forgotten, and so are the messages up to the number that is its ref, from which those
-- that came later are counted; the rows are removed bit by bit. ref is NULL where nothing is left.
CREATE INDEX holdfast_journal_continued ON holdfast_journal (id, seq) WHERE kind = 16;

-- Which messages were received, found without a look at each entry.
CREATE INDEX holdfast_journal_received ON holdfast_journal (id, ref, seq) WHERE kind = 6 AND ref IS NOT NULL;

-- Whose rows are to be removed, from a time on. maker is NULL for what a job has forgotten. Else all
-- the rows are: of a job that was removed (0), or that is not there yet, and into whose journal a
-- fork is copied by somebody who has drawn that number; he sets the time again and again.
CREATE TABLE holdfast_leftover (
  id    BLOB PRIMARY KEY,
  due   INTEGER NOT NULL,
  maker INTEGER
) WITHOUT ROWID;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (5, 'generations', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
