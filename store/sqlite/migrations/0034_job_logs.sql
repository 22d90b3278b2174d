-- What the runs of jobs have logged, in chunks of lines. first is the number of the first line in its
-- run. A job that logs nothing has no row.
CREATE TABLE holdfast_job_log (
  id      BLOB NOT NULL,
  lease   INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  count   INTEGER NOT NULL,
  lines   BLOB NOT NULL
);

CREATE UNIQUE INDEX holdfast_job_log_place ON holdfast_job_log (id, lease, first);

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (34, 'job_logs', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
