-- The schema: all tables and functions of Holdfast in a PostgreSQL database. {schema} is the schema of the store, "holdfast" by
-- default.
--
-- Times are microseconds since 1970, unless something else is said; ids of jobs are UUIDs; states are those of store.State. In a table
-- columns of a fixed width come before the others, and those that are seldom NULL before those that often are: so rows are small, and
-- quickly read.
--
-- What belongs to jobs, and grows with them, has a partition for each day (see package schema), by the time in the UUIDv7 of a job. The
-- default partition holds what outlived its day.


-- THE DATABASE

-- The schema may be there already, made for a role that must not make one: CREATE SCHEMA IF NOT EXISTS would want that right all the
-- same.
SELECT set_config('holdfast.schema', {schema_name}, false);
DO $$
BEGIN
  IF to_regnamespace(quote_ident(current_setting('holdfast.schema'))) IS NULL THEN
    EXECUTE format('CREATE SCHEMA %I', current_setting('holdfast.schema'));
  END IF;
END $$;

-- Which migrations the database has. A migration serves the programs that know the version serves, or a later one: they work on as
-- before. A program that opens a database of a version that it does not know looks whether all of the migrations that it does not
-- know serve it. NULL: none that does not know the migration.
CREATE TABLE {schema}.migration (
  version    int PRIMARY KEY,
  name       text NOT NULL,
  applied_at bigint NOT NULL,
  serves     int
);

-- What is known of the database as a whole, such as its id, which tells it from others, and the copy of another database into it.
CREATE TABLE {schema}.meta (
  name  text PRIMARY KEY,
  value text NOT NULL
);

INSERT INTO {schema}.meta (name, value) VALUES ('database_id', md5(random()::text || clock_timestamp()::text || txid_current()::text));

-- The clock of liveness: the database's at this very moment, or the injected one.
CREATE FUNCTION {schema}.clock(injected bigint) RETURNS bigint LANGUAGE sql VOLATILE AS
  'SELECT coalesce(injected, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)';

-- Ends the transaction of a statement that found something else than it was made for: its caller then takes the careful way. HF001 is
-- no code of PostgreSQL's.
CREATE FUNCTION {schema}.refuse(why text) RETURNS int LANGUAGE plpgsql AS
  $$BEGIN RAISE EXCEPTION USING ERRCODE = 'HF001', MESSAGE = why; END$$;


-- NAMESPACES, QUEUES AND LANES

-- Namespaces that people have made; others are there because something is in them.
CREATE TABLE {schema}.namespace (
  name       text COLLATE "C" PRIMARY KEY,
  note       text NOT NULL,
  created_at bigint NOT NULL,
  created_by text NOT NULL
);

-- A queue is interned before its first job is inserted; created_at says since when it exists. One that people have deleted (deleted_at)
-- is listed only while it has jobs that are not finished. Until rest_until nothing of the queue is claimed; rest_level is how many rests
-- have followed each other. attempts is what a person has set of how its jobs are attempted, a JSON document.
CREATE TABLE {schema}.queue (
  id         int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  rest_level int NOT NULL DEFAULT 0,
  namespace  text NOT NULL,
  name       text NOT NULL,
  created_at bigint,
  deleted_at bigint,
  paused_at  bigint,
  rest_until bigint,
  paused_by  text,
  attempts   text,
  UNIQUE (namespace, name)
);

-- Read by nodes, and nearly always empty.
CREATE INDEX queue_attempts ON {schema}.queue (namespace) WHERE attempts IS NOT NULL;

-- What a claim chooses by: jobs of one lane differ only in their run time. The name of a kind may be followed by the limit per key in
-- which the jobs count. But for used_on a row never changes, so that every process may cache it.
--
-- used_on is the day, counted from 1970, on which a job was last put into the lane; it may be a little later than the last job. Lanes
-- that have not been used for long, and queues without lanes, are removed, so a process looks on each day whether a lane that it
-- remembers is still there.
CREATE TABLE {schema}.lane (
  id       int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue    int NOT NULL REFERENCES {schema}.queue,
  priority int NOT NULL,
  used_on  int NOT NULL,
  kind     text NOT NULL,
  UNIQUE (queue, kind, priority)
);

-- Days on which transactions of callers have put jobs into lanes, which the leader adds to the lanes themselves. A caller's transaction
-- may stay open, and so locks no lane: it only adds rows here.
CREATE TABLE {schema}.lane_use (
  lane int NOT NULL,
  day  int NOT NULL
);

CREATE INDEX lane_use_lane ON {schema}.lane_use (lane, day);


-- JOBS

