-- Namespaces that people have made; others are there because something is in them.
CREATE TABLE holdfast_namespace (
  name       TEXT NOT NULL PRIMARY KEY,
  note       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) WITHOUT ROWID;

-- Keys by which programs and people come in through a server. Only the hash of a secret is here. over_at is when the key was revoked or
-- expires, whichever is earlier: retention removes it a while after that. A namespace of '' is all of them.
CREATE TABLE holdfast_api_key (
  id           TEXT NOT NULL PRIMARY KEY,
  hash         BLOB NOT NULL,
  name         TEXT NOT NULL,
  namespace    TEXT NOT NULL,
  role         TEXT NOT NULL,
  scopes       TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER,
  revoked_at   INTEGER,
  revoked_by   TEXT NOT NULL DEFAULT '',
  over_at      INTEGER
) WITHOUT ROWID;

CREATE UNIQUE INDEX holdfast_api_key_namespace ON holdfast_api_key (namespace, id);
CREATE INDEX holdfast_api_key_over ON holdfast_api_key (over_at) WHERE over_at IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (46, 'access', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
