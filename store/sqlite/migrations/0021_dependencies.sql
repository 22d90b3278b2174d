-- Jobs that come after others. A row is one that a job still waits for. told is how the predecessor ended, as the job was told of a failure
-- for which it waits for a person; NULL if it was not.
CREATE TABLE holdfast_edge (
  predecessor BLOB NOT NULL,
  successor   BLOB NOT NULL,
  policy      INTEGER NOT NULL,
  told        INTEGER,
  PRIMARY KEY (predecessor, successor)
) WITHOUT ROWID;
CREATE INDEX holdfast_edge_successor ON holdfast_edge (successor, predecessor);

-- Predecessors to look at: those that have finished, with what has noted that, and those whose runs may not know of their successors.
CREATE TABLE holdfast_edge_check (
  predecessor BLOB PRIMARY KEY
) WITHOUT ROWID;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (21, 'dependencies', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