-- The body of a job, which success never touches. run_at, lease and attempt change when a job is put back: then run_at is that of its
-- pointer, lease the last lease number handed out, attempt the attempts counted so far.
--
-- claimed_at is that of the last run that parked, which leaves no attempt. closing is the Seq of the entry with which the end of the job
-- was decided. parent is the job whose child it is, or its batch; link is a sum: its store.ClosePolicy, 4 if it answers its parent, 8 if
-- it has successors, 16 if its parent is a batch. remembers: it has a journal, so that a claim need not look; set when the job is put
-- back. Most jobs have nothing of this, which takes no room.
CREATE TABLE {schema}.job (
  id            uuid NOT NULL PRIMARY KEY,
  run_at        bigint NOT NULL,
  created_at    bigint NOT NULL,
  lease         bigint NOT NULL,
  lane          int NOT NULL,
  attempt       int NOT NULL,
  max_attempts  int NOT NULL,
  codec         int NOT NULL,
  claimed_at    bigint,
  closing       bigint,
  parent        uuid,
  link          int,
  unique_states int,
  remembers     boolean,
  args          bytea NOT NULL,
  options       json,
  tags          jsonb,
  metadata      json,
  ordering_key  text,
  unique_key    bytea
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.job_default PARTITION OF {schema}.job DEFAULT;

-- Of a job that has no parent nothing is written here.
CREATE INDEX job_parent ON {schema}.job (parent, id) WHERE parent IS NOT NULL;

-- The jobs of a key of a limit per key. Of other jobs it has nothing: whether one has a key is told by its options, without reading
-- them as JSON.
CREATE INDEX job_limit_key ON {schema}.job ((options ->> 'limit_key'), id) WHERE strpos(options::text, '"limit_key"') > 0;

-- Where the jobs of a lane are among all jobs, for lists of a few in a large history: that a lane has bodies whose ids were made in a
-- bucket, which is 16 milliseconds of the time in their ids: its number is the first 44 bits of these. A busy lane has about 62 rows for
-- a second, a lane with little to do one for each job. It is not unique, as nobody is to wait for the open transaction of a caller: the
-- same row may be there several times, and there may be rows without bodies. Retention removes what is too much.
CREATE TABLE {schema}.lane_span (
  bucket bigint NOT NULL,
  lane   int NOT NULL
);

CREATE INDEX lane_span_lane ON {schema}.lane_span (lane, bucket);

-- What is there is enough, unless it is so old that retention may be removing it at this moment: that removes nothing before a day has
-- gone by. The functions run with the rights of the owner: who only enqueues needs none on the table. A session that was there when the
-- table was small must not go on to read all of it.
CREATE FUNCTION {schema}.span_of_new() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  INSERT INTO lane_span (lane, bucket)
  SELECT a.lane, a.bucket FROM (
    SELECT DISTINCT m.lane, ('x' || left(encode(m.made, 'hex'), 11))::bit(44)::bigint AS bucket
    FROM (SELECT DISTINCT lane, substring(uuid_send(id) FOR 6) AS made FROM arrived) m
  ) a
  WHERE a.bucket < (extract(epoch FROM clock_timestamp()) * 1000)::bigint / 16 - 3600000 / 16
    OR NOT EXISTS (SELECT 1 FROM lane_span s WHERE s.lane = a.lane AND s.bucket = a.bucket OFFSET 0);
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.span_of_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO lane_span (lane, bucket) VALUES (NEW.lane, ('x' || left(encode(uuid_send(NEW.id), 'hex'), 11))::bit(44)::bigint);
  RETURN NULL;
END $$;

-- Who may call one could hang it on a table of his own.
REVOKE EXECUTE ON FUNCTION {schema}.span_of_new(), {schema}.span_of_moved() FROM PUBLIC;

CREATE TRIGGER span_of_new AFTER INSERT ON {schema}.job
REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION {schema}.span_of_new();
CREATE TRIGGER span_of_moved AFTER UPDATE OF lane ON {schema}.job
FOR EACH ROW WHEN (OLD.lane IS DISTINCT FROM NEW.lane) EXECUTE FUNCTION {schema}.span_of_moved();


-- POINTERS: where a job stands. A job has exactly one: in ready, keyed, gated, deferred, a claim, or finished. Rows of the first four
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

-- The job that has the turn of an ordering key, from its release into ready until it is finished.
CREATE TABLE {schema}.key_holder (
  id           uuid NOT NULL,
  queue        int NOT NULL,
  ordering_key text NOT NULL,
  PRIMARY KEY (queue, ordering_key)
);

-- "Look at this key": written in the transaction that changes keyed or frees a turn, consumed by who hands on turns. So an enqueue never
-- touches key_holder, and a long transaction of a user holds up nobody.
CREATE TABLE {schema}.key_check (
  seq          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  queue        int NOT NULL,
  ordering_key text NOT NULL
);

-- Available jobs that wait because as many run of their key as its limit per key lets. A gate is a number made of the limit and the
-- key. By lane, so that who puts jobs back into ready passes over lanes whose queues are paused, however many wait there.
CREATE TABLE {schema}.gated (
  gate     bigint NOT NULL,
  run_at   bigint NOT NULL,
  id       uuid NOT NULL,
  priority int NOT NULL,
  lane     int NOT NULL,
  PRIMARY KEY (gate, lane, run_at, id)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX gated_lane ON {schema}.gated (lane, run_at, id);

-- "Look at this gate": written in the transaction that ends a run, if jobs wait there, and consumed by who lets them go on.
CREATE TABLE {schema}.gate_check (
  seq  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  gate bigint NOT NULL
);

-- When all gates at which jobs wait were last looked at. One row.
CREATE TABLE {schema}.gate_sweep (
  id int PRIMARY KEY,
  at bigint NOT NULL
);

INSERT INTO {schema}.gate_sweep (id, at) VALUES (1, 0);

-- Jobs that wait for their time, or for something else.
--
-- What a waiting job waits for (state 5) is NULL in rows of other states. A message with a greater seq than seen wakes it if its kind is
-- a bit of kinds, if its seq is enough or more, or if it tells of a failure. A job that is held is woken by nothing: its due time is the
-- greatest that there is, was_state and was_due say what it was before, and was_run_at is the run time that it shows if it ends like
-- this. handed_over: to an outside system, which ends the job; 1, or 2 if its run has registered compensations.
CREATE TABLE {schema}.deferred (
  due          bigint NOT NULL,
  id           uuid NOT NULL,
  lane         int NOT NULL,
  state        int NOT NULL,
  seen         bigint,
  enough       bigint,
  since        bigint,
  until        bigint,
  was_due      bigint,
  was_run_at   bigint,
  was_state    int,
  kinds        int,
  handed_over  smallint,
  failures     boolean,
  held         boolean,
  ordering_key text,
  reason       text,
  error        text,
  waits_for    text,
  PRIMARY KEY (due, id)
);

-- What is deferred, by its time within a lane.
CREATE INDEX deferred_lane ON {schema}.deferred (lane, state, due);

-- Running jobs: one record per claimed batch. Slot i is bit 1 << i of done and all_slots and element i + 1 of ids. leases holds the
-- lease numbers, and is NULL if all of them are 1, as they nearly always are. gates holds the gates of the slots, NULL for jobs that have
-- none; it is NULL if none has one, as nearly always. Updates of done stay in the page.
CREATE TABLE {schema}.claim (
  node       bigint NOT NULL,
  seq        bigint NOT NULL,
  claimed_at bigint NOT NULL,
  done       bigint NOT NULL,
  all_slots  bigint NOT NULL,
  ids        uuid[] NOT NULL,
  leases     bigint[],
  gates      bigint[],
  PRIMARY KEY (node, seq)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX claim_gates ON {schema}.claim (node, seq) WHERE gates IS NOT NULL;

-- How jobs ended. lease, node, claimed_at and started_at, when its handler was called, are those of the run that ended the job, NULL if
-- it was not running. lane is that of a job that failed or was cancelled, and NULL for one that completed: completing a job reads no
-- body. codec is how the result is encoded, and fingerprint what the failure has in common with others.
CREATE TABLE {schema}.finished (
  id          uuid NOT NULL PRIMARY KEY,
  finished_at bigint NOT NULL,
  lease       bigint,
  node        bigint,
  claimed_at  bigint,
  started_at  bigint,
  state       int NOT NULL,
  lane        int,
  codec       int,
  fingerprint bigint,
  reason      text,
  error       text,
  result      bytea
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.finished_default PARTITION OF {schema}.finished DEFAULT;

-- For lists of what did not complete.
CREATE INDEX finished_not_completed ON {schema}.finished (state, id) WHERE state <> 6;
CREATE INDEX finished_lane ON {schema}.finished (lane) WHERE state <> 6;
CREATE INDEX finished_by_time ON {schema}.finished (state, finished_at, id) WHERE state <> 6;

-- All that finished, whose times grow as the table does: which pages have jobs that finished at a time. What completes pays for no other
-- index than this one, which has an entry for 128 pages, not for fewer. Entries are made by autovacuum workers, which take 256 requests
-- for all databases of a server between two of their rounds (autovacuum_naptime, a minute), and the server logs each one that does not
-- fit: at 32 pages from 11,000 completions a second on, or 1,000 with results of a kilobyte. Pages without an entry are read by every
-- list until the next vacuum.
CREATE INDEX finished_times ON {schema}.finished USING brin (finished_at) WITH (pages_per_range = 128, autosummarize = on);

-- Jobs that failed, by what their failures have in common, and by when they did within that.
CREATE INDEX finished_dead ON {schema}.finished (lane, fingerprint, finished_at, id) WHERE state = 7;

-- For retention, which drops the other partitions as a whole.
CREATE INDEX finished_default_by_time ON {schema}.finished_default (state, finished_at);


-- RUNS

-- One row per run that ended in anything but completion. reported: the run said so itself, and may say it again. lost: it was lost with
-- its node, which died or gave it up.
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
  lost       boolean,
  reason     text,
  error      text,
  trace      text,
  PRIMARY KEY (id, lease)
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.attempt_default PARTITION OF {schema}.attempt DEFAULT;

CREATE INDEX attempt_lost ON {schema}.attempt (node, id) WHERE NOT reported;

CREATE TABLE {schema}.checkpoint (
  id         uuid PRIMARY KEY,
  lease      bigint NOT NULL,
  percent    double precision NOT NULL,
  updated_at bigint NOT NULL,
  message    text,
  value      json
) WITH (fillfactor = 70);

-- What the runs of jobs have logged, in chunks of lines. first is the number of the first line in its run. A job that logs nothing has
-- no row.
CREATE TABLE {schema}.job_log (
  id      uuid NOT NULL,
  lease   bigint NOT NULL,
  first   bigint NOT NULL,
  attempt int NOT NULL,
  count   int NOT NULL,
  lines   bytea NOT NULL,
  PRIMARY KEY (id, lease, first)
);

-- Running jobs that people want to be cancelled. seen: a run of the job knew of it when it ended, and so had its chance to end the job.
CREATE TABLE {schema}.cancel_request (
  id     uuid PRIMARY KEY,
  at     bigint NOT NULL,
  seen   boolean NOT NULL DEFAULT false,
  reason text,
  actor  text
);

-- Running jobs that are to be held when they are put back.
CREATE TABLE {schema}.pause_request (
  id     uuid PRIMARY KEY,
  at     bigint NOT NULL,
  reason text,
  actor  text
);


-- KEYS OF JOBS

CREATE TABLE {schema}.unique_key (
  key bytea PRIMARY KEY,
  id  uuid NOT NULL
);

-- Business keys: the job that has one, within a namespace and kind, or had it last. keep is for how many microseconds a finished job
-- holds it; negative is for ever. until is when the key is free: NULL as long as the job is there and its retention is not over. args is
-- a hash of those that it was enqueued with. taken counts how often the key was taken, so that two who take it at once notice each
-- other. That a job finishes changes nothing here.
CREATE TABLE {schema}.job_key (
  id        uuid NOT NULL,
  keep      bigint NOT NULL,
  until     bigint,
  taken     bigint NOT NULL,
  namespace text COLLATE "C" NOT NULL,
  kind      text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  args      bytea NOT NULL,
  PRIMARY KEY (namespace, kind, key)
);

-- For retention: the keys of jobs, and those that are free. One that is kept for ever is in neither.
CREATE INDEX job_key_job ON {schema}.job_key (id) WHERE until IS NULL;
CREATE INDEX job_key_until ON {schema}.job_key (until) WHERE until < 9223372036854775807;

-- The signals that were sent along with enqueues, by the id and the namespace of the enqueue: the job that each has reached, its number
-- there, and whether that job was enqueued with other args. A repeated enqueue is recognised by it, also after another job has taken the
-- key.
CREATE TABLE {schema}.key_sent (
  id        uuid NOT NULL,
  job       uuid NOT NULL,
  seq       bigint NOT NULL,
  at        bigint NOT NULL,
  differs   boolean NOT NULL,
  namespace text NOT NULL,
  PRIMARY KEY (id, namespace)
);

CREATE INDEX key_sent_at ON {schema}.key_sent (at);


-- DURABLE FUNCTIONS: what jobs remember, what was sent to them, and whose children they are

-- What jobs remember. lease is that of the run that wrote the entry, 0 of a copy; took is how long a step took. Rows are inserted by runs
-- and removed by people, by a job that begins anew, and by retention.
CREATE TABLE {schema}.journal (
  id    uuid NOT NULL,
  seq   bigint NOT NULL,
  at    bigint NOT NULL,
  lease bigint NOT NULL,
  took  bigint,
  ref   bigint,
  codec int NOT NULL,
  kind  smallint NOT NULL,
  path  text NOT NULL,
  name  text,
  data  bytea,
  PRIMARY KEY (id, seq)
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.journal_default PARTITION OF {schema}.journal DEFAULT;

-- For what is asked by its name: callbacks by those who complete them, values and streams by clients.
CREATE INDEX journal_named ON {schema}.journal (id, kind, name, seq) WHERE kind IN (8, 12, 13);

-- What jobs have published and streamed stays when they continue as new, before the entry with which they last did (kind 16). Of those
-- that ever did this is the number of that entry, with which what they remember begins. Most never do, and a look at a small table tells.
CREATE TABLE {schema}.generation (
  id    uuid PRIMARY KEY,
  first bigint NOT NULL
) WITH (fillfactor = 70);

-- What was sent to jobs. Whoever inserts holds a lock on the job's body, so that seq has no gaps and nobody parks meanwhile. from_id,
-- state and reason are of a child that finished. trace is the header traceparent of W3C Trace Context of the span in which the message
-- was sent; NULL: it was in none.
CREATE TABLE {schema}.inbox (
  id      uuid NOT NULL,
  seq     bigint NOT NULL,
  at      bigint NOT NULL,
  from_id uuid,
  codec   int NOT NULL,
  kind    smallint NOT NULL,
  state   smallint,
  name    text,
  key     text,
  reason  text,
  error   text,
  trace   text,
  data    bytea,
  PRIMARY KEY (id, seq)
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.inbox_default PARTITION OF {schema}.inbox DEFAULT;

CREATE UNIQUE INDEX inbox_key ON {schema}.inbox (id, key) WHERE key IS NOT NULL;

-- A callback is completed or failed once.
CREATE UNIQUE INDEX inbox_callback ON {schema}.inbox (id, name) WHERE kind IN (2, 3);

-- Requests to runs, with their answers. The number of one is drawn while the job's body is locked, and never again, so that a run which
-- knows the last one knows what came later. verdict is NULL while a request is open.
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

-- Those that were refused, which are kept for a minute.
CREATE INDEX job_update_refused ON {schema}.job_update (answered_at) WHERE verdict = 3;

-- Answers of jobs that callers' transactions have ended, on their way to the jobs' parents: such a transaction, which may stay open, does
-- not lock the parents. They are delivered in the order of seq.
CREATE TABLE {schema}.untold (
  id     uuid NOT NULL PRIMARY KEY,
  seq    bigint GENERATED ALWAYS AS IDENTITY,
  parent uuid NOT NULL,
  state  smallint NOT NULL,
  codec  int NOT NULL,
  reason text,
  error  text,
  data   bytea
);

-- By parent, so that one that a caller's transaction has is passed over with all its answers.
CREATE INDEX untold_parent ON {schema}.untold (parent, seq);

-- Finished jobs whose children are still to be closed; after is the last child that was.
CREATE TABLE {schema}.closed_parent (
  id    uuid PRIMARY KEY,
  at    bigint NOT NULL,
  after uuid
);


-- DEPENDENCIES AND BATCHES

-- Jobs that come after others. A row is one that a job still waits for. told is how the predecessor ended, as the job was told of a
-- failure for which it waits for a person; NULL if it was not.
CREATE TABLE {schema}.edge (
  predecessor uuid NOT NULL,
  successor   uuid NOT NULL,
  policy      smallint NOT NULL,
  told        smallint,
  PRIMARY KEY (predecessor, successor)
);

CREATE INDEX edge_successor ON {schema}.edge (successor, predecessor);

-- Predecessors to look at: those that have finished, with what has noted that, and those whose runs may not know of their successors.
-- There may be several of one, so that nobody waits for a transaction that adds one. marked_at is when the body of the predecessor said
-- that it has successors, as was seen.
CREATE TABLE {schema}.edge_check (
  seq         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  marked_at   bigint,
  predecessor uuid NOT NULL
);

-- They are read a portion at a time, in the order of the predecessors.
CREATE INDEX edge_check_predecessor ON {schema}.edge_check (predecessor);

-- Batches of jobs. settings is what they are for, a JSON document. Members are found by job_parent. They are counted once the batch is
-- closed and sealed, which is when no transaction that was adding to it is open any more, in the order of their ids: cursor is the last
-- one that was counted.
CREATE TABLE {schema}.batch (
  id         uuid PRIMARY KEY,
  namespace  text NOT NULL,
  settings   text NOT NULL,
  created_at bigint NOT NULL,
  closed_at  bigint,
  done_at    bigint,
  completed  bigint NOT NULL DEFAULT 0,
  failed     bigint NOT NULL DEFAULT 0,
  cancelled  bigint NOT NULL DEFAULT 0,
  cursor     uuid,
  sealed     boolean NOT NULL DEFAULT false,
  through    boolean NOT NULL DEFAULT false,
  version    bigint NOT NULL DEFAULT 1
) WITH (fillfactor = 70);

CREATE INDEX batch_namespace ON {schema}.batch (namespace, id);
CREATE INDEX batch_undone ON {schema}.batch (id) WHERE done_at IS NULL;
CREATE INDEX batch_done ON {schema}.batch (done_at) WHERE done_at IS NOT NULL;

-- Members of batches that were counted and that a person has retried since: state is how they had ended when they were counted.
CREATE TABLE {schema}.batch_retried (
  batch uuid NOT NULL,
  id    uuid NOT NULL,
  state smallint NOT NULL,
  PRIMARY KEY (batch, id)
);


-- SCHEDULES

-- settings is a document of package store; what changes with a fire is in columns. cancels is a job that is to be asked to stop.
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

-- One that is paused is looked at, too, if a job is to be asked to stop that a trigger has replaced.
CREATE INDEX schedule_due ON {schema}.schedule (next_at) WHERE next_at IS NOT NULL AND (paused_at IS NULL OR cancels IS NOT NULL);

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


-- LIMITS

-- Limits of how much runs at once, and of how much starts. settings is a document of package store, which has the capacity and the unit,
-- too.
--
-- Permits of a rate are period microseconds apart (0: there are none; NULL: the limit has no rate), and burst at once. tat is when the
-- next one comes if none are saved up, seen the time of the last change, move counts changes, and before drained_until no permit comes.
-- key_period and key_burst are those of the rate that each key has, as claims read them. unit is in how many slots a limit is divided
-- that nodes share evenly, and NULL of others. A rule with a rate is updated often, in place.
CREATE TABLE {schema}.limit_rule (
  id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  version       bigint NOT NULL,
  capacity      bigint NOT NULL,
  created_at    bigint NOT NULL,
  updated_at    bigint NOT NULL,
  burst         bigint NOT NULL DEFAULT 1,
  tat           bigint NOT NULL DEFAULT 0,
  seen          bigint NOT NULL DEFAULT 0,
  move          bigint NOT NULL DEFAULT 0,
  drained_until bigint NOT NULL DEFAULT 0,
  unit          bigint,
  wanted_at     bigint,
  period        bigint,
  key_period    bigint,
  key_burst     bigint,
  namespace     text COLLATE "C" NOT NULL,
  name          text COLLATE "C" NOT NULL,
  settings      text NOT NULL,
  declared      text
) WITH (fillfactor = 50);

CREATE UNIQUE INDEX limit_rule_name ON {schema}.limit_rule (namespace, name);

-- How many slots of a limit a node holds, and the number of the call that said so; of one that nodes share evenly, how many it wishes
-- for, and when it last said so. A row stays when a node holds none, for that number. Rows are updated often, in place.
CREATE TABLE {schema}.limit_grant (
  rule    bigint NOT NULL,
  node    bigint NOT NULL,
  held    bigint NOT NULL,
  call    bigint NOT NULL,
  want    bigint NOT NULL DEFAULT 0,
  want_at bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (rule, node)
) WITH (fillfactor = 50);

-- Where the rates of keys stand, those that jobs were claimed of lately: tat is when the next permit comes if none are saved up, counted
-- by a period. look_at is when a job that waits in gated may go on; NULL if none waits for the rate. While none does rows are updated in
-- place.
CREATE TABLE {schema}.key_rate (
  gate    bigint PRIMARY KEY,
  tat     bigint NOT NULL,
  period  bigint NOT NULL,
  look_at bigint
) WITH (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);

CREATE INDEX key_rate_look ON {schema}.key_rate (look_at) WHERE look_at IS NOT NULL;


-- NODES

-- last_seq is the highest number of a claim that was repeated and has happened, so that one that arrives late takes nothing again. ended
-- is how a node has ended: 1 it left, 2 it was declared dead; NULL: it lives. mode, mode_at and mode_by are what people want of it (1
-- quiet, 2 draining), since when, and who. unwell is what it says is wrong with it, a JSON array of texts.
CREATE TABLE {schema}.node (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  started_at bigint NOT NULL,
  beat_at    bigint NOT NULL,
  dead_at    bigint,
  last_seq   bigint NOT NULL,
  mode_at    bigint,
  mode       smallint,
  ended      smallint,
  name       text NOT NULL,
  version    text NOT NULL,
  info       json NOT NULL,
  mode_by    text,
  unwell     text
) WITH (fillfactor = 30, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500, autovacuum_vacuum_cost_delay = 0);

-- What remains of nodes whose rows are removed: by which program each has run, and when it ended.
CREATE TABLE {schema}.node_build (
  node     bigint PRIMARY KEY,
  ended_at bigint NOT NULL,
  program  text NOT NULL,
  engine   text NOT NULL
);

CREATE INDEX node_build_ended ON {schema}.node_build (ended_at);

-- Who does what only one node does. ttl is how long the lease was when it was taken: one that ends farther ahead was taken before the
-- clock went back, and is over.
CREATE TABLE {schema}.leader (
  name       text PRIMARY KEY,
  node       bigint NOT NULL,
  epoch      bigint NOT NULL,
  expires_at bigint NOT NULL,
  ttl        bigint
);


-- RETENTION

-- Classes of retention, which queues name in what is set of them. 0: the time of the database; -1: for ever.
CREATE TABLE {schema}.retention_class (
  name      text COLLATE "C" PRIMARY KEY,
  completed bigint NOT NULL,
  failed    bigint NOT NULL,
  cancelled bigint NOT NULL,
  set_at    bigint NOT NULL,
  set_by    text
);

-- How many jobs retention has removed, and how many of these have left a stub: one row for each day since 1970, queue and state. It
-- names the queue, whose row may go.
CREATE TABLE {schema}.removed (
  day       int NOT NULL,
  namespace text NOT NULL,
  queue     text COLLATE "C" NOT NULL,
  state     int NOT NULL,
  jobs      bigint NOT NULL,
  stubs     bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, day, queue, state)
);

CREATE INDEX removed_day ON {schema}.removed (day);

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


-- WHAT HAPPENS

-- The feed of changes. It is written by triggers, which SetFeed makes and drops: while it is off nothing knows of it. A job has one
-- pointer, so a statement that makes pointers is what changes states, and a trigger for the statement writes one row for all of them.
--
-- A trigger after a statement runs when the statement has waited for all locks that it waits for. So seq is larger than that of anything
-- that the statement has seen: causes before effects.

-- A row while the feed is on. life is the microsecond in which it was switched on.
CREATE TABLE {schema}.feed (
  life bigint NOT NULL
);

-- One row for a statement: n jobs that arrived in a state, or each in its own.
CREATE TABLE {schema}.feed_raw (
  seq     bigint GENERATED ALWAYS AS IDENTITY,
  xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at      bigint NOT NULL,
  n       int NOT NULL,
  state   smallint,
  ids     uuid[] NOT NULL,
  states  smallint[],
  reasons text[],
  PRIMARY KEY (xid, seq)
);

-- Its ids are compressed where the server can do so by LZ4 (PostgreSQL 14 and later, if built with it): ids of one moment have their
-- first bytes in common, so they take 12 bytes of the log instead of 16, at no cost that can be measured. By pglz it would be 15 bytes
-- and a microsecond for each, so without LZ4 they are not.
ALTER TABLE {schema}.feed_raw ALTER COLUMN ids SET STORAGE EXTERNAL;
DO $$
BEGIN
  EXECUTE format('ALTER TABLE %I.feed_raw ALTER COLUMN ids SET COMPRESSION lz4, ALTER COLUMN ids SET STORAGE EXTENDED',
    current_setting('holdfast.schema'));
EXCEPTION WHEN feature_not_supported OR syntax_error OR invalid_parameter_value THEN
  NULL;
END $$;

-- The order: each row gives positions to rows of feed_raw, first to last, in the order of the arrays. The newest one has the snapshot by
-- which its pass has looked: what that has not seen is new to the next pass. Two passes at once collide in first, so that one of them
-- does nothing. There is always a row while the feed is on.
CREATE TABLE {schema}.feed_order (
  first  bigint PRIMARY KEY,
  last   bigint NOT NULL,
  at     bigint NOT NULL,
  xids   xid8[] NOT NULL,
  seqs   bigint[] NOT NULL,
  counts int[] NOT NULL,
  snap   pg_snapshot
);

-- The triggers run with the rights of the owner: who only enqueues needs none on the feed.
CREATE FUNCTION {schema}.feed_available() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), 2, array_agg(id) FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_deferred() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids, states)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), CASE WHEN min(state) = max(state) THEN min(state) END,
    array_agg(id), CASE WHEN min(state) < max(state) THEN array_agg(state) END
  FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_claimed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), 3, array_agg(s.id)
  FROM arrived a CROSS JOIN LATERAL unnest(a.ids) AS s (id) HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_finished() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids, states, reasons)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), CASE WHEN min(state) = max(state) THEN min(state) END,
    array_agg(id), CASE WHEN min(state) < max(state) THEN array_agg(state) END, CASE WHEN count(reason) > 0 THEN array_agg(reason) END
  FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

