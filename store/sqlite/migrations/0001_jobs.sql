-- The tables of jobs. Times are microseconds since 1970, ids are UUIDs of 16 bytes, states are those of store.State.
-- The names have a prefix because the file may hold the user's own tables.

CREATE TABLE holdfast_migration (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL
);

-- database_id tells this database from others, so that a caller's transaction on the wrong file is refused.
CREATE TABLE holdfast_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE holdfast_queue (
  id         INTEGER PRIMARY KEY,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  paused_at  INTEGER,
  paused_by  TEXT,
  UNIQUE (namespace, name)
);

-- Read by every claim, and nearly always empty.
CREATE INDEX holdfast_queue_paused ON holdfast_queue (id) WHERE paused_at IS NOT NULL;

-- What a claim chooses by: jobs of one lane differ only in their run time. Rows are never changed or removed, so that
-- every process may cache them.
CREATE TABLE holdfast_lane (
  id       INTEGER PRIMARY KEY,
  queue    INTEGER NOT NULL,
  kind     TEXT NOT NULL,
  priority INTEGER NOT NULL,
  UNIQUE (queue, kind, priority)
);

-- The body of a job, which success never touches. run_at, lease and attempt change when a job is put back: then run_at
-- is that of its pointer, lease the last lease number handed out, attempt the attempts counted so far. The payload comes last,
-- so that reading the other columns never walks through it. With rowid: bodies of more than 1 kB would
-- spill to overflow pages otherwise, at five times the cost of a claim.
CREATE TABLE holdfast_job (
  id            BLOB NOT NULL PRIMARY KEY,
  lane          INTEGER NOT NULL,
  run_at        INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  lease         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  max_attempts  INTEGER NOT NULL,
  codec         INTEGER NOT NULL,
  ordering_key  TEXT,
  unique_key    BLOB,
  unique_states INTEGER,
  options       TEXT,
  tags          TEXT,
  metadata      TEXT,
  args          -- text if the payload is, so that SQL can look into it; else a blob
);

-- Pointers. A job has exactly one: here, in keyed, in deferred, in a claim, or in finished.
CREATE TABLE holdfast_ready (
  lane   INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  id     BLOB NOT NULL,
  PRIMARY KEY (lane, run_at, id)
) WITHOUT ROWID;

-- Available jobs that wait for the turn of their ordering key.
CREATE TABLE holdfast_keyed (
  queue        INTEGER NOT NULL,
  ordering_key TEXT NOT NULL,
  priority     INTEGER NOT NULL,
  run_at       INTEGER NOT NULL,
  id           BLOB NOT NULL,
  lane         INTEGER NOT NULL,
  PRIMARY KEY (queue, ordering_key, priority, run_at, id)
) WITHOUT ROWID;

-- The job that has the turn, from its release into ready until it is finished. Whenever a key has a row in keyed it has
-- one here: both change in the same transaction.
CREATE TABLE holdfast_key_holder (
  queue        INTEGER NOT NULL,
  ordering_key TEXT NOT NULL,
  id           BLOB NOT NULL,
  PRIMARY KEY (queue, ordering_key)
) WITHOUT ROWID;

CREATE TABLE holdfast_deferred (
  due          INTEGER NOT NULL,
  id           BLOB NOT NULL,
  lane         INTEGER NOT NULL,
  state        INTEGER NOT NULL,
  ordering_key TEXT,
  PRIMARY KEY (due, id)
) WITHOUT ROWID;

-- For the counts of a queue.
CREATE INDEX holdfast_deferred_lane ON holdfast_deferred (lane, state);

-- One record per claimed batch. Slot i is bit 1 << i of done and all_slots and the bytes from 16*i of ids; leases holds
-- the lease numbers, 8 bytes each, and is NULL if all of them are 1, as they nearly always are.
CREATE TABLE holdfast_claim (
  node       INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  all_slots  INTEGER NOT NULL,
  ids        BLOB NOT NULL,
  leases     BLOB,
  PRIMARY KEY (node, seq)
) WITHOUT ROWID;

-- lease, node and claimed_at are those of the run that ended the job, NULL if it was not running. Lane and attempt are
-- not repeated here: completing a job reads no body.
CREATE TABLE holdfast_finished (
  id          BLOB NOT NULL PRIMARY KEY,
  state       INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  lease       INTEGER,
  node        INTEGER,
  claimed_at  INTEGER,
  reason      TEXT,
  error       TEXT,
  result      -- as args
);

CREATE INDEX holdfast_finished_by_time ON holdfast_finished (state, finished_at);

-- For lists of what did not complete.
CREATE INDEX holdfast_finished_not_completed ON holdfast_finished (state, id) WHERE state > 6;

-- One row per run that ended in anything but completion. taken: not the run itself ended it, but its node's leave or a
-- rescue, so that an outcome that is repeated later finds its lease lost.
CREATE TABLE holdfast_attempt (
  id         BLOB NOT NULL,
  lease      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  node       INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at   INTEGER NOT NULL,
  outcome    INTEGER NOT NULL,
  taken      INTEGER NOT NULL,
  reason     TEXT,
  error      TEXT,
  trace      TEXT,
  PRIMARY KEY (id, lease)
);

CREATE TABLE holdfast_checkpoint (
  id         BLOB NOT NULL PRIMARY KEY,
  lease      INTEGER NOT NULL,
  percent    REAL NOT NULL,
  updated_at INTEGER NOT NULL,
  message    TEXT,
  value      TEXT
);

CREATE TABLE holdfast_unique_key (
  key BLOB PRIMARY KEY,
  id  BLOB NOT NULL
) WITHOUT ROWID;

CREATE TABLE holdfast_cancel_request (
  id     BLOB PRIMARY KEY,
  at     INTEGER NOT NULL,
  reason TEXT,
  actor  TEXT
) WITHOUT ROWID;

-- AUTOINCREMENT: the id of a node is never used again, even after its row was removed. last_seq is the highest claim
-- record that it wrote, so that a claim that is repeated late takes nothing twice.
CREATE TABLE holdfast_node (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  beat_at    INTEGER NOT NULL,
  dead_at    INTEGER,
  last_seq   INTEGER NOT NULL,
  info       TEXT NOT NULL
);

CREATE TABLE holdfast_leader (
  name       TEXT PRIMARY KEY,
  node       INTEGER NOT NULL,
  epoch      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL
) WITHOUT ROWID;

-- What people did.
CREATE TABLE holdfast_audit (
  seq    INTEGER PRIMARY KEY,
  at     INTEGER NOT NULL,
  actor  TEXT NOT NULL,
  action TEXT NOT NULL,
  job    BLOB,
  queue  INTEGER,
  detail TEXT
);

INSERT INTO holdfast_meta (name, value) VALUES ('database_id', lower(hex(randomblob(16))));

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (1, 'jobs', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
