-- Schedules. settings is a document of package store; what changes with a fire is in columns.
-- AUTOINCREMENT: the runs of a schedule that was deleted are never those of another one.
CREATE TABLE holdfast_schedule (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  version    INTEGER NOT NULL,
  cursor     INTEGER,
  next_at    INTEGER,
  remaining  INTEGER NOT NULL,
  fired      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  paused_at  INTEGER,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  paused_by  TEXT,
  note       TEXT,
  last       BLOB,
  cancels    BLOB,
  settings   TEXT NOT NULL,
  declared   TEXT
);
CREATE UNIQUE INDEX holdfast_schedule_name ON holdfast_schedule (namespace, name);
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;

-- Nominal times, and what became of them. manual is 0 if the clock has fired.
CREATE TABLE holdfast_schedule_run (
  schedule INTEGER NOT NULL,
  nominal  INTEGER NOT NULL,
  manual   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  job      BLOB,
  PRIMARY KEY (schedule, nominal, manual)
) WITHOUT ROWID;
CREATE INDEX holdfast_schedule_run_at ON holdfast_schedule_run (schedule, at);

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (17, 'schedules', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
