-- What people did is listed, newest first: of all, of a namespace, and of what was changed. kind and name say what that is, but for jobs,
-- which have a column. before and after are what was set, as JSON objects without secrets. Rows of jobs from before this migration have none of it.
ALTER TABLE holdfast_audit ADD COLUMN namespace TEXT;
ALTER TABLE holdfast_audit ADD COLUMN kind TEXT;
ALTER TABLE holdfast_audit ADD COLUMN name TEXT;
ALTER TABLE holdfast_audit ADD COLUMN before TEXT;
ALTER TABLE holdfast_audit ADD COLUMN after TEXT;

UPDATE holdfast_audit SET kind = 'queue', (namespace, name) = (SELECT q.namespace, q.name FROM holdfast_queue q WHERE q.id = holdfast_audit.queue)
WHERE queue IS NOT NULL;
UPDATE holdfast_audit SET kind = 'node', name = CAST(node AS TEXT) WHERE node IS NOT NULL;

CREATE INDEX holdfast_audit_at ON holdfast_audit (at, seq);
CREATE INDEX holdfast_audit_namespace ON holdfast_audit (namespace, at, seq) WHERE namespace IS NOT NULL;
CREATE INDEX holdfast_audit_target ON holdfast_audit (kind, name, at, seq) WHERE kind IS NOT NULL;

-- Rows of jobs, queues and nodes are told of by number. The rule stands here, so that it holds for older programs as well; newer ones say
-- the namespace of a job themselves, since many rows of jobs are written at once.
CREATE TRIGGER holdfast_audit_of_job AFTER INSERT ON holdfast_audit WHEN NEW.job IS NOT NULL AND NEW.namespace IS NULL BEGIN
  UPDATE holdfast_audit SET namespace = (
    SELECT q.namespace FROM holdfast_job j JOIN holdfast_lane l ON l.id = j.lane JOIN holdfast_queue q ON q.id = l.queue WHERE j.id = NEW.job
  ) WHERE seq = NEW.seq;
END;
CREATE TRIGGER holdfast_audit_of_queue AFTER INSERT ON holdfast_audit WHEN NEW.queue IS NOT NULL BEGIN
  UPDATE holdfast_audit SET kind = 'queue', (namespace, name) = (SELECT q.namespace, q.name FROM holdfast_queue q WHERE q.id = NEW.queue)
  WHERE seq = NEW.seq;
END;
CREATE TRIGGER holdfast_audit_of_node AFTER INSERT ON holdfast_audit WHEN NEW.node IS NOT NULL BEGIN
  UPDATE holdfast_audit SET kind = 'node', name = CAST(NEW.node AS TEXT) WHERE seq = NEW.seq;
END;

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (49, 'audit', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
