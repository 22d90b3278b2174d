-- Schedules. settings is a document of package store; what changes with a fire is in columns.
CREATE TABLE {schema}.schedule (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version    bigint NOT NULL,
  cursor     bigint,
  next_at    bigint,
  remaining  bigint NOT NULL,
  fired      bigint NOT NULL,
  created_at bigint NOT NULL,
  updated_at bigint NOT NULL,
  paused_at  bigint,
  last       uuid,
  cancels    uuid,
  namespace  text COLLATE "C" NOT NULL,
  name       text COLLATE "C" NOT NULL,
  paused_by  text,
  note       text,
  settings   text NOT NULL,
  declared   text
) WITH (fillfactor = 70);
CREATE UNIQUE INDEX schedule_name ON {schema}.schedule (namespace, name);
CREATE INDEX schedule_due ON {schema}.schedule (next_at) WHERE next_at IS NOT NULL AND paused_at IS NULL;

-- Nominal times, and what became of them. manual is 0 if the clock has fired.
CREATE TABLE {schema}.schedule_run (
  schedule bigint NOT NULL,
  nominal  bigint NOT NULL,
  manual   bigint NOT NULL,
  at       bigint NOT NULL,
  job      uuid,
  state    smallint NOT NULL,
  PRIMARY KEY (schedule, nominal, manual)
);
CREATE INDEX schedule_run_at ON {schema}.schedule_run (schedule, at);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (17, 'schedules', {schema}.clock(NULL));
