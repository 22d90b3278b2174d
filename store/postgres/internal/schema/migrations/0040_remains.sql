-- What remains of jobs that were archived and removed, where that was asked for, and where they are.
CREATE TABLE {schema}.stub (
  id          uuid PRIMARY KEY,
  archived_at bigint NOT NULL,
  finished_at bigint NOT NULL,
  state       int NOT NULL,
  namespace   text NOT NULL,
  queue       text NOT NULL,
  kind        text NOT NULL,
  place       text NOT NULL
);

CREATE INDEX stub_time ON {schema}.stub (archived_at);

-- How many of the removed jobs have left one.
ALTER TABLE {schema}.removed ADD COLUMN stubs bigint NOT NULL DEFAULT 0;

-- What remains of nodes whose rows are removed: by which program each has run, and when it ended. Programs of
-- before go on forgetting that with the node.
CREATE TABLE {schema}.node_build (
  node     bigint PRIMARY KEY,
  ended_at bigint NOT NULL,
  program  text NOT NULL,
  engine   text NOT NULL
);

CREATE INDEX node_build_ended ON {schema}.node_build (ended_at);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (40, 'remains', {schema}.clock(NULL), 36);
