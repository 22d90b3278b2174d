-- Durable functions: what jobs remember, what was sent to them, what they wait for, and whose children they are.

-- What a job's runs have durably done. A job without a row here is not durable. lease is that of the run that wrote the
-- entry, 0 if a fork copied it. With rowid, as the body: the steps of many jobs at a time are written to the same few pages then, at half of the
-- cost of a table that keeps those of each job together.
CREATE TABLE holdfast_journal (
  id    BLOB NOT NULL,
  seq   INTEGER NOT NULL,
  at    INTEGER NOT NULL,
  lease INTEGER NOT NULL,
  kind  INTEGER NOT NULL,
  path  TEXT,
  name  TEXT,
  ref   INTEGER,
  codec INTEGER NOT NULL,
  data, -- as the args of a job
  PRIMARY KEY (id, seq)
);

-- What is looked for by its name: callbacks by who completes them, published values and streams by clients.
CREATE INDEX holdfast_journal_named ON holdfast_journal (id, kind, name, seq) WHERE kind IN (8, 12, 13);

CREATE TABLE holdfast_inbox (
  id      BLOB NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  kind    INTEGER NOT NULL,
  name    TEXT,
  key     TEXT,
  codec   INTEGER NOT NULL,
  data,
  error   TEXT,
  from_id BLOB,    -- from here on: of a child that finished
  state   INTEGER,
  reason  TEXT,
  PRIMARY KEY (id, seq)
);

CREATE UNIQUE INDEX holdfast_inbox_key ON holdfast_inbox (id, key) WHERE key IS NOT NULL;

-- The answers of callbacks, of which each has at most one.
CREATE INDEX holdfast_inbox_answer ON holdfast_inbox (id, name) WHERE kind IN (2, 3);

-- marks, NULL for a plain job: 1: it answers its parent; 2: it is closing; 4: it has a journal from the start, as a fork; 8 times what
-- becomes of it when its parent finishes first; 32 times the number of the entry with which its end was decided. claimed_at: of the last run, as attempt; NULL if that ended before this column was there.
ALTER TABLE holdfast_job ADD COLUMN parent BLOB;
ALTER TABLE holdfast_job ADD COLUMN marks INTEGER;
ALTER TABLE holdfast_job ADD COLUMN claimed_at INTEGER;

CREATE INDEX holdfast_job_parent ON holdfast_job (parent, id) WHERE parent IS NOT NULL;

-- Of a waiting job (state 5), and NULL for others: what wakes it (see store.Wait), whether only a person does, what a held job was
-- before and when that was due, and what to tell of the wait, as JSON. The due time of a job that waits for no time is the greatest number.
ALTER TABLE holdfast_deferred ADD COLUMN seen INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN kinds INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN awaited INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN failures INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN held INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN before_state INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN before_due INTEGER;
ALTER TABLE holdfast_deferred ADD COLUMN wait TEXT;

CREATE TABLE holdfast_pause_request (
  id     BLOB PRIMARY KEY,
  at     INTEGER NOT NULL,
  reason TEXT,
  actor  TEXT
) WITHOUT ROWID;

-- Jobs that have finished and may have children to close. closed is the last child that was looked at.
CREATE TABLE holdfast_closed_parent (
  id     BLOB PRIMARY KEY,
  closed BLOB
) WITHOUT ROWID;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (2, 'durable', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
