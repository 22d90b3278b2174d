-- Business keys: the job that has one, within a namespace and kind, or had it last. keep is for how many microseconds a finished job holds it; negative
-- is for ever. until is NULL as long as the job is there, and then when the key is free; args is a hash of those that it was enqueued with. That a job
-- finishes changes nothing here.
CREATE TABLE holdfast_job_key (
  namespace TEXT NOT NULL,
  kind      TEXT NOT NULL,
  key       TEXT NOT NULL,
  id        BLOB NOT NULL,
  keep      INTEGER NOT NULL,
  until     INTEGER,
  args      BLOB NOT NULL,
  PRIMARY KEY (namespace, kind, key)
) WITHOUT ROWID;

-- For retention: the key of a job, and those that are free. One that is kept for ever is in neither.
CREATE INDEX holdfast_job_key_job ON holdfast_job_key (id) WHERE until IS NULL;
CREATE INDEX holdfast_job_key_until ON holdfast_job_key (until) WHERE until < 9223372036854775807;

-- The signals that were sent along with enqueues, by the id and the namespace of the enqueue: the job that each has reached, its number there, and
-- whether that job was enqueued with other args. A repeated enqueue is recognised by it, also after another job has taken the key.
CREATE TABLE holdfast_key_sent (
  id        BLOB NOT NULL,
  namespace TEXT NOT NULL,
  job       BLOB NOT NULL,
  seq       INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  differs   INTEGER NOT NULL,
  PRIMARY KEY (id, namespace)
) WITHOUT ROWID;

CREATE INDEX holdfast_key_sent_at ON holdfast_key_sent (at);

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (11, 'keys', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
