-- Batches of jobs. settings is what they are for, a JSON document. Members are found by holdfast_job_parent: their marks have the bit 1 << 60, and
-- then parent is their batch. They are counted once the batch is closed, in the order of their ids: cursor is the last one that was.
CREATE TABLE holdfast_batch (
  id         BLOB PRIMARY KEY,
  namespace  TEXT NOT NULL,
  settings   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  closed_at  INTEGER,
  done_at    INTEGER,
  completed  INTEGER NOT NULL DEFAULT 0,
  failed     INTEGER NOT NULL DEFAULT 0,
  cancelled  INTEGER NOT NULL DEFAULT 0,
  cursor     BLOB,
  through    INTEGER NOT NULL DEFAULT 0,
  waited     INTEGER NOT NULL DEFAULT 0,
  version    INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;
CREATE INDEX holdfast_batch_namespace ON holdfast_batch (namespace, id);
CREATE INDEX holdfast_batch_undone ON holdfast_batch (id) WHERE done_at IS NULL;
CREATE INDEX holdfast_batch_done ON holdfast_batch (done_at) WHERE done_at IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (26, 'batches', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
