-- What the runs of jobs have logged, in chunks of lines. first is the number of the first line in its run. A job that logs nothing has no row.
CREATE TABLE {schema}.job_log (
  id      uuid NOT NULL,
  lease   bigint NOT NULL,
  first   bigint NOT NULL,
  attempt int NOT NULL,
  count   int NOT NULL,
  lines   bytea NOT NULL,
  PRIMARY KEY (id, lease, first)
);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (34, 'job_logs', {schema}.clock(NULL));
