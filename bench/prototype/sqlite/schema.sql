-- The tables of the hot path. {{ROWID}} is "WITHOUT ROWID" or nothing.
CREATE TABLE lane (
  id INTEGER PRIMARY KEY, queue INTEGER NOT NULL, kind TEXT NOT NULL, priority INTEGER NOT NULL,
  UNIQUE (queue, kind, priority)
);
CREATE TABLE job (
  id BLOB NOT NULL PRIMARY KEY, lane INTEGER NOT NULL, run_at INTEGER NOT NULL, created_at INTEGER NOT NULL,
  lease INTEGER NOT NULL, attempt INTEGER NOT NULL, max_attempts INTEGER NOT NULL,
  args BLOB, codec TEXT, options TEXT, tags TEXT, metadata TEXT,
  ordering_key TEXT, unique_key BLOB, unique_states INTEGER
) {{ROWID}};
CREATE TABLE ready (
  lane INTEGER NOT NULL, run_at INTEGER NOT NULL, id BLOB NOT NULL, PRIMARY KEY (lane, run_at, id)
) WITHOUT ROWID;
CREATE TABLE claim (
  node INTEGER NOT NULL, seq INTEGER NOT NULL, claimed_at INTEGER NOT NULL, ids BLOB NOT NULL,
  done INTEGER NOT NULL, all_slots INTEGER NOT NULL, PRIMARY KEY (node, seq)
) WITHOUT ROWID;
CREATE TABLE finished (
  id BLOB NOT NULL PRIMARY KEY, lane INTEGER NOT NULL, state INTEGER NOT NULL, reason TEXT, attempt INTEGER NOT NULL,
  lease INTEGER NOT NULL, node INTEGER NOT NULL, claimed_at INTEGER NOT NULL, finished_at INTEGER NOT NULL,
  result BLOB, error TEXT
) WITHOUT ROWID;
CREATE INDEX finished_by_state ON finished (state, id) WHERE state <> 1;
INSERT INTO lane VALUES (1, 1, 'email.send', 2);
