-- Limits of how much runs at once. settings is a document of package store, which has the capacity, too.
CREATE TABLE {schema}.limit_rule (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version    bigint NOT NULL,
  capacity   bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  wanted_at  bigint,
  namespace  text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  settings   text NOT NULL,
  declared   text
);
CREATE UNIQUE INDEX limit_rule_name ON {schema}.limit_rule (namespace, name);

-- How many slots of a limit a node holds, and the number of the call that said so. A row stays when a node holds none, for that number. Rows are
-- updated often, in place.
CREATE TABLE {schema}.limit_grant (
  rule bigint NOT NULL,
  node bigint NOT NULL,
  held bigint NOT NULL,
  call bigint NOT NULL,
  PRIMARY KEY (rule, node)
) WITH (fillfactor = 50);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (19, 'limits', {schema}.clock(NULL));
