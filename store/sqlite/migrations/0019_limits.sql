-- Limits of how much runs at once. settings is a document of package store, which has the capacity, too.
-- AUTOINCREMENT: what a node asks of a limit that was deleted is never about another one.
CREATE TABLE holdfast_limit_rule (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  version    INTEGER NOT NULL,
  capacity   INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  wanted_at  INTEGER,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  settings   TEXT NOT NULL,
  declared   TEXT
);
CREATE UNIQUE INDEX holdfast_limit_rule_name ON holdfast_limit_rule (namespace, name);

-- How many slots of a limit a node holds, and the number of the call that said so. A row stays when a node holds none, for that number.
CREATE TABLE holdfast_limit_grant (
  rule INTEGER NOT NULL,
  node INTEGER NOT NULL,
  held INTEGER NOT NULL,
  call INTEGER NOT NULL,
  PRIMARY KEY (rule, node)
) WITHOUT ROWID;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (19, 'limits', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
