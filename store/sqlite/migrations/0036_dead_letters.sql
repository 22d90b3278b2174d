-- Jobs that failed, by what their failures have in common, and by when they did within that. What
-- completes has no entry. On a million failed jobs this takes a few seconds, in which nothing else is
-- written.
CREATE INDEX holdfast_finished_dead ON holdfast_finished (lane, fingerprint, finished_at, id) WHERE state = 7;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (36, 'dead_letters', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
