-- What remains of jobs that were archived and removed, where that was asked for, and where they are.
CREATE TABLE holdfast_stub (
  id          BLOB NOT NULL PRIMARY KEY,
  archived_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  namespace   TEXT NOT NULL,
  queue       TEXT NOT NULL,
  kind        TEXT NOT NULL,
  place       TEXT NOT NULL
);

CREATE INDEX holdfast_stub_time ON holdfast_stub (archived_at);

-- How many of the removed jobs have left one.
ALTER TABLE holdfast_removed ADD COLUMN stubs INTEGER NOT NULL DEFAULT 0;

-- What remains of nodes whose rows are removed: by which program each has run, and when it ended. Programs of
-- before go on forgetting that with the node.
CREATE TABLE holdfast_node_build (
  node     INTEGER PRIMARY KEY,
  ended_at INTEGER NOT NULL,
  program  TEXT NOT NULL,
  engine   TEXT NOT NULL
);

CREATE INDEX holdfast_node_build_ended ON holdfast_node_build (ended_at);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (40, 'remains', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
