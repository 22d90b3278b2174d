-- Namespaces that people have made; others are there because something is in them.
CREATE TABLE {schema}.namespace (
  name       text COLLATE "C" PRIMARY KEY,
  note       text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL
);

-- Keys by which programs and people come in through a server. Only the hash of a secret is here. over_at is when the key was revoked or
-- expires, whichever is earlier: retention removes it a while after that. A namespace of '' is all of them.
CREATE TABLE {schema}.api_key (
  id           text COLLATE "C" PRIMARY KEY,
  hash         bytea NOT NULL,
  name         text NOT NULL,
  namespace    text COLLATE "C" NOT NULL,
  role         text NOT NULL,
  scopes       text NOT NULL,
  created_at   bigint NOT NULL,
  created_by   text NOT NULL,
  expires_at   bigint,
  last_used_at bigint,
  revoked_at   bigint,
  revoked_by   text NOT NULL DEFAULT '',
  over_at      bigint
);

CREATE UNIQUE INDEX api_key_namespace ON {schema}.api_key (namespace, id);
CREATE INDEX api_key_over ON {schema}.api_key (over_at) WHERE over_at IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (46, 'access', {schema}.clock(NULL), 36);