-- Who may call one could hang it on a table of his own, and tell what never was.
REVOKE EXECUTE ON FUNCTION {schema}.feed_available(), {schema}.feed_deferred(), {schema}.feed_claimed(), {schema}.feed_finished() FROM PUBLIC;

-- What nodes have counted and measured, by the minute, and by the hour when it is older. A node has a row a minute, which it writes some
-- times in that minute: there is room for that. at is when the span begins.
CREATE TABLE {schema}.fact (
  namespace text COLLATE "C" NOT NULL,
  span      smallint NOT NULL,
  at        bigint NOT NULL,
  node      bigint NOT NULL,
  number    bigint NOT NULL,
  version   bigint NOT NULL,
  jobs      bytea,
  gauges    bytea,
  PRIMARY KEY (namespace, span, at, node, number)
) WITH (fillfactor = 50);

-- What is old, of all namespaces. Each is of one span, so that pages of one namespace, which name it in a parameter, do not use it.
CREATE INDEX fact_minutes ON {schema}.fact (at, namespace, node, number) WHERE span = 1;
CREATE INDEX fact_hours ON {schema}.fact (at, namespace, node, number) WHERE span = 2;


-- WHAT IS TOLD OF JOBS

-- What code tells of queues (subject 1) and kinds (2), for people: JSON, when it was told, and by which program.
CREATE TABLE {schema}.descriptor (
  namespace text COLLATE "C" NOT NULL,
  subject   smallint NOT NULL,
  name      text COLLATE "C" NOT NULL,
  at        bigint NOT NULL,
  program   text NOT NULL,
  engine    text NOT NULL,
  data      text NOT NULL,
  PRIMARY KEY (namespace, subject, name)
);

