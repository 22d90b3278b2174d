-- Members of batches that were counted and that a person has retried since: state is how they had ended when they were counted. Batches that were
-- counted before this was noted are counted once more.
CREATE TABLE holdfast_batch_retried (
  batch BLOB NOT NULL,
  id    BLOB NOT NULL,
  state INTEGER NOT NULL,
  PRIMARY KEY (batch, id)
) WITHOUT ROWID;
ALTER TABLE holdfast_batch DROP COLUMN waited;
UPDATE holdfast_batch SET completed = 0, failed = 0, cancelled = 0, cursor = NULL, through = 0, version = version + 1
WHERE done_at IS NULL AND cursor IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (27, 'batch_retries', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
