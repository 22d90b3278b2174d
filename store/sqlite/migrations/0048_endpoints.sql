-- Where jobs and events are sent to by HTTP: push endpoints (purpose 1), which work the jobs of a kind, and webhooks (2). data has what is
-- set of one, its secrets among it, as JSON that only servers read.
CREATE TABLE holdfast_endpoint (
  namespace  TEXT NOT NULL,
  purpose    INTEGER NOT NULL,
  name       TEXT NOT NULL,
  data       BLOB NOT NULL,
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (namespace, purpose, name)
) WITHOUT ROWID;

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (48, 'endpoints', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
