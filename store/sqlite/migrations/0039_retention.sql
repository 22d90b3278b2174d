-- Classes of retention, which queues name in what is set of them. Times are in microseconds; 0: that of the
-- database, -1: for ever.
CREATE TABLE holdfast_retention_class (
  name      TEXT PRIMARY KEY,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  set_at    INTEGER NOT NULL,
  set_by    TEXT
) WITHOUT ROWID;

-- How many jobs retention has removed: one row for each day since 1970, queue and state. It names the queue, whose row may go.
CREATE TABLE holdfast_removed (
  day       INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  queue     TEXT NOT NULL,
  state     INTEGER NOT NULL,
  jobs      INTEGER NOT NULL,
  PRIMARY KEY (namespace, day, queue, state)
) WITHOUT ROWID;

CREATE INDEX holdfast_removed_day ON holdfast_removed (day);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (39, 'retention', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
