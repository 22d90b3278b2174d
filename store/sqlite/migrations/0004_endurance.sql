-- For those that run for years: what nobody uses any more goes, and the clock may be set.

-- Queues and lanes that are not used are removed, which the comments in migration 1 do not know
-- yet. AUTOINCREMENT: no id is used twice, since processes remember what the ids of lanes stand
-- for.
CREATE TABLE holdfast_queue_4 (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  paused_at  INTEGER,
  paused_by  TEXT,
  UNIQUE (namespace, name)
);

INSERT INTO holdfast_queue_4 (id, namespace, name, created_at, paused_at, paused_by)
SELECT id, namespace, name, created_at, paused_at, paused_by FROM holdfast_queue;

DROP TABLE holdfast_queue;
ALTER TABLE holdfast_queue_4 RENAME TO holdfast_queue;
CREATE INDEX holdfast_queue_paused ON holdfast_queue (id) WHERE paused_at IS NOT NULL;

-- used_on is the day, counted from 1970 in UTC, on which a lane was last used or found to be in
-- use. idle_since is set while all jobs of the lane have completed, and says that none did so later
-- than then; who puts a job into the lane takes it back. When no job is left in the file that
-- completed as early as that, the lane has none.
CREATE TABLE holdfast_lane_4 (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  queue      INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  priority   INTEGER NOT NULL,
  used_on    INTEGER NOT NULL DEFAULT 0,
  idle_since INTEGER,
  UNIQUE (queue, kind, priority)
);

INSERT INTO holdfast_lane_4 (id, queue, kind, priority, used_on)
SELECT id, queue, kind, priority, CAST(julianday('now') - 2440587.5 AS INTEGER) FROM holdfast_lane;

DROP TABLE holdfast_lane;
ALTER TABLE holdfast_lane_4 RENAME TO holdfast_lane;
CREATE INDEX holdfast_lane_used ON holdfast_lane (used_on) WHERE idle_since IS NULL;
CREATE INDEX holdfast_lane_idle ON holdfast_lane (idle_since) WHERE idle_since IS NOT NULL;

-- The lane of a job that failed or was cancelled. NULL for one that completed: nobody reads its
-- body then.
ALTER TABLE holdfast_finished ADD COLUMN lane INTEGER;

UPDATE holdfast_finished
SET lane = (SELECT j.lane FROM holdfast_job j WHERE j.id = holdfast_finished.id) WHERE state > 6;

CREATE INDEX holdfast_finished_lane ON holdfast_finished (lane) WHERE state > 6;

-- How long the lease was when it was taken or kept: one that ends later than that from now is from
-- before the clock was set back. NULL if the program that wrote the row did not say.
ALTER TABLE holdfast_leader ADD COLUMN ttl INTEGER;

-- gone: the job was removed. Until then people are told what was done to it, however old that is.
ALTER TABLE holdfast_audit ADD COLUMN gone INTEGER;

UPDATE holdfast_audit SET gone = 1
WHERE job IS NOT NULL AND NOT EXISTS (SELECT 1 FROM holdfast_job j WHERE j.id = holdfast_audit.job);

CREATE INDEX holdfast_audit_over ON holdfast_audit (at) WHERE job IS NULL OR gone IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (4, 'endurance', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
