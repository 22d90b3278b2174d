-- Members of batches that were counted and that a person has retried since: state is how they had ended when they were counted. Batches that were
-- counted before this was noted are counted once more.
CREATE TABLE {schema}.batch_retried (
  batch uuid NOT NULL,
  id    uuid NOT NULL,
  state smallint NOT NULL,
  PRIMARY KEY (batch, id)
);
ALTER TABLE {schema}.batch DROP COLUMN waited;
UPDATE {schema}.batch SET completed = 0, failed = 0, cancelled = 0, cursor = NULL, through = false, version = version + 1
WHERE done_at IS NULL AND cursor IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (27, 'batch_retries', {schema}.clock(NULL));