-- The search attributes that namespaces declare. leaving tells of one that its values are being removed.
CREATE TABLE {schema}.attribute (
  id          int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  namespace   text COLLATE "C" NOT NULL,
  name        text COLLATE "C" NOT NULL,
  type        int NOT NULL,
  declared_at bigint NOT NULL,
  leaving     boolean NOT NULL DEFAULT false,
  UNIQUE (namespace, name)
);

-- What jobs have for them, in bytes that are in the order of the values. A job that has none has no row.
CREATE TABLE {schema}.attribute_value (
  id        uuid NOT NULL,
  attribute int NOT NULL,
  value     bytea NOT NULL,
  PRIMARY KEY (id, attribute)
);

CREATE UNIQUE INDEX attribute_value_place ON {schema}.attribute_value (attribute, value, id);


-- SERVERS AND PEOPLE

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

-- Requests of callers that have a key of the caller's, so that a repeated one does nothing and is answered as the first one was. hash
-- names a request, print is what it asks. One with until has begun and is not known to have ended.
CREATE TABLE {schema}.request (
  hash   bytea PRIMARY KEY,
  print  bytea NOT NULL,
  at     bigint NOT NULL,
  until  bigint,
  owner  bytea,
  answer bytea NOT NULL
);

CREATE INDEX request_at ON {schema}.request (at);

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

-- What people did, which is listed, newest first: of all, of a namespace, and of what was changed. That is a job, a queue or a node, by
-- number, or what kind and name say. gone: the job was removed by a person, and what was done to it is not told of another one with its
-- id. before and after are what was set, as JSON objects without secrets.
CREATE TABLE {schema}.audit (
  seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        bigint NOT NULL,
  job       uuid,
  node      bigint,
  queue     int,
  gone      boolean,
  actor     text NOT NULL,
  action    text NOT NULL,
  namespace text COLLATE "C",
  kind      text COLLATE "C",
  name      text COLLATE "C",
  detail    text,
  before    text,
  after     text
);

CREATE INDEX audit_job ON {schema}.audit (job, seq) WHERE job IS NOT NULL;
CREATE INDEX audit_at ON {schema}.audit (at, seq);
CREATE INDEX audit_namespace ON {schema}.audit (namespace, at, seq) WHERE namespace IS NOT NULL;
CREATE INDEX audit_target ON {schema}.audit (kind, name, at, seq) WHERE kind IS NOT NULL;

-- Rows of jobs, queues and nodes are told of by number: here the names are added. A session that was there when the tables were small
-- must not go on to read all of them. The function runs with the rights of the owner: who may only write what is done needs none on the
-- other tables.
CREATE FUNCTION {schema}.audit_of() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp SET enable_seqscan = off AS $$
BEGIN
  IF NEW.job IS NOT NULL THEN
    NEW.namespace := (
      SELECT q.namespace FROM queue q WHERE q.id = (
        SELECT l.queue FROM lane l WHERE l.id = (SELECT j.lane FROM job j WHERE j.id = NEW.job)));
  ELSIF NEW.queue IS NOT NULL THEN
    NEW.kind := 'queue';
    SELECT q.namespace, q.name INTO NEW.namespace, NEW.name FROM queue q WHERE q.id = NEW.queue;
  ELSIF NEW.node IS NOT NULL THEN
    NEW.kind := 'node';
    NEW.name := NEW.node::text;
  END IF;
  RETURN NEW;
END $$;

-- Who may call it could hang it on a table of his own.
REVOKE EXECUTE ON FUNCTION {schema}.audit_of() FROM PUBLIC;

CREATE TRIGGER audit_of BEFORE INSERT ON {schema}.audit FOR EACH ROW EXECUTE FUNCTION {schema}.audit_of();


-- ENQUEUE FROM SQL
--
-- The function enqueue, in the transaction of its caller, from any language. It refuses what the library refuses, in the same words,
-- makes the same rows, unique keys of the same bytes, and the same notifications. The functions before it are its parts; they find each
-- other, and the tables, because enqueue sets the search path. Its rights are those of its caller.

SET check_function_bodies = off; -- they name each other without the schema

