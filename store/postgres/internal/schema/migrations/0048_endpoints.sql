-- Where jobs and events are sent to by HTTP: push endpoints (purpose 1), which work the jobs of a kind, and webhooks (2). data has what is
-- set of one, its secrets among it, as JSON that only servers read.
CREATE TABLE {schema}.endpoint (
  namespace  text COLLATE "C" NOT NULL,
  purpose    smallint NOT NULL,
  name       text COLLATE "C" NOT NULL,
  data       bytea NOT NULL,
  version    bigint NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL,
  updated_at bigint NOT NULL,
  updated_by text NOT NULL,
  PRIMARY KEY (namespace, purpose, name)
);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (48, 'endpoints', {schema}.clock(NULL), 36);
