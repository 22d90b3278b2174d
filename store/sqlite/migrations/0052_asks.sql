-- A schedule that is paused is looked at, too, if a job is to be asked to stop that a trigger has replaced.
DROP INDEX holdfast_schedule_due;
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_at) WHERE next_at IS NOT NULL AND (paused_at IS NULL OR cancels IS NOT NULL);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (52, 'asks', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
