-- Classes of retention, which queues name in what is set of them. Times are in microseconds; 0: that of the
-- database, -1: for ever.
CREATE TABLE {schema}.retention_class (
  name      text COLLATE "C" PRIMARY KEY,
  completed bigint NOT NULL,
  failed    bigint NOT NULL,
  cancelled bigint NOT NULL,
  set_at    bigint NOT NULL,
  set_by    text
);

-- How many jobs retention has removed: one row for each day since 1970, queue and state. It names the queue, whose row may go.
CREATE TABLE {schema}.removed (
  day       int NOT NULL,
  namespace text NOT NULL,
  queue     text COLLATE "C" NOT NULL,
  state     int NOT NULL,
  jobs      bigint NOT NULL,
  PRIMARY KEY (namespace, day, queue, state)
);

CREATE INDEX removed_day ON {schema}.removed (day);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (39, 'retention', {schema}.clock(NULL), 36);
