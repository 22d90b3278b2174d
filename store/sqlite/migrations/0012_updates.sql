-- Requests to runs, with their answers. AUTOINCREMENT: no number is used twice, so that a run which
-- knows the last one knows what came later. verdict is NULL while a request is open.
CREATE TABLE holdfast_job_update (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           BLOB NOT NULL,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  codec        INTEGER NOT NULL,
  verdict      INTEGER,
  answered_at  INTEGER,
  answer_codec INTEGER,
  error        TEXT,
  data,        -- as the args of a job
  answer
);

CREATE UNIQUE INDEX holdfast_job_update_key ON holdfast_job_update (id, key);
CREATE INDEX holdfast_job_update_open ON holdfast_job_update (id, seq) WHERE verdict IS NULL;

-- Those that were refused, which are kept for a minute.
CREATE INDEX holdfast_job_update_refused ON holdfast_job_update (answered_at) WHERE verdict = 3;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (12, 'updates', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