-- Ends the statement with the library's ErrInvalid.
CREATE FUNCTION {schema}.refuse_invalid(what text, why text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value', MESSAGE = 'holdfast: invalid request: ' || what || ': ' || why;
END $$;

-- Microseconds since 1970.
CREATE FUNCTION {schema}.micros_of(moment timestamptz) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN extract(epoch FROM moment) * 1000000;
END $$;

-- Nanoseconds, as Go counts durations. A month has 30 days, a year 365.25.
CREATE FUNCTION {schema}.nanos_of(what text, length interval) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF extract(epoch FROM length) > 9223372036 THEN
    PERFORM refuse_invalid(what, length || ' is longer than 292 years');
  END IF;
  RETURN extract(epoch FROM length) * 1000000000;
END $$;

-- For how long a finished job keeps its business key, in microseconds, or -1 for ever, which a negative or an infinite interval says.
CREATE FUNCTION {schema}.kept_for(length interval) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF length < interval '0' OR NOT isfinite(length) THEN
    RETURN -1;
  END IF;
  RETURN coalesce(nanos_of('keep_key', length) / 1000, 0);
END $$;

-- A text in quotes, with escapes for what cannot be seen.
CREATE FUNCTION {schema}.quoted(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT '"' || coalesce(string_agg(CASE
    WHEN c IN ('"', '\') THEN '\' || c
    WHEN ascii(c) BETWEEN 7 AND 13 THEN '\' || substr('abtnvfr', ascii(c) - 6, 1)
    WHEN ascii(c) < 32 OR ascii(c) = 127 THEN '\x' || lpad(to_hex(ascii(c)), 2, '0')
    WHEN ascii(c) > 159 AND wrong_in_name(c, false) IS NULL AND c !~ '[\u00A0\u1680\u2000-\u200F\u202F\u205F\u3000]' OR ascii(c) < 127 THEN c
    WHEN ascii(c) < 65536 THEN '\u' || lpad(to_hex(ascii(c)), 4, '0')
    ELSE '\U' || lpad(to_hex(ascii(c)), 8, '0')
  END, '' ORDER BY n), '') || '"' FROM unnest(string_to_array(value, NULL)) WITH ORDINALITY AS t (c, n)
$$;

-- The first character that a name may not have: a control character or, unless the name may be data of users, an invisible one.
CREATE FUNCTION {schema}.wrong_in_name(name text, is_data boolean) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF name !~ '[^ -~]' THEN
    RETURN NULL;
  ELSIF is_data THEN
    RETURN substring(name FROM '[\u0001-\u001F\u007F-\u009F]');
  END IF;
  RETURN substring(name FROM '[\u0001-\u001F\u007F-\u009F\u00AD\u0600-\u0605\u061C\u06DD\u070F\u0890\u0891\u08E2\u180E\u200B\u200E\u200F\u2028-\u202E'
    '\u2060-\u2064\u2066-\u206F\uFEFF\uFFF9-\uFFFB\U000110BD\U000110CD\U00013430-\U0001343F\U0001BCA0-\U0001BCA3\U0001D173-\U0001D17A'
    '\U000E0001\U000E0020-\U000E007F]');
END $$;

-- Names: not empty, of at most 200 bytes, and without wrong characters.
CREATE FUNCTION {schema}.check_name(what text, name text, is_data boolean DEFAULT false) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  wrong text;
BEGIN
  IF coalesce(name, '') = '' THEN
    PERFORM refuse_invalid(what, 'must not be empty');
  ELSIF octet_length(name) > 200 THEN
    PERFORM refuse_invalid(what, octet_length(name) || ' bytes exceed the limit of 200');
  END IF;
  wrong := wrong_in_name(name, is_data);
  IF ascii(wrong) < 160 THEN
    PERFORM refuse_invalid(what, quoted(name) || ' contains a control character');
  ELSIF wrong IS NOT NULL THEN
    PERFORM refuse_invalid(what, quoted(name) || ' contains the invisible character U+'
      || lpad(upper(to_hex(ascii(wrong))), greatest(4, length(to_hex(ascii(wrong)))), '0') || '; remove it');
  END IF;
END $$;

-- Business keys: not empty, of at most 512 bytes, and without control characters. NULL is none.
CREATE FUNCTION {schema}.check_key(key text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF key = '' THEN
    PERFORM refuse_invalid('key', 'must not be empty');
  ELSIF octet_length(key) > 512 THEN
    PERFORM refuse_invalid('key', octet_length(key) || ' bytes exceed the limit of 512');
  ELSIF wrong_in_name(key, true) IS NOT NULL THEN
    PERFORM refuse_invalid('key', quoted(key) || ' contains a control character');
  END IF;
END $$;

-- How deeply arrays and objects lie in each other, in a text that is JSON.
CREATE FUNCTION {schema}.json_depth(value text) RETURNS bigint LANGUAGE sql IMMUTABLE AS $$
  SELECT coalesce(max(depth), 0) FROM (
    SELECT sum(CASE WHEN c IN ('[', '{') THEN 1 ELSE -1 END) OVER (ORDER BY n) AS depth
    FROM unnest(string_to_array(regexp_replace(regexp_replace(value, '"(\\.|[^"\\])*"', '', 'g'), '[^][{}]', '', 'g'), NULL))
      WITH ORDINALITY AS t (c, n)
  ) d
$$;

-- The beginning of a text, for errors: at most 60 bytes.
CREATE FUNCTION {schema}.excerpt(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  shown text := left(value, 60);
BEGIN
  IF octet_length(value) <= 60 THEN
    RETURN value;
  END IF;
  WHILE octet_length(shown) > 60 LOOP
    shown := left(shown, -1);
  END LOOP;
  RETURN shown || '…';
END $$;

-- Payloads: JSON within a limit, without NUL, and not deeper than others read.
CREATE FUNCTION {schema}.check_json(what text, value text, most int) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  is_json boolean := true;
  depth bigint := 0;
BEGIN
  IF octet_length(value) > most THEN
    PERFORM refuse_invalid(what, format('%s bytes exceed the limit of %s; store large data elsewhere and pass a reference',
      octet_length(value), most));
  END IF;
  BEGIN
    PERFORM value::json;
  EXCEPTION WHEN invalid_text_representation OR statement_too_complex THEN
    is_json := false;
  END;
  IF is_json AND length(value) - length(translate(value, '[{', '')) > 200 THEN
    depth := json_depth(value);
  END IF;
  IF NOT is_json OR depth > 10000 THEN
    PERFORM refuse_invalid(what, 'not valid JSON: ' || excerpt(value));
  END IF;
  IF position('\u0000' IN value) > 0 AND value ~ '(^|[^\\])(\\\\)*\\u0000' THEN
    PERFORM refuse_invalid(what, 'it contains the NUL character (\u0000)');
  END IF;
  IF depth > 200 THEN
    PERFORM refuse_invalid(what, 'arrays and objects are nested more than 200 deep, which many readers cannot read');
  END IF;
END $$;

-- JSON whose strings can be read. Half of a surrogate pair, which is no character, becomes the replacement character, as in Go.
CREATE FUNCTION {schema}.readable_json(value text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF value !~* '\\ud[89a-f]' THEN
    RETURN value;
  END IF;
  RETURN (
    SELECT string_agg(CASE WHEN length(m[1]) = 6 AND m[1] ~* '^\\ud[89a-f]' THEN '\ufffd' ELSE m[1] END, '' ORDER BY n)
    FROM regexp_matches(value, '(\\u[dD][89abAB][[:xdigit:]]{2}\\u[dD][c-fC-F][[:xdigit:]]{2}|\\u[[:xdigit:]]{4}|\\.|[^\\]+)', 'g')
      WITH ORDINALITY AS t (m, n)
  );
END $$;

-- A string as JSON, with the escapes that Go writes.
CREATE FUNCTION {schema}.json_string(value text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN replace(replace(replace(replace(replace(to_json(value)::text,
    '<', '\u003c'), '>', '\u003e'), '&', '\u0026'), chr(8232), '\u2028'), chr(8233), '\u2029');
END $$;

-- JSON with the keys of its objects sorted, without white space, and numbers as they are written. Of equal keys the last one counts.
-- Every value has a path of places, by which what is written for it is ordered: indexes and keys, which are less than ff, where its
-- bracket closes.
CREATE FUNCTION {schema}.canonical_json(value json) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
#variable_conflict use_column
DECLARE
  words text;
BEGIN
  WITH RECURSIVE node AS (
    SELECT ARRAY[]::bytea[] AS path, '' AS lead, canonical_json.value, json_typeof(canonical_json.value) AS type
    UNION ALL
    SELECT n.path || m.place, m.lead, m.value, json_typeof(m.value)
    FROM node n CROSS JOIN LATERAL (
      SELECT convert_to(o.key, 'UTF8') AS place,
        CASE WHEN row_number() OVER (ORDER BY convert_to(o.key, 'UTF8')) > 1 THEN ',' ELSE '' END || json_string(o.key) || ':' AS lead, o.value
      FROM (
        SELECT DISTINCT ON (e.key COLLATE "C") e.key, e.value
        FROM json_each(CASE n.type WHEN 'object' THEN n.value END) WITH ORDINALITY AS e (key, value, place)
        ORDER BY e.key COLLATE "C", e.place DESC
      ) o
      UNION ALL
      SELECT int8send(a.place), CASE WHEN a.place > 1 THEN ',' ELSE '' END, a.value
      FROM json_array_elements(CASE n.type WHEN 'array' THEN n.value END) WITH ORDINALITY AS a (value, place)
    ) m
  ), written AS (
    SELECT path, lead || CASE type
      WHEN 'object' THEN '{' WHEN 'array' THEN '[' WHEN 'string' THEN json_string(value #>> '{}') ELSE btrim(value::text, E' \t\n\r')
    END AS words FROM node
    UNION ALL
    SELECT path || '\xff'::bytea, CASE type WHEN 'object' THEN '}' ELSE ']' END FROM node WHERE type IN ('object', 'array')
  )
  SELECT string_agg(w.words, '' ORDER BY w.path) INTO words FROM written w;
  RETURN words;
END $$;

-- A text in which letters of either case are the same, as Go folds them: what of each letter is the least that it is folded with.
CREATE FUNCTION {schema}.folded(value text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(chr(ascii(c) + coalesce(f.change, 0)), '' ORDER BY n)
  FROM unnest(string_to_array(value, NULL)) WITH ORDINALITY AS t (c, n)
  LEFT JOIN (VALUES
    (97, 122, -32, 1), (224, 246, -32, 1), (248, 254, -32, 1), (257, 303, -1, 2), (307, 311, -1, 2), (314, 328, -1, 2),
    (331, 375, -1, 2), (376, 376, -121, 1), (378, 382, -1, 2), (383, 383, -300, 1), (387, 389, -1, 2), (392, 392, -1, 1),
    (396, 396, -1, 1), (402, 402, -1, 1), (409, 409, -1, 1), (417, 421, -1, 2), (424, 424, -1, 1), (429, 429, -1, 1),
    (432, 432, -1, 1), (436, 438, -1, 2), (441, 441, -1, 1), (445, 445, -1, 1), (453, 453, -1, 1), (454, 454, -2, 1),
    (456, 456, -1, 1), (457, 457, -2, 1), (459, 459, -1, 1), (460, 460, -2, 1), (462, 476, -1, 2), (477, 477, -79, 1),
    (479, 495, -1, 2), (498, 498, -1, 1), (499, 499, -2, 1), (501, 501, -1, 1), (502, 502, -97, 1), (503, 503, -56, 1),
    (505, 543, -1, 2), (544, 544, -130, 1), (547, 563, -1, 2), (572, 572, -1, 1), (573, 573, -163, 1), (578, 578, -1, 1),
    (579, 579, -195, 1), (583, 591, -1, 2), (595, 595, -210, 1), (596, 596, -206, 1), (598, 599, -205, 1), (601, 601, -202, 1),
    (603, 603, -203, 1), (608, 608, -205, 1), (611, 611, -207, 1), (616, 616, -209, 1), (617, 617, -211, 1), (623, 623, -211, 1),
    (626, 626, -213, 1), (629, 629, -214, 1), (640, 640, -218, 1), (643, 643, -218, 1), (648, 648, -218, 1), (649, 649, -69, 1),
    (650, 651, -217, 1), (652, 652, -71, 1), (658, 658, -219, 1), (881, 883, -1, 2), (887, 887, -1, 1), (921, 921, -84, 1),
    (924, 924, -743, 1), (940, 940, -38, 1), (941, 943, -37, 1), (945, 952, -32, 1), (953, 953, -116, 1), (954, 955, -32, 1),
    (956, 956, -775, 1), (957, 961, -32, 1), (962, 962, -31, 1), (963, 971, -32, 1), (972, 972, -64, 1), (973, 974, -63, 1),
    (976, 976, -62, 1), (977, 977, -57, 1), (981, 981, -47, 1), (982, 982, -54, 1), (983, 983, -8, 1), (985, 1007, -1, 2),
    (1008, 1008, -86, 1), (1009, 1009, -80, 1), (1011, 1011, -116, 1), (1012, 1012, -92, 1), (1013, 1013, -96, 1),
    (1016, 1016, -1, 1), (1017, 1017, -7, 1), (1019, 1019, -1, 1), (1021, 1023, -130, 1), (1072, 1103, -32, 1),
    (1104, 1119, -80, 1), (1121, 1153, -1, 2), (1163, 1215, -1, 2), (1218, 1230, -1, 2), (1231, 1231, -15, 1), (1233, 1327, -1, 2),
    (1377, 1414, -48, 1), (5112, 5117, -8, 1), (7296, 7296, -6254, 1), (7297, 7297, -6253, 1), (7298, 7298, -6244, 1),
    (7299, 7300, -6242, 1), (7301, 7301, -6243, 1), (7302, 7302, -6236, 1), (7303, 7303, -6181, 1), (7312, 7354, -3008, 1),
    (7357, 7359, -3008, 1), (7681, 7829, -1, 2), (7835, 7835, -59, 1), (7838, 7838, -7615, 1), (7841, 7935, -1, 2),
    (7944, 7951, -8, 1), (7960, 7965, -8, 1), (7976, 7983, -8, 1), (7992, 7999, -8, 1), (8008, 8013, -8, 1), (8025, 8031, -8, 2),
    (8040, 8047, -8, 1), (8072, 8079, -8, 1), (8088, 8095, -8, 1), (8104, 8111, -8, 1), (8120, 8121, -8, 1), (8122, 8123, -74, 1),
    (8124, 8124, -9, 1), (8126, 8126, -7289, 1), (8136, 8139, -86, 1), (8140, 8140, -9, 1), (8152, 8153, -8, 1),
    (8154, 8155, -100, 1), (8168, 8169, -8, 1), (8170, 8171, -112, 1), (8172, 8172, -7, 1), (8184, 8185, -128, 1),
    (8186, 8187, -126, 1), (8188, 8188, -9, 1), (8486, 8486, -7549, 1), (8490, 8490, -8415, 1), (8491, 8491, -8294, 1),
    (8526, 8526, -28, 1), (8560, 8575, -16, 1), (8580, 8580, -1, 1), (9424, 9449, -26, 1), (11312, 11359, -48, 1),
    (11361, 11361, -1, 1), (11362, 11362, -10743, 1), (11363, 11363, -3814, 1), (11364, 11364, -10727, 1),
    (11365, 11365, -10795, 1), (11366, 11366, -10792, 1), (11368, 11372, -1, 2), (11373, 11373, -10780, 1),
    (11374, 11374, -10749, 1), (11375, 11375, -10783, 1), (11376, 11376, -10782, 1), (11379, 11379, -1, 1), (11382, 11382, -1, 1),
    (11390, 11391, -10815, 1), (11393, 11491, -1, 2), (11500, 11502, -1, 2), (11507, 11507, -1, 1), (11520, 11557, -7264, 1),
    (11559, 11559, -7264, 1), (11565, 11565, -7264, 1), (42561, 42569, -1, 2), (42570, 42570, -35266, 1), (42571, 42571, -35267, 1),
    (42573, 42605, -1, 2), (42625, 42651, -1, 2), (42787, 42799, -1, 2), (42803, 42863, -1, 2), (42874, 42876, -1, 2),
    (42877, 42877, -35332, 1), (42879, 42887, -1, 2), (42892, 42892, -1, 1), (42893, 42893, -42280, 1), (42897, 42899, -1, 2),
    (42903, 42921, -1, 2), (42922, 42922, -42308, 1), (42923, 42923, -42319, 1), (42924, 42924, -42315, 1),
    (42925, 42925, -42305, 1), (42926, 42926, -42308, 1), (42928, 42928, -42258, 1), (42929, 42929, -42282, 1),
    (42930, 42930, -42261, 1), (42933, 42947, -1, 2), (42948, 42948, -48, 1), (42949, 42949, -42307, 1), (42950, 42950, -35384, 1),
    (42952, 42954, -1, 2), (42961, 42961, -1, 1), (42967, 42969, -1, 2), (42998, 42998, -1, 1), (43859, 43859, -928, 1),
    (43888, 43967, -38864, 1), (65345, 65370, -32, 1), (66600, 66639, -40, 1), (66776, 66811, -40, 1), (66967, 66977, -39, 1),
    (66979, 66993, -39, 1), (66995, 67001, -39, 1), (67003, 67004, -39, 1), (68800, 68850, -64, 1), (71872, 71903, -32, 1),
    (93792, 93823, -32, 1), (125218, 125251, -34, 1)
  ) AS f (first, last, change, step) ON ascii(c) BETWEEN f.first AND f.last AND (ascii(c) - f.first) % f.step = 0
$$;

-- The field of args that a path such as address.city names; null if it is not there.
CREATE FUNCTION {schema}.field_of(value json, path text) RETURNS json LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  part  text;
  found_value json;
  other text;
BEGIN
  FOREACH part IN ARRAY string_to_array(path, '.') LOOP
    IF json_typeof(value) <> 'object' THEN
      RETURN 'null';
    END IF;
    SELECT e.value INTO found_value FROM json_each(value) WITH ORDINALITY AS e (key, value, place)
    WHERE e.key COLLATE "C" = part ORDER BY e.place DESC LIMIT 1;
    IF NOT FOUND THEN
      SELECT k INTO other FROM json_object_keys(value) AS k WHERE folded(k) COLLATE "C" = folded(part) LIMIT 1;
      IF FOUND THEN
        PERFORM refuse_invalid('unique', format('the args have no field %s, but %s', quoted(part), quoted(other)));
      END IF;
      found_value := 'null';
    END IF;
    value := found_value;
  END LOOP;
  RETURN value;
END $$;

-- A part of a unique key: its name and its value, each with its length before it.
CREATE FUNCTION {schema}.key_part(name text, value bytea) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN int8send(octet_length(name)) || convert_to(name, 'UTF8') || int8send(octet_length(value)) || value;
END $$;

-- The unique key of a job: the same bytes as the library computes.
CREATE FUNCTION {schema}.unique_key_of(
  namespace text, kind text, queue text, args text, run_at bigint, by text[], fields text[], period interval, key text
) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name   text;
  hashed bytea := key_part('namespace', convert_to(namespace, 'UTF8'));
BEGIN
  IF coalesce(key, '') <> '' THEN
    hashed := hashed || key_part('key', convert_to(key, 'UTF8'));
  ELSE
    hashed := hashed || key_part('kind', convert_to(kind, 'UTF8'));
  END IF;
  IF 'queue' = ANY (by) THEN
    hashed := hashed || key_part('queue', convert_to(queue, 'UTF8'));
  END IF;
  IF 'args' = ANY (by) THEN
    hashed := hashed || key_part('args', convert_to(canonical_json(readable_json(args)), 'UTF8'));
  END IF;
  FOR name IN SELECT DISTINCT f COLLATE "C" FROM unnest(fields) AS f ORDER BY f COLLATE "C" LOOP
    hashed := hashed || key_part('field ' || name, convert_to(canonical_json(field_of(readable_json(args), name)), 'UTF8'));
  END LOOP;
  IF period > interval '0' THEN
    hashed := hashed || key_part('period', int8send(run_at / (nanos_of('unique_period', period) / 1000)));
  END IF;
  RETURN substring(sha256(hashed) FROM 1 FOR 16);
END $$;

-- What stands for the args of a job with a business key: the same bytes as the library computes.
CREATE FUNCTION {schema}.hash_of_args(args text) RETURNS bytea LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN substring(sha256(int4send(0) || convert_to(canonical_json(readable_json(args)), 'UTF8')) FROM 1 FOR 16);
END $$;

-- The set of states in which a job holds its unique key, as store.StateSet: those given, and scheduled and available, or all that are
-- not finished.
CREATE FUNCTION {schema}.states_of(names text[]) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  name  text;
  found int;
  bits  int := 6;
BEGIN
  IF coalesce(cardinality(names), 0) = 0 THEN
    RETURN 62;
  END IF;
  FOREACH name IN ARRAY names LOOP
    found := array_position(ARRAY['scheduled', 'available', 'running', 'retryable', 'waiting', 'completed', 'failed', 'cancelled'], name);
    IF found IS NULL THEN
      RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
        MESSAGE = 'holdfast: invalid request: unknown state ' || quoted(coalesce(name, ''));
    END IF;
    bits := bits | (1 << found);
  END LOOP;
  RETURN bits;
END $$;

-- The settings of a job as they are stored, JSON or NULL.
CREATE FUNCTION {schema}.options_of(timeout interval, deadline timestamptz, backoff interval, backoff_limit interval)
RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  list text;
BEGIN
  IF timeout IS NOT NULL THEN
    IF timeout <= interval '0' THEN
      PERFORM refuse_invalid('timeout', timeout || ' is not positive');
    END IF;
    list := '"timeout":' || nanos_of('timeout', timeout);
  END IF;
  IF deadline IS NOT NULL THEN
    list := concat_ws(',', list, '"deadline":"'
      || rtrim(rtrim(to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US'), '0'), '.') || 'Z"');
  END IF;
  IF backoff IS NOT NULL OR backoff_limit IS NOT NULL THEN
    backoff := coalesce(backoff, interval '1 second');
    backoff_limit := coalesce(backoff_limit, greatest(backoff, interval '1 hour'));
    IF backoff <= interval '0' OR backoff_limit < backoff THEN
      PERFORM refuse_invalid('backoff',
        format('base %s and limit %s: both must be positive, and the limit not below the base', backoff, backoff_limit));
    END IF;
    list := concat_ws(',', list, format('"backoff":{"base":%s,"cap":%s,"jitter":0.25}',
      nanos_of('backoff', backoff), nanos_of('backoff_limit', backoff_limit)));
  END IF;
  RETURN '{' || list || '}';
END $$;

-- The settings of a job, JSON or NULL, with its business key, and for how long it is kept.
CREATE FUNCTION {schema}.options_with_key(options text, key text, keep bigint) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN concat(coalesce(left(options, -1) || ',', '{'), '"key":', json_string(key), CASE
    WHEN keep < 0 THEN ',"keep_key":-1'
    WHEN keep > 0 THEN ',"keep_key":' || keep * 1000
  END, '}');
END $$;

-- The settings of a job, JSON or NULL, with the headers of a trace, of which NULL and '' are none.
CREATE FUNCTION {schema}.options_with_trace(options text, traceparent text, tracestate text) RETURNS text LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  list text;
BEGIN
  IF traceparent <> '' THEN
    list := '"traceparent":' || json_string(traceparent);
  END IF;
  IF tracestate <> '' THEN
    list := concat_ws(',', list, '"tracestate":' || json_string(tracestate));
  END IF;
  IF list IS NULL THEN
    RETURN options;
  END IF;
  RETURN concat(coalesce(left(options, -1) || ',', '{'), list, '}');
END $$;

-- The lane of a job and its queue; they are made if they do not exist. What is there is not changed: others would wait until this
-- transaction ends. That the lane is used on this day is noted instead, and until this transaction ends nothing removes the lane. Lanes
-- and queues that others are making in transactions of theirs are waited for.
CREATE FUNCTION {schema}.lane_for(
  in_namespace text, in_queue text, of_kind text, of_priority int, moment bigint, OUT lane_id int, OUT queue_id int
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  today   int := clock(NULL) / 86400000000;
  is_used boolean;
BEGIN
  LOOP
    SELECT l.id, q.id, l.used_on >= today AND q.created_at IS NOT NULL INTO lane_id, queue_id, is_used
    FROM queue q JOIN lane l ON l.queue = q.id
    WHERE q.namespace = in_namespace AND q.name = in_queue AND l.kind = of_kind AND l.priority = of_priority;
    IF is_used THEN
      RETURN;
    ELSIF is_used IS NULL THEN
      INSERT INTO queue (namespace, name, created_at) VALUES (in_namespace, in_queue, moment) ON CONFLICT (namespace, name) DO NOTHING;
      INSERT INTO lane (queue, kind, priority, used_on)
      SELECT q.id, of_kind, of_priority, today FROM queue q WHERE q.namespace = in_namespace AND q.name = in_queue
      ON CONFLICT (queue, kind, priority) DO NOTHING;
      CONTINUE;
    END IF;
    PERFORM 1 FROM lane l WHERE l.id = lane_id FOR KEY SHARE;
    IF FOUND THEN
      INSERT INTO lane_use (lane, day) SELECT lane_id, today
      WHERE NOT EXISTS (SELECT 1 FROM lane_use u WHERE u.lane = lane_id AND u.day = today);
      RETURN;
    END IF;
  END LOOP;
END $$;

-- What was last told of a sort by this transaction, and whether it was of this schema: NULL if it was not.
CREATE FUNCTION {schema}.last_told(sort text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  told text := current_setting('holdfast.' || sort, true);
BEGIN
  IF substr(told, strpos(told, ' ') + 1) = current_schema() THEN
    RETURN split_part(told, ' ', 1);
  END IF;
  RETURN NULL;
END $$;

-- Tells nodes of a job, when the transaction commits. Of one that is due they are told where in its lane it is, since their claims may
-- be past that by then; the jobs of a statement are in one place. Of what is due later the soonest counts. So a statement that enqueues
-- many jobs says little; if the places are more than a hundred, nodes are to look at everything.
CREATE FUNCTION {schema}.tell_nodes(namespace text, queue text, lane int, due_at bigint, is_ready boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  channel text := 'holdfast:' || current_schema();
  about   text := ',"n":' || to_json(namespace) || ',"q":' || to_json(queue);
  place   text := lane || ',' || due_at;
  places  int;
BEGIN
  IF is_ready THEN
    IF place = last_told('place') THEN
      RETURN;
    END IF;
    places := coalesce(last_told('places')::int, 0) + 1;
    IF places <= 100 THEN
      PERFORM pg_notify(channel, '{"k":100,"l":[[' || place || ']]}'), pg_notify(channel, '{"k":1' || about || '}');
    ELSE
      PERFORM pg_notify(channel, '{"k":0}');
    END IF;
    PERFORM set_config('holdfast.place', place || ' ' || current_schema(), true), set_config('holdfast.places', places || ' ' || current_schema(), true);
  ELSIF due_at < coalesce(last_told('soonest')::bigint, due_at + 1) THEN
    PERFORM pg_notify(channel, '{"k":2' || about || ',"d":' || due_at || '}'), set_config('holdfast.soonest', due_at || ' ' || current_schema(), true);
  END IF;
END $$;

-- Puts the payload and the run time on the job that holds a unique key, if it is of the same kind and has not started. The body is
-- locked first, so that the statement after it sees where its pointer is. One that has the turn of its ordering key keeps it.
CREATE FUNCTION {schema}.replace_job(holder uuid, wanted {schema}.job) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moved_job record;
BEGIN
  PERFORM 1 FROM job j WHERE j.id = holder AND j.lease = 0 AND EXISTS (
    SELECT 1 FROM lane l, lane k
    WHERE l.id = j.lane AND k.id = wanted.lane AND split_part(split_part(l.kind, '@', 1), chr(31), 1) = k.kind
  ) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  WITH found AS MATERIALIZED (
    SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority, EXISTS (
      SELECT 1 FROM key_holder k WHERE k.queue = l.queue AND k.ordering_key = j.ordering_key AND k.id = j.id
    ) AS has_turn
    FROM job j JOIN lane l ON l.id = j.lane WHERE j.id = holder AND j.lease = 0
  ), ready_gone AS (
    DELETE FROM ready r USING found b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
  ), deferred_gone AS (
    DELETE FROM deferred d USING found b WHERE d.due = b.run_at AND d.id = b.id AND d.state = 1 RETURNING d.id
  ), keyed_gone AS (
    DELETE FROM keyed k USING found b
    WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
    RETURNING k.id
  ), gated_gone AS (
    DELETE FROM gated g USING found b WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING g.id
  ), moved AS MATERIALIZED (
    SELECT b.*, wanted.run_at <= wanted.created_at AS due FROM found b
    WHERE EXISTS (
      SELECT 1 FROM ready_gone UNION ALL SELECT 1 FROM deferred_gone UNION ALL SELECT 1 FROM keyed_gone UNION ALL SELECT 1 FROM gated_gone
    )
  ), changed AS (
    UPDATE job j SET run_at = wanted.run_at, args = wanted.args, codec = 0, metadata = wanted.metadata FROM moved m WHERE j.id = m.id
  ), now_ready AS (
    INSERT INTO ready (lane, run_at, id) SELECT lane, wanted.run_at, id FROM moved WHERE due AND (ordering_key IS NULL OR has_turn)
  ), now_keyed AS (
    INSERT INTO keyed (queue, ordering_key, priority, run_at, id, lane)
    SELECT queue, ordering_key, priority, wanted.run_at, id, lane FROM moved WHERE due AND ordering_key IS NOT NULL AND NOT has_turn
  ), now_deferred AS (
    INSERT INTO deferred (due, id, lane, state, ordering_key) SELECT wanted.run_at, id, lane, 1, ordering_key FROM moved WHERE NOT due
  ), checks AS (
    INSERT INTO key_check (queue, ordering_key) SELECT queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
  )
  SELECT q.namespace, q.name, m.lane, m.due AND (m.ordering_key IS NULL OR m.has_turn) AS is_ready INTO moved_job
  FROM moved m JOIN queue q ON q.id = m.queue;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM tell_nodes(moved_job.namespace, moved_job.name, moved_job.lane, wanted.run_at, moved_job.is_ready);
  RETURN true;
END $$;

-- A new id: a UUIDv7, whose bits after the millisecond are the part of it that has passed.
CREATE FUNCTION {schema}.new_id() RETURNS uuid LANGUAGE plpgsql AS $$
DECLARE
  digits text := lpad(to_hex(micros_of(clock_timestamp()) * 4096 / 1000), 15, '0');
BEGIN
  RETURN left(digits, 12) || '7' || right(digits, 3) || substr(replace(gen_random_uuid()::text, '-', ''), 17);
END $$;

-- What a time is in microseconds; NULL if there is none, as which the beginning of the first year counts.
CREATE FUNCTION {schema}.time_of(moment timestamptz, job uuid) RETURNS bigint LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF moment < '0001-01-01 00:00:00+00' OR moment > '9999-12-31 23:59:59+00' THEN
    PERFORM refuse_invalid('job ' || job, 'its run time or its deadline is not between the years 1 and 9999');
  END IF;
  RETURN nullif(micros_of(moment), -62135596800000000);
END $$;

-- Where texts are not in UTF-8 neither the limits of names nor unique keys would be those of the library.
CREATE FUNCTION {schema}.check_encoding() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('server_encoding') <> 'UTF8' THEN
    RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
      MESSAGE = 'holdfast: invalid request: the encoding of the database is ' || current_setting('server_encoding') || ' instead of UTF8';
  END IF;
END $$;

CREATE FUNCTION {schema}.check_kind(kind text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF position('@' IN kind) > 0 THEN
    PERFORM refuse_invalid('kind', quoted(kind) || ' contains an @, which is reserved for versions');
  END IF;
  PERFORM check_name('kind', kind);
END $$;

CREATE FUNCTION {schema}.check_metadata(value text) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF value IS NULL THEN
    RETURN;
  END IF;
  PERFORM check_json('metadata', value, 65536);
  IF json_typeof(value::json) <> 'object' THEN
    PERFORM refuse_invalid('metadata', 'not a JSON object: ' || excerpt(value));
  END IF;
END $$;

-- Headers of a trace: of so many bytes at most, and only of printable ASCII, as store.Options.CheckTrace says. NULL is none.
CREATE FUNCTION {schema}.check_header(header text, value text, bytes int) RETURNS void LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  IF octet_length(value) > bytes THEN
    PERFORM refuse_invalid(header, octet_length(value) || ' bytes exceed the limit of ' || bytes);
  ELSIF value ~ '[^ -~]' THEN
    PERFORM refuse_invalid(header, quoted(value) || ' is no header: it has other characters than printable ASCII');
  END IF;
END $$;

-- What makes a job unique, as users give it.
CREATE FUNCTION {schema}.check_unique(by text[], fields text[], period interval, key text, on_conflict text) RETURNS void
LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  word text;
BEGIN
  FOREACH word IN ARRAY coalesce(by, '{}') LOOP
    IF word IS NULL OR word NOT IN ('kind', 'args', 'queue') THEN
      PERFORM refuse_invalid('unique', quoted(coalesce(word, '')) || ' is none of kind, args and queue');
    END IF;
  END LOOP;
  CASE
    WHEN cardinality(fields) = 0 THEN
      PERFORM refuse_invalid('unique', 'unique_fields needs at least one field');
    WHEN '' = ANY (fields) OR array_position(fields, NULL) IS NOT NULL THEN
      PERFORM refuse_invalid('unique', 'the name of a field in unique_fields must not be empty');
    WHEN period <> interval '0' AND period < interval '1 second' THEN
      PERFORM refuse_invalid('unique', format('the period %s is shorter than a second', period));
    WHEN on_conflict NOT IN ('return', 'reject', 'replace') THEN
      PERFORM refuse_invalid('unique', format('on_conflict %s is none of return, reject and replace', quoted(on_conflict)));
    WHEN key <> '' THEN
      PERFORM check_name('unique key', key, true);
    ELSE
  END CASE;
END $$;

-- Tags as they are stored.
CREATE FUNCTION {schema}.tags_of(list text[]) RETURNS jsonb LANGUAGE plpgsql IMMUTABLE AS $$
DECLARE
  tag text;
BEGIN
  IF coalesce(cardinality(list), 0) = 0 THEN
    RETURN NULL;
  ELSIF cardinality(list) > 20 THEN
    PERFORM refuse_invalid('tags', cardinality(list) || ' exceed the limit of 20');
  END IF;
  FOREACH tag IN ARRAY list LOOP
    PERFORM check_name('tag', tag, true);
  END LOOP;
  RETURN to_jsonb(ARRAY(SELECT unnest(list)));
END $$;

-- The id, if there is a job with it in the namespace. One of another namespace is a conflict.
CREATE FUNCTION {schema}.known_job(same_id uuid, in_namespace text) RETURNS uuid LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  known_in text;
BEGIN
  IF same_id IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT q.namespace INTO known_in FROM job j JOIN lane l ON l.id = j.lane JOIN queue q ON q.id = l.queue WHERE j.id = same_id;
  IF known_in <> in_namespace THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = 'holdfast: conflict: the id ' || same_id || ' is taken';
  END IF;
  RETURN CASE WHEN FOUND THEN same_id END;
END $$;

-- Takes a unique key, if there is one to take, unless another job holds it: then its id is the answer. Neither is one that let go of it
-- at this moment.
CREATE FUNCTION {schema}.take_key(wanted bytea, new_id uuid, OUT taken boolean, OUT holder uuid) LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  taken := wanted IS NULL;
  IF taken THEN
    RETURN;
  END IF;
  INSERT INTO unique_key (key, id) VALUES (wanted, new_id) ON CONFLICT (key) DO NOTHING;
  taken := FOUND;
  IF NOT taken THEN
    SELECT u.id INTO holder FROM unique_key u JOIN job j ON j.id = u.id WHERE u.key = wanted;
  END IF;
END $$;

-- Gives back a unique key of a job that was not stored.
CREATE FUNCTION {schema}.leave_key(taken bytea, by_job uuid) RETURNS void LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  DELETE FROM unique_key u WHERE u.key = taken AND u.id = by_job;
END $$;

-- Takes a business key, unless another job holds it: then the answer is its id, and whether it was enqueued with other args. There is
-- no answer if another transaction took the key at this moment: what was seen of the row is not so any more. before is the row as it
-- was, if there was one. Who holds a key the library's key_row says in the same way (sql/key.sql).
CREATE FUNCTION {schema}.take_business_key(
  in_namespace text, of_kind text, wanted text, keeps bigint, hash bytea, new_id uuid, moment bigint,
  OUT taken boolean, OUT holder uuid, OUT differs boolean, OUT before {schema}.job_key
) LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  seen record;
BEGIN
  SELECT k AS whole, k.id, k.taken AS times, k.args <> hash AS differs,
    coalesce(k.keep < 0 OR b.run_at IS NOT NULL AND f.finished_at IS NULL
      OR k.keep > 0 AND coalesce(k.until, f.finished_at + k.keep) > moment, false) AS held
  INTO seen
  FROM job_key k
  LEFT JOIN LATERAL (SELECT j.run_at FROM job j WHERE j.id = k.id OFFSET 0) b ON true
  LEFT JOIN LATERAL (SELECT a.finished_at FROM finished a WHERE a.id = k.id OFFSET 0) f ON true
  WHERE k.namespace = in_namespace AND k.kind = of_kind AND k.key = wanted;
  IF NOT FOUND THEN
    INSERT INTO job_key (id, keep, taken, namespace, kind, key, args) VALUES (new_id, keeps, 0, in_namespace, of_kind, wanted, hash)
    ON CONFLICT (namespace, kind, key) DO NOTHING;
    taken := FOUND;
  ELSIF seen.held THEN
    taken := false;
    holder := seen.id;
    differs := seen.differs;
  ELSE
    before := seen.whole;
    UPDATE job_key k SET id = new_id, keep = keeps, until = NULL, taken = k.taken + 1, args = hash
    WHERE k.namespace = in_namespace AND k.kind = of_kind AND k.key = wanted AND k.taken = seen.times;
    taken := FOUND;
  END IF;
END $$;

-- Gives back a business key of a job that was not stored: the row is as before, or gone.
CREATE FUNCTION {schema}.leave_business_key(in_namespace text, of_kind text, wanted text, by_job uuid, before {schema}.job_key) RETURNS void
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  IF before.id IS NULL THEN
    DELETE FROM job_key k WHERE k.namespace = in_namespace AND k.kind = of_kind AND k.key = wanted AND k.id = by_job;
  ELSE
    UPDATE job_key k SET id = before.id, keep = before.keep, until = before.until, args = before.args
    WHERE k.namespace = in_namespace AND k.kind = of_kind AND k.key = wanted AND k.id = by_job;
  END IF;
END $$;

-- Stores a job and its pointer, and tells nodes. False if the id is known already.
CREATE FUNCTION {schema}.store_job(body {schema}.job, in_namespace text, in_queue text, queue_id int, of_priority int) RETURNS boolean
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  INSERT INTO job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata, ordering_key,
    unique_key, unique_states)
  VALUES (body.id, body.lane, body.run_at, body.created_at, 0, 0, body.max_attempts, 0, body.args, body.options, body.tags, body.metadata,
    body.ordering_key, body.unique_key, body.unique_states)
  ON CONFLICT (id) DO NOTHING;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  IF body.run_at > body.created_at THEN
    INSERT INTO deferred (due, id, lane, state, ordering_key) VALUES (body.run_at, body.id, body.lane, 1, body.ordering_key);
  ELSIF body.ordering_key IS NULL THEN
    INSERT INTO ready (lane, run_at, id) VALUES (body.lane, body.run_at, body.id);
  ELSE
    INSERT INTO keyed (queue, ordering_key, priority, run_at, id, lane)
    VALUES (queue_id, body.ordering_key, of_priority, body.run_at, body.id, body.lane);
    INSERT INTO key_check (queue, ordering_key) VALUES (queue_id, body.ordering_key);
  END IF;
  PERFORM tell_nodes(in_namespace, in_queue, body.lane, body.run_at, body.run_at <= body.created_at AND body.ordering_key IS NULL);
  RETURN true;
END $$;

-- The function for users. Of parameters that are NULL the default holds. args and metadata are of one type: text that is JSON, json or
-- jsonb; text and json are stored as they are written. The settings keep its statements to indexes, also where the tables were small
-- when the statements were planned.
--
-- Jobs that are enqueued by one statement have one time, as those of one call of the library have: that of the statement or, in a
-- procedure that has begun another transaction since, of that.
--
-- It checks what it was given, in the order of the parameters, completes the body, finds the lane, and then stores the job. What is in
-- the way, the same id, the unique key or the business key, it takes for the answer. If another transaction lets go of that in between,
-- it tries again.
CREATE FUNCTION {schema}.enqueue(
  kind text, args anycompatible DEFAULT NULL, namespace text DEFAULT 'default', queue text DEFAULT 'default', priority int DEFAULT 2,
  run_at timestamptz DEFAULT NULL, delay interval DEFAULT NULL, max_attempts int DEFAULT NULL,
  timeout interval DEFAULT NULL, deadline timestamptz DEFAULT NULL, backoff interval DEFAULT NULL, backoff_limit interval DEFAULT NULL,
  tags text[] DEFAULT NULL, metadata anycompatible DEFAULT NULL, ordering_key text DEFAULT NULL,
  unique_by text[] DEFAULT NULL, unique_fields text[] DEFAULT NULL, unique_period interval DEFAULT NULL, unique_key text DEFAULT NULL,
  unique_while text[] DEFAULT NULL, on_conflict text DEFAULT NULL, job_id uuid DEFAULT NULL,
  key text DEFAULT NULL, keep_key interval DEFAULT NULL, traceparent text DEFAULT NULL, tracestate text DEFAULT NULL,
  OUT id uuid, OUT existing boolean, OUT replaced boolean, OUT differs boolean
) LANGUAGE plpgsql
SET search_path = {schema}, pg_temp SET standard_conforming_strings = on
SET enable_seqscan = off SET enable_bitmapscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  began      timestamptz := greatest(statement_timestamp(), transaction_timestamp());
  args_text  text := coalesce(args::text, 'null');
  about_text text := metadata::text;
  is_unique  boolean := num_nonnulls(unique_by, unique_fields, unique_period, unique_key, unique_while) > 0;
  body       job;
  keep       bigint;
  hash       bytea;
  place      record;
  taking     record;
BEGIN
  namespace := coalesce(namespace, 'default');
  queue := coalesce(queue, 'default');
  priority := coalesce(priority, 2);
  PERFORM check_encoding(), check_name('namespace', namespace), check_kind(kind), check_name('queue', queue);
  IF priority NOT BETWEEN 1 AND 4 THEN
    PERFORM refuse_invalid('priority', priority || ' is not between 1 (most urgent) and 4');
  ELSIF run_at IS NOT NULL AND delay IS NOT NULL THEN
    PERFORM refuse_invalid('run_at', 'give it or a delay, not both');
  ELSIF max_attempts NOT BETWEEN 1 AND 1000 THEN
    PERFORM refuse_invalid('max attempts', max_attempts || ' is not between 1 and 1000');
  END IF;
  deadline := nullif(deadline, '0001-01-01 00:00:00+00');
  body.options := options_of(timeout, deadline, backoff, backoff_limit);
  body.tags := tags_of(tags);
  PERFORM check_metadata(about_text);
  IF ordering_key IS NOT NULL THEN
    PERFORM check_name('ordering key', ordering_key, true);
  END IF;
  PERFORM check_key(key);
  PERFORM check_header('traceparent', traceparent, 128), check_header('tracestate', tracestate, 512);
  PERFORM check_unique(unique_by, unique_fields, unique_period, unique_key, on_conflict);
  IF on_conflict IS NOT NULL AND NOT is_unique THEN
    PERFORM refuse_invalid('unique', 'on_conflict needs what makes the job unique, such as unique_by');
  ELSIF substr(job_id::text, 15, 1) <> '7' THEN
    PERFORM refuse_invalid('id', job_id || ' is not a UUIDv7; leave job_id out to have one made');
  END IF;
  PERFORM check_json('args', args_text, 1048576);

  body.id := coalesce(job_id, new_id());
  body.created_at := micros_of(began);
  body.run_at := coalesce(time_of(CASE WHEN delay > interval '0' THEN began + delay ELSE run_at END, body.id), body.created_at);
  IF time_of(deadline, body.id) <= body.run_at THEN
    PERFORM refuse_invalid('deadline', to_char(deadline AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') || ' is not after the run time');
  END IF;
  IF key IS NOT NULL THEN
    IF is_unique THEN
      PERFORM refuse_invalid('key', 'a job with a business key cannot have the option Unique, too');
    END IF;
    keep := kept_for(keep_key);
    body.options := options_with_key(body.options::text, key, keep);
    hash := hash_of_args(args_text);
  END IF;
  body.options := options_with_trace(body.options::text, traceparent, tracestate);
  body.max_attempts := coalesce(max_attempts, 0);
  body.args := convert_to(args_text, 'UTF8');
  body.metadata := about_text;
  body.ordering_key := ordering_key;
  IF is_unique THEN
    body.unique_key := unique_key_of(namespace, kind, queue, args_text, body.run_at, unique_by, unique_fields, unique_period, unique_key);
    body.unique_states := states_of(unique_while);
  END IF;
  place := lane_for(namespace, queue, kind, priority, body.created_at);
  body.lane := place.lane_id;

  existing := true;
  replaced := false;
  differs := false;
  FOR try IN 1..4 LOOP
    id := known_job(job_id, namespace);
    EXIT WHEN id IS NOT NULL;
    IF key IS NULL THEN
      taking := take_key(body.unique_key, body.id);
    ELSE
      taking := take_business_key(namespace, kind, key, keep, hash, body.id, body.created_at);
    END IF;
    IF NOT taking.taken THEN
      id := taking.holder;
      IF id IS NOT NULL AND key IS NOT NULL THEN
        differs := taking.differs;
      END IF;
      EXIT WHEN id IS NOT NULL;
    ELSIF store_job(body, namespace, queue, place.queue_id, priority) THEN
      id := body.id;
      existing := false;
      RETURN;
    ELSIF key IS NULL THEN -- another transaction has stored the id meanwhile
      PERFORM leave_key(body.unique_key, body.id);
    ELSE
      PERFORM leave_business_key(namespace, kind, key, body.id, taking.before);
    END IF;
  END LOOP;
  IF id IS NULL THEN
    RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
      MESSAGE = format('holdfast: database unavailable: another transaction holds the lock: the %s of job %s is changing hands',
        CASE WHEN key IS NULL THEN 'unique key' ELSE 'key' END, body.id);
  ELSIF id <> body.id AND on_conflict = 'reject' THEN
    RAISE EXCEPTION USING ERRCODE = 'unique_violation', MESSAGE = 'holdfast: conflict: its unique key is held by job ' || id;
  ELSIF id <> body.id AND on_conflict = 'replace' THEN
    replaced := replace_job(id, body);
  END IF;
END $$;

RESET check_function_bodies;


INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (1, 'schema', {schema}.clock(NULL), 1);
