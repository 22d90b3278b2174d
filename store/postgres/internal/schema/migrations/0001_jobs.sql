-- The tables of jobs. Times are microseconds since 1970, ids are UUIDs, states are those of store.State.
-- {schema} is the schema of the store, "holdfast" by default.

-- It may be there already, made for a role that must not make one: CREATE SCHEMA IF NOT EXISTS would want that right all the same.
SELECT set_config('holdfast.schema', {schema_name}, false);
DO $$
BEGIN
  IF to_regnamespace(quote_ident(current_setting('holdfast.schema'))) IS NULL THEN
    EXECUTE format('CREATE SCHEMA %I', current_setting('holdfast.schema'));
  END IF;
END $$;

CREATE TABLE {schema}.migration (
  version    int PRIMARY KEY,
  name       text NOT NULL,
  applied_at bigint NOT NULL
);

-- A queue is interned before its first job is inserted; created_at says since when it exists.
CREATE TABLE {schema}.queue (
  id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace  text NOT NULL,
  name       text NOT NULL,
  created_at bigint,
  paused_at  bigint,
  paused_by  text,
  UNIQUE (namespace, name)
);

-- What a claim chooses by: jobs of one lane differ only in their run time. What a row says is never changed, so that every process may
-- cache it.
CREATE TABLE {schema}.lane (
  id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue    int NOT NULL REFERENCES {schema}.queue,
  kind     text NOT NULL,
  priority int NOT NULL,
  UNIQUE (queue, kind, priority)
);

