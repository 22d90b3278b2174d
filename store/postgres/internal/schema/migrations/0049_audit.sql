-- What people did is listed, newest first: of all, of a namespace, and of what was changed. kind and name say what that is, but for jobs,
-- which have a column. before and after are what was set, as JSON objects without secrets. Rows of jobs from before this migration have none of it.
ALTER TABLE {schema}.audit ADD COLUMN namespace text COLLATE "C";
ALTER TABLE {schema}.audit ADD COLUMN kind text COLLATE "C";
ALTER TABLE {schema}.audit ADD COLUMN name text COLLATE "C";
ALTER TABLE {schema}.audit ADD COLUMN before text;
ALTER TABLE {schema}.audit ADD COLUMN after text;

UPDATE {schema}.audit a SET kind = 'queue', namespace = q.namespace, name = q.name FROM {schema}.queue q WHERE q.id = a.queue;
UPDATE {schema}.audit SET kind = 'node', name = node::text WHERE node IS NOT NULL;

CREATE INDEX audit_at ON {schema}.audit (at, seq);
CREATE INDEX audit_namespace ON {schema}.audit (namespace, at, seq) WHERE namespace IS NOT NULL;
CREATE INDEX audit_target ON {schema}.audit (kind, name, at, seq) WHERE kind IS NOT NULL;

-- Rows of jobs, queues and nodes are told of by number. The rule stands here, so that it holds for older programs as well. A session
-- that was there when the tables were small must not go on to read all of them. The function runs with the rights of the owner: who may
-- only write what is done needs none on the other tables.
CREATE FUNCTION {schema}.audit_of() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp SET enable_seqscan = off AS $$
BEGIN
  IF NEW.job IS NOT NULL THEN
    NEW.namespace := (
      SELECT q.namespace FROM queue q WHERE q.id = (
        SELECT l.queue FROM lane l WHERE l.id = (SELECT j.lane FROM job j WHERE j.id = NEW.job)));
  ELSIF NEW.queue IS NOT NULL THEN
    NEW.kind := 'queue';
    SELECT q.namespace, q.name INTO NEW.namespace, NEW.name FROM queue q WHERE q.id = NEW.queue;
  ELSIF NEW.node IS NOT NULL THEN
    NEW.kind := 'node';
    NEW.name := NEW.node::text;
  END IF;
  RETURN NEW;
END $$;

-- Who may call it could hang it on a table of his own.
REVOKE EXECUTE ON FUNCTION {schema}.audit_of() FROM PUBLIC;

CREATE TRIGGER audit_of BEFORE INSERT ON {schema}.audit FOR EACH ROW EXECUTE FUNCTION {schema}.audit_of();

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (49, 'audit', {schema}.clock(NULL), 36);
