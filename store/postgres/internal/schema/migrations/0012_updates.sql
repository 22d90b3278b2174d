-- Requests to runs, with their answers. The number of one is drawn while the job's body is locked, and never again, so that a run which knows
-- the last one knows what came later. verdict is NULL while a request is open. Those that were refused are kept for a minute.
CREATE TABLE {schema}.job_update (
  id           uuid NOT NULL,
  seq          bigint GENERATED ALWAYS AS IDENTITY,
  at           bigint NOT NULL,
  answered_at  bigint,
  codec        int NOT NULL,
  answer_codec int,
  verdict      smallint,
  key          text NOT NULL,
  name         text NOT NULL,
  error        text,
  data         bytea,
  answer       bytea,
  PRIMARY KEY (id, seq)
);
CREATE UNIQUE INDEX job_update_key ON {schema}.job_update (id, key);
CREATE INDEX job_update_open ON {schema}.job_update (id, seq) WHERE verdict IS NULL;
CREATE INDEX job_update_refused ON {schema}.job_update (answered_at) WHERE verdict = 3;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (12, 'updates', {schema}.clock(NULL));