-- The body of a job, which success never touches. run_at, lease and attempt change when a job is put back: then run_at
-- is that of its pointer, lease the last lease number handed out, attempt the attempts counted so far. One partition
-- holds the jobs of one day, by the time in their UUIDv7; the default partition holds what outlived its day.
CREATE TABLE {schema}.job (
  id            uuid NOT NULL PRIMARY KEY,
  run_at        bigint NOT NULL,
  created_at    bigint NOT NULL,
  lease         bigint NOT NULL,
  lane          int NOT NULL,
  attempt       int NOT NULL,
  max_attempts  int NOT NULL,
  codec         int NOT NULL,
  unique_states int,
  args          bytea NOT NULL,
  options       json,
  tags          jsonb,
  metadata      json,
  ordering_key  text,
  unique_key    bytea
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.job_default PARTITION OF {schema}.job DEFAULT;

-- Pointers. A job has exactly one: here, in keyed, in deferred, in a claim, or in finished. Rows of the first three
-- are inserted and deleted but never updated, so that a locked row stays where it is.
CREATE TABLE {schema}.ready (
  run_at bigint NOT NULL,
  id     uuid NOT NULL,
  lane   int NOT NULL,
  PRIMARY KEY (lane, run_at, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

-- Available jobs that wait for the turn of their ordering key.
CREATE TABLE {schema}.keyed (
  run_at       bigint NOT NULL,
  id           uuid NOT NULL,
  queue        int NOT NULL,
  priority     int NOT NULL,
  lane         int NOT NULL,
  ordering_key text NOT NULL,
  PRIMARY KEY (queue, ordering_key, priority, run_at, id)
);

-- The job that has the turn, from its release into ready until it is finished.
CREATE TABLE {schema}.key_holder (
  id           uuid NOT NULL,
  queue        int NOT NULL,
  ordering_key text NOT NULL,
  PRIMARY KEY (queue, ordering_key)
);

-- "Look at this key": written in the transaction that changes keyed or frees a turn, consumed by who hands on turns.
-- So an enqueue never touches key_holder, and a long transaction of a user holds up nobody.
CREATE TABLE {schema}.key_check (
  seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue        int NOT NULL,
  ordering_key text NOT NULL
);

CREATE TABLE {schema}.deferred (
  due          bigint NOT NULL,
  id           uuid NOT NULL,
  lane         int NOT NULL,
  state        int NOT NULL,
  ordering_key text,
  PRIMARY KEY (due, id)
);

-- For the counts of a queue.
CREATE INDEX deferred_lane ON {schema}.deferred (lane, state);

-- One record per claimed batch. Slot i is bit 1 << i of done and all_slots and element i + 1 of ids; leases holds the lease
-- numbers, and is NULL if all of them are 1, as they nearly always are. Updates of done stay in the page.
CREATE TABLE {schema}.claim (
  node       bigint NOT NULL,
  seq        bigint NOT NULL,
  claimed_at bigint NOT NULL,
  done       bigint NOT NULL,
  all_slots  bigint NOT NULL,
  ids        uuid[] NOT NULL,
  leases     bigint[],
  PRIMARY KEY (node, seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

-- lease, node and claimed_at are those of the run that ended the job, NULL if it was not running. Lane and attempt are
-- not repeated here: completing a job reads no body.
CREATE TABLE {schema}.finished (
  id          uuid NOT NULL PRIMARY KEY,
  finished_at bigint NOT NULL,
  lease       bigint,
  node        bigint,
  claimed_at  bigint,
  state       int NOT NULL,
  reason      text,
  error       text,
  result      bytea
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.finished_default PARTITION OF {schema}.finished DEFAULT;

-- For lists of what did not complete.
CREATE INDEX finished_not_completed ON {schema}.finished (state, id) WHERE state <> 6;

-- For retention, which drops the other partitions as a whole.
CREATE INDEX finished_default_by_time ON {schema}.finished_default (state, finished_at);

-- One row per run that ended in anything but completion. reported: the run said so itself, and may say it again.
CREATE TABLE {schema}.attempt (
  id         uuid NOT NULL,
  lease      bigint NOT NULL,
  node       bigint NOT NULL,
  claimed_at bigint NOT NULL,
  started_at bigint,
  ended_at   bigint NOT NULL,
  attempt    int NOT NULL,
  outcome    int NOT NULL,
  reported   boolean NOT NULL,
  reason     text,
  error      text,
  trace      text,
  PRIMARY KEY (id, lease)
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.attempt_default PARTITION OF {schema}.attempt DEFAULT;

CREATE TABLE {schema}.checkpoint (
  id         uuid PRIMARY KEY,
  lease      bigint NOT NULL,
  percent    double precision NOT NULL,
  updated_at bigint NOT NULL,
  message    text,
  value      json
) WITH (fillfactor = 70);

CREATE TABLE {schema}.unique_key (
  key bytea PRIMARY KEY,
  id  uuid NOT NULL
);

CREATE TABLE {schema}.cancel_request (
  id     uuid PRIMARY KEY,
  at     bigint NOT NULL,
  reason text,
  actor  text
);

-- last_seq is the highest number of a claim that was repeated and has happened, so that one that arrives late takes nothing again.
CREATE TABLE {schema}.node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at bigint NOT NULL,
  beat_at    bigint NOT NULL,
  dead_at    bigint,
  last_seq   bigint NOT NULL,
  name       text NOT NULL,
  version    text NOT NULL,
  info       json NOT NULL
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

CREATE TABLE {schema}.leader (
  name       text PRIMARY KEY,
  node       bigint NOT NULL,
  epoch      bigint NOT NULL,
  expires_at bigint NOT NULL
);

-- What people did.
CREATE TABLE {schema}.audit (
  seq    bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at     bigint NOT NULL,
  actor  text NOT NULL,
  action text NOT NULL,
  job    uuid,
  queue  int,
  detail text
);

-- The clock of liveness: the database's at this very moment, or the injected one.
CREATE FUNCTION {schema}.clock(injected bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT coalesce(injected, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

-- Ends the transaction of a statement that found something else than it was made for: its caller then takes the
-- careful way. HF001 is no code of PostgreSQL's.
CREATE FUNCTION {schema}.refuse(why text) RETURNS int LANGUAGE plpgsql AS
  $$BEGIN RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = why; END$$;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (1, 'jobs', {schema}.clock(NULL));
