-- The schema: all tables of Holdfast in an SQLite database.
--
-- Names have a prefix, because the file may hold the user's own tables. Times are microseconds since 1970, unless something else is
-- said; ids of jobs are UUIDs of 16 bytes; states are those of store.State. Of payloads, such as the args of a job, the type is open:
-- text if the payload is text, so that SQL can look into it, else a blob. They come last in their tables, so that reading the other
-- columns never walks through them.
--
-- Most tables are WITHOUT ROWID. Those whose rows are often more than 1 kB have a rowid: such rows would spill to overflow pages
-- otherwise, at five times the cost of a claim.


-- THE DATABASE

-- Which migrations the database has. A migration serves the programs that know the version serves, or a later one: they work on as
-- before. A program that opens a database of a version that it does not know looks whether all of the migrations that it does not
-- know serve it. NULL: none that does not know the migration.
CREATE TABLE holdfast_migration (
  version    INTEGER PRIMARY KEY,
  name       TEXT NOT NULL,
  applied_at INTEGER NOT NULL,
  serves     INTEGER
);

-- What is known of the database as a whole, such as its id, which tells it from others, so that a caller's transaction on the wrong
-- file is refused; the copy of another database into it; and that the feed is on.
CREATE TABLE holdfast_meta (
  name  TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

INSERT INTO holdfast_meta (name, value) VALUES ('database_id', lower(hex(randomblob(16))));


-- NAMESPACES, QUEUES AND LANES

-- Namespaces that people have made; others are there because something is in them.
CREATE TABLE holdfast_namespace (
  name       TEXT NOT NULL PRIMARY KEY,
  note       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL
) WITHOUT ROWID;

-- AUTOINCREMENT: queues that are not used are removed, and no id is used twice. One that people have deleted (deleted_at) is listed
-- only while it has jobs that are not finished. Until rest_until nothing of the queue is claimed; rest_level is how many rests have
-- followed each other. attempts is what a person has set of how its jobs are attempted, a JSON document.
CREATE TABLE holdfast_queue (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  deleted_at INTEGER,
  paused_at  INTEGER,
  paused_by  TEXT,
  rest_until INTEGER,
  rest_level INTEGER NOT NULL DEFAULT 0,
  attempts   TEXT,
  UNIQUE (namespace, name)
);

-- Read by every claim, and nearly always empty.
CREATE INDEX holdfast_queue_halted ON holdfast_queue (id) WHERE paused_at IS NOT NULL OR rest_until IS NOT NULL;

-- Read by nodes, and nearly always empty.
CREATE INDEX holdfast_queue_attempts ON holdfast_queue (namespace) WHERE attempts IS NOT NULL;

-- What a claim chooses by: jobs of one lane differ only in their run time. The name of a kind may be followed by the limit per key in
-- which the jobs count. AUTOINCREMENT: no id is used twice, since processes remember what the ids stand for.
--
-- used_on is the day, counted from 1970 in UTC, on which a lane was last used or found to be in use. idle_since is set while all jobs
-- of the lane have completed, and says that none did so later than then; who puts a job into the lane takes it back. When no job is
-- left in the file that completed as early as that, the lane has none.
CREATE TABLE holdfast_lane (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  queue      INTEGER NOT NULL,
  kind       TEXT NOT NULL,
  priority   INTEGER NOT NULL,
  used_on    INTEGER NOT NULL DEFAULT 0,
  idle_since INTEGER,
  UNIQUE (queue, kind, priority)
);

CREATE INDEX holdfast_lane_used ON holdfast_lane (used_on) WHERE idle_since IS NULL;
CREATE INDEX holdfast_lane_idle ON holdfast_lane (idle_since) WHERE idle_since IS NOT NULL;


-- JOBS

-- The body of a job, which success never touches. run_at, lease and attempt change when a job is put back: then run_at is that of its
-- pointer, lease the last lease number handed out, attempt the attempts counted so far.
--
-- claimed_at is when the last run was claimed, NULL if there was none. parent is the job whose child it is, or its batch. marks, NULL
-- for a plain job, is the sum of: 1 if it answers its parent; 2 if it is closing; 4 if it has a journal from the start, as a fork;
-- 8 times what becomes of it when its parent finishes first; 32 times the number of the entry with which its end was decided; 1 << 60
-- if its parent is a batch.
CREATE TABLE holdfast_job (
  id            BLOB NOT NULL PRIMARY KEY,
  lane          INTEGER NOT NULL,
  run_at        INTEGER NOT NULL,
  created_at    INTEGER NOT NULL,
  claimed_at    INTEGER,
  lease         INTEGER NOT NULL,
  attempt       INTEGER NOT NULL,
  max_attempts  INTEGER NOT NULL,
  codec         INTEGER NOT NULL,
  marks         INTEGER,
  parent        BLOB,
  ordering_key  TEXT,
  unique_key    BLOB,
  unique_states INTEGER,
  options       TEXT,
  tags          TEXT,
  metadata      TEXT,
  args
);

CREATE INDEX holdfast_job_parent ON holdfast_job (parent, id) WHERE parent IS NOT NULL;

-- The jobs of a key of a limit per key. Of other jobs it has nothing: whether one has a key is told by its options, without reading
-- them as JSON.
CREATE INDEX holdfast_job_limit_key ON holdfast_job (options ->> 'limit_key', id) WHERE instr(options, '"limit_key"') > 0;

-- Where the jobs of a lane are among all jobs, for lists of a few in a large history: that a lane has bodies whose ids were made in a
-- bucket, which is 16 milliseconds of the time in their ids, and is named by the first 11 digits of these. A busy lane has at most 62
-- rows for a second, a lane with little to do at most one for each job. There may be rows without bodies; retention removes them.
CREATE TABLE holdfast_lane_span (
  lane   INTEGER NOT NULL,
  bucket TEXT NOT NULL,
  PRIMARY KEY (lane, bucket)
) WITHOUT ROWID;

CREATE TRIGGER holdfast_job_span AFTER INSERT ON holdfast_job
WHEN NOT EXISTS (SELECT 1 FROM holdfast_lane_span WHERE lane = NEW.lane AND bucket = substr(hex(substr(NEW.id, 1, 6)), 1, 11))
BEGIN
  INSERT INTO holdfast_lane_span (lane, bucket) VALUES (NEW.lane, substr(hex(substr(NEW.id, 1, 6)), 1, 11));
END;

CREATE TRIGGER holdfast_job_span_moved AFTER UPDATE OF lane ON holdfast_job
WHEN NEW.lane <> OLD.lane
  AND NOT EXISTS (SELECT 1 FROM holdfast_lane_span WHERE lane = NEW.lane AND bucket = substr(hex(substr(NEW.id, 1, 6)), 1, 11))
BEGIN
  INSERT INTO holdfast_lane_span (lane, bucket) VALUES (NEW.lane, substr(hex(substr(NEW.id, 1, 6)), 1, 11));
END;


-- POINTERS: where a job stands. A job has exactly one: in ready, keyed, gated, deferred, a claim, or finished.

CREATE TABLE holdfast_ready (
  lane   INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  id     BLOB NOT NULL,
  PRIMARY KEY (lane, run_at, id)
) WITHOUT ROWID;

-- Available jobs that wait for the turn of their ordering key.
CREATE TABLE holdfast_keyed (
  queue        INTEGER NOT NULL,
  ordering_key TEXT NOT NULL,
  priority     INTEGER NOT NULL,
  run_at       INTEGER NOT NULL,
  id           BLOB NOT NULL,
  lane         INTEGER NOT NULL,
  PRIMARY KEY (queue, ordering_key, priority, run_at, id)
) WITHOUT ROWID;

-- The job that has the turn of an ordering key, from its release into ready until it is finished. Whenever a key has a row in keyed it
-- has one here: both change in the same transaction.
CREATE TABLE holdfast_key_holder (
  queue        INTEGER NOT NULL,
  ordering_key TEXT NOT NULL,
  id           BLOB NOT NULL,
  PRIMARY KEY (queue, ordering_key)
) WITHOUT ROWID;

-- Available jobs that wait because as many run of their key as its limit per key lets. A gate is a number made of the limit and the
-- key. By lane, so that who puts jobs back into ready passes over lanes whose queues are paused, however many wait there.
CREATE TABLE holdfast_gated (
  gate   INTEGER NOT NULL,
  lane   INTEGER NOT NULL,
  run_at INTEGER NOT NULL,
  id     BLOB NOT NULL,
  PRIMARY KEY (gate, lane, run_at, id)
) WITHOUT ROWID;

CREATE INDEX holdfast_gated_lane ON holdfast_gated (lane, run_at, id);

-- How often it was asked that all gates at which jobs wait are looked at. One row.
CREATE TABLE holdfast_gate_sweep (
  id     INTEGER PRIMARY KEY,
  wanted INTEGER NOT NULL
);

INSERT INTO holdfast_gate_sweep (id, wanted) VALUES (1, 0);

-- Jobs that wait for their time, or for something else.
--
-- From seen on, of a waiting job (state 5), and NULL for others: what wakes it (see store.Wait), whether only a person does, what a
-- held job was before and when that was due, and what to tell of the wait, as JSON. The due time of a job that waits for no time is
-- the greatest number. handed_over: to an outside system, which ends the job; 1, or 2 if its run has registered compensations.
CREATE TABLE holdfast_deferred (
  due          INTEGER NOT NULL,
  id           BLOB NOT NULL,
  lane         INTEGER NOT NULL,
  state        INTEGER NOT NULL,
  ordering_key TEXT,
  seen         INTEGER,
  kinds        INTEGER,
  awaited      INTEGER,
  failures     INTEGER,
  held         INTEGER,
  before_state INTEGER,
  before_due   INTEGER,
  wait         TEXT,
  handed_over  INTEGER,
  PRIMARY KEY (due, id)
) WITHOUT ROWID;

-- For the counts of a queue.
CREATE INDEX holdfast_deferred_lane ON holdfast_deferred (lane, state);

-- Running jobs: one record per claimed batch. Slot i is bit 1 << i of done and all_slots and the bytes from 16*i of ids. leases holds
-- the lease numbers, 8 bytes each, and is NULL if all of them are 1, as they nearly always are. gates holds the gates of the slots,
-- 8 bytes each, and is NULL if none has one, as nearly always.
CREATE TABLE holdfast_claim (
  node       INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  done       INTEGER NOT NULL,
  all_slots  INTEGER NOT NULL,
  ids        BLOB NOT NULL,
  leases     BLOB,
  gates      BLOB,
  PRIMARY KEY (node, seq)
) WITHOUT ROWID;

CREATE INDEX holdfast_claim_gates ON holdfast_claim (node) WHERE gates IS NOT NULL;

-- How jobs ended. lease, node, claimed_at and started_at, when its handler was called, are those of the run that ended the job, NULL
-- if it was not running. lane is that of a job that failed or was cancelled, and NULL for one that completed: completing a job reads
-- no body. codec is how the result is encoded, and fingerprint what the failure has in common with others.
CREATE TABLE holdfast_finished (
  id          BLOB NOT NULL PRIMARY KEY,
  state       INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  lease       INTEGER,
  node        INTEGER,
  claimed_at  INTEGER,
  started_at  INTEGER,
  lane        INTEGER,
  codec       INTEGER,
  fingerprint INTEGER,
  reason      TEXT,
  error       TEXT,
  result
);

CREATE INDEX holdfast_finished_by_time ON holdfast_finished (state, finished_at);

-- For lists of what did not complete.
CREATE INDEX holdfast_finished_not_completed ON holdfast_finished (state, id) WHERE state > 6;
CREATE INDEX holdfast_finished_lane ON holdfast_finished (lane) WHERE state > 6;

-- Jobs that failed, by what their failures have in common, and by when they did within that.
CREATE INDEX holdfast_finished_dead ON holdfast_finished (lane, fingerprint, finished_at, id) WHERE state = 7;


-- RUNS

-- One row per run that ended in anything but completion. taken: not the run itself ended it, but its node's leave or a rescue, so that
-- an outcome that is repeated later finds its lease lost; 2 if the node was lost.
CREATE TABLE holdfast_attempt (
  id         BLOB NOT NULL,
  lease      INTEGER NOT NULL,
  attempt    INTEGER NOT NULL,
  node       INTEGER NOT NULL,
  claimed_at INTEGER NOT NULL,
  started_at INTEGER,
  ended_at   INTEGER NOT NULL,
  outcome    INTEGER NOT NULL,
  taken      INTEGER NOT NULL,
  reason     TEXT,
  error      TEXT,
  trace      TEXT,
  PRIMARY KEY (id, lease)
);

-- The jobs of which a run was lost with a node. Only what did not end by itself is in it, so most jobs cost nothing.
CREATE INDEX holdfast_attempt_lost ON holdfast_attempt (node, id) WHERE taken <> 0;

CREATE TABLE holdfast_checkpoint (
  id         BLOB NOT NULL PRIMARY KEY,
  lease      INTEGER NOT NULL,
  percent    REAL NOT NULL,
  updated_at INTEGER NOT NULL,
  message    TEXT,
  value      TEXT
);

-- What the runs of jobs have logged, in chunks of lines. first is the number of the first line in its run. A job that logs nothing has
-- no row.
CREATE TABLE holdfast_job_log (
  id      BLOB NOT NULL,
  lease   INTEGER NOT NULL,
  first   INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  count   INTEGER NOT NULL,
  lines   BLOB NOT NULL
);

CREATE UNIQUE INDEX holdfast_job_log_place ON holdfast_job_log (id, lease, first);

-- Running jobs that people want to be cancelled, or to be held when they are put back.
CREATE TABLE holdfast_cancel_request (
  id     BLOB PRIMARY KEY,
  at     INTEGER NOT NULL,
  reason TEXT,
  actor  TEXT
) WITHOUT ROWID;

CREATE TABLE holdfast_pause_request (
  id     BLOB PRIMARY KEY,
  at     INTEGER NOT NULL,
  reason TEXT,
  actor  TEXT
) WITHOUT ROWID;


-- KEYS OF JOBS

CREATE TABLE holdfast_unique_key (
  key BLOB PRIMARY KEY,
  id  BLOB NOT NULL
) WITHOUT ROWID;

-- Business keys: the job that has one, within a namespace and kind, or had it last. keep is for how many microseconds a finished job
-- holds it; negative is for ever. until is NULL as long as the job is there, and then when the key is free; args is a hash of those
-- that it was enqueued with. That a job finishes changes nothing here.
CREATE TABLE holdfast_job_key (
  namespace TEXT NOT NULL,
  kind      TEXT NOT NULL,
  key       TEXT NOT NULL,
  id        BLOB NOT NULL,
  keep      INTEGER NOT NULL,
  until     INTEGER,
  args      BLOB NOT NULL,
  PRIMARY KEY (namespace, kind, key)
) WITHOUT ROWID;

-- For retention: the key of a job, and those that are free. One that is kept for ever is in neither.
CREATE INDEX holdfast_job_key_job ON holdfast_job_key (id) WHERE until IS NULL;
CREATE INDEX holdfast_job_key_until ON holdfast_job_key (until) WHERE until < 9223372036854775807;

-- The signals that were sent along with enqueues, by the id and the namespace of the enqueue: the job that each has reached, its
-- number there, and whether that job was enqueued with other args. A repeated enqueue is recognised by it, also after another job has
-- taken the key.
CREATE TABLE holdfast_key_sent (
  id        BLOB NOT NULL,
  namespace TEXT NOT NULL,
  job       BLOB NOT NULL,
  seq       INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  differs   INTEGER NOT NULL,
  PRIMARY KEY (id, namespace)
) WITHOUT ROWID;

CREATE INDEX holdfast_key_sent_at ON holdfast_key_sent (at);


-- DURABLE FUNCTIONS: what jobs remember, what was sent to them, and whose children they are

-- What a job's runs have durably done. A job without a row here is not durable. lease is that of the run that wrote the entry, 0 if a
-- fork copied it; took is how long a step took. With rowid, as the body: the steps of many jobs at a time are written to the same few
-- pages then, at half of the cost of a table that keeps those of each job together.
--
-- A journal begins with the entry with which its job last continued as new (kind 16). What was before is forgotten, and so are the
-- messages up to the number that is its ref, from which those that came later are counted; the rows are removed bit by bit, but for
-- what was published and streamed. ref is NULL where nothing is left.
CREATE TABLE holdfast_journal (
  id    BLOB NOT NULL,
  seq   INTEGER NOT NULL,
  at    INTEGER NOT NULL,
  took  INTEGER,
  lease INTEGER NOT NULL,
  kind  INTEGER NOT NULL,
  path  TEXT,
  name  TEXT,
  ref   INTEGER,
  codec INTEGER NOT NULL,
  data,
  PRIMARY KEY (id, seq)
);

-- What is looked for by its name: callbacks by who completes them, published values and streams by clients.
CREATE INDEX holdfast_journal_named ON holdfast_journal (id, kind, name, seq) WHERE kind IN (8, 12, 13);
CREATE INDEX holdfast_journal_continued ON holdfast_journal (id, seq) WHERE kind = 16;

-- Which messages were received, found without a look at each entry.
CREATE INDEX holdfast_journal_received ON holdfast_journal (id, ref, seq) WHERE kind = 6 AND ref IS NOT NULL;

-- Whose rows of journals and messages are to be removed, from a time on. maker is NULL for what a job has forgotten. Else all the rows
-- are: of a job that was removed (0), or that is not there yet, and into whose journal a fork is copied by somebody who has drawn that
-- number; he sets the time again and again. Up to the number cleared of its journal all is gone that a job has forgotten, so that
-- nobody looks again at what it keeps, which it has published and streamed; NULL: nothing is gone yet.
CREATE TABLE holdfast_leftover (
  id      BLOB PRIMARY KEY,
  due     INTEGER NOT NULL,
  maker   INTEGER,
  cleared INTEGER
) WITHOUT ROWID;

-- What was sent to jobs. from_id, state and reason are of a child that finished. trace is the header traceparent of W3C Trace Context
-- of the span in which the message was sent; NULL: it was in none.
CREATE TABLE holdfast_inbox (
  id      BLOB NOT NULL,
  seq     INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  kind    INTEGER NOT NULL,
  name    TEXT,
  key     TEXT,
  codec   INTEGER NOT NULL,
  from_id BLOB,
  state   INTEGER,
  reason  TEXT,
  trace   TEXT,
  error   TEXT,
  data,
  PRIMARY KEY (id, seq)
);

CREATE UNIQUE INDEX holdfast_inbox_key ON holdfast_inbox (id, key) WHERE key IS NOT NULL;

-- The answers of callbacks, of which each has at most one.
CREATE INDEX holdfast_inbox_answer ON holdfast_inbox (id, name) WHERE kind IN (2, 3);

-- Requests to runs, with their answers. AUTOINCREMENT: no number is used twice, so that a run which knows the last one knows what came
-- later. verdict is NULL while a request is open.
CREATE TABLE holdfast_job_update (
  seq          INTEGER PRIMARY KEY AUTOINCREMENT,
  id           BLOB NOT NULL,
  key          TEXT NOT NULL,
  name         TEXT NOT NULL,
  at           INTEGER NOT NULL,
  codec        INTEGER NOT NULL,
  verdict      INTEGER,
  answered_at  INTEGER,
  answer_codec INTEGER,
  error        TEXT,
  data,
  answer
);

CREATE UNIQUE INDEX holdfast_job_update_key ON holdfast_job_update (id, key);
CREATE INDEX holdfast_job_update_open ON holdfast_job_update (id, seq) WHERE verdict IS NULL;

-- Those that were refused, which are kept for a minute.
CREATE INDEX holdfast_job_update_refused ON holdfast_job_update (answered_at) WHERE verdict = 3;

-- Jobs that have finished and may have children to close. closed is the last child that was looked at.
CREATE TABLE holdfast_closed_parent (
  id     BLOB PRIMARY KEY,
  closed BLOB
) WITHOUT ROWID;


-- DEPENDENCIES AND BATCHES

-- Jobs that come after others. A row is one that a job still waits for. told is how the predecessor ended, as the job was told of a
-- failure for which it waits for a person; NULL if it was not.
CREATE TABLE holdfast_edge (
  predecessor BLOB NOT NULL,
  successor   BLOB NOT NULL,
  policy      INTEGER NOT NULL,
  told        INTEGER,
  PRIMARY KEY (predecessor, successor)
) WITHOUT ROWID;

CREATE INDEX holdfast_edge_successor ON holdfast_edge (successor, predecessor);

-- Predecessors to look at: those that have finished, with what has noted that, and those whose runs may not know of their successors.
CREATE TABLE holdfast_edge_check (
  predecessor BLOB PRIMARY KEY
) WITHOUT ROWID;

-- Batches of jobs. settings is what they are for, a JSON document. Members are found by holdfast_job_parent. They are counted once the
-- batch is closed, in the order of their ids: cursor is the last one that was.
CREATE TABLE holdfast_batch (
  id         BLOB PRIMARY KEY,
  namespace  TEXT NOT NULL,
  settings   TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  closed_at  INTEGER,
  done_at    INTEGER,
  completed  INTEGER NOT NULL DEFAULT 0,
  failed     INTEGER NOT NULL DEFAULT 0,
  cancelled  INTEGER NOT NULL DEFAULT 0,
  cursor     BLOB,
  through    INTEGER NOT NULL DEFAULT 0,
  version    INTEGER NOT NULL DEFAULT 1
) WITHOUT ROWID;

CREATE INDEX holdfast_batch_namespace ON holdfast_batch (namespace, id);
CREATE INDEX holdfast_batch_undone ON holdfast_batch (id) WHERE done_at IS NULL;
CREATE INDEX holdfast_batch_done ON holdfast_batch (done_at) WHERE done_at IS NOT NULL;

-- Members of batches that were counted and that a person has retried since: state is how they had ended when they were counted.
CREATE TABLE holdfast_batch_retried (
  batch BLOB NOT NULL,
  id    BLOB NOT NULL,
  state INTEGER NOT NULL,
  PRIMARY KEY (batch, id)
) WITHOUT ROWID;


-- SCHEDULES

-- settings is a document of package store; what changes with a fire is in columns. AUTOINCREMENT: the runs of a schedule that was
-- deleted are never those of another one. cancels is a job that is to be asked to stop.
CREATE TABLE holdfast_schedule (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  version    INTEGER NOT NULL,
  cursor     INTEGER,
  next_at    INTEGER,
  remaining  INTEGER NOT NULL,
  fired      INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  paused_at  INTEGER,
  namespace  TEXT NOT NULL,
  name       TEXT NOT NULL,
  paused_by  TEXT,
  note       TEXT,
  last       BLOB,
  cancels    BLOB,
  settings   TEXT NOT NULL,
  declared   TEXT
);

CREATE UNIQUE INDEX holdfast_schedule_name ON holdfast_schedule (namespace, name);

-- One that is paused is looked at, too, if a job is to be asked to stop that a trigger has replaced.
CREATE INDEX holdfast_schedule_due ON holdfast_schedule (next_at) WHERE next_at IS NOT NULL AND (paused_at IS NULL OR cancels IS NOT NULL);

-- Nominal times, and what became of them. manual is 0 if the clock has fired.
CREATE TABLE holdfast_schedule_run (
  schedule INTEGER NOT NULL,
  nominal  INTEGER NOT NULL,
  manual   INTEGER NOT NULL,
  at       INTEGER NOT NULL,
  state    INTEGER NOT NULL,
  job      BLOB,
  PRIMARY KEY (schedule, nominal, manual)
) WITHOUT ROWID;

CREATE INDEX holdfast_schedule_run_at ON holdfast_schedule_run (schedule, at);


-- LIMITS

-- Limits of how much runs at once, and of how much starts. settings is a document of package store, which has the capacity and the
-- unit, too. AUTOINCREMENT: what a node asks of a limit that was deleted is never about another one.
--
-- Permits of a rate are period microseconds apart (0: there are none; NULL: the limit has no rate), and burst at once. tat is when the
-- next one comes if none are saved up, seen the time of the last change, move counts changes, and before drained_until no permit comes.
-- key_period and key_burst are those of the rate that each key has, as claims read them. unit is in how many slots a limit is divided
-- that nodes share evenly, and NULL of others.
CREATE TABLE holdfast_limit_rule (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  version       INTEGER NOT NULL,
  capacity      INTEGER NOT NULL,
  unit          INTEGER,
  created_at    INTEGER NOT NULL,
  updated_at    INTEGER NOT NULL,
  wanted_at     INTEGER,
  period        INTEGER,
  burst         INTEGER NOT NULL DEFAULT 1,
  tat           INTEGER NOT NULL DEFAULT 0,
  seen          INTEGER NOT NULL DEFAULT 0,
  move          INTEGER NOT NULL DEFAULT 0,
  drained_until INTEGER NOT NULL DEFAULT 0,
  key_period    INTEGER,
  key_burst     INTEGER,
  namespace     TEXT NOT NULL,
  name          TEXT NOT NULL,
  settings      TEXT NOT NULL,
  declared      TEXT
);

CREATE UNIQUE INDEX holdfast_limit_rule_name ON holdfast_limit_rule (namespace, name);

-- How many slots of a limit a node holds, and the number of the call that said so; of one that nodes share evenly, how many it wishes
-- for, and when it last said so. A row stays when a node holds none, for that number.
CREATE TABLE holdfast_limit_grant (
  rule    INTEGER NOT NULL,
  node    INTEGER NOT NULL,
  held    INTEGER NOT NULL,
  call    INTEGER NOT NULL,
  want    INTEGER NOT NULL DEFAULT 0,
  want_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (rule, node)
) WITHOUT ROWID;

-- Where the rates of keys stand, those that jobs were claimed of lately: tat is when the next permit comes if none are saved up,
-- counted by a period. look_at is when a job that waits in gated may go on; NULL if none waits for the rate.
CREATE TABLE holdfast_key_rate (
  gate    INTEGER PRIMARY KEY,
  tat     INTEGER NOT NULL,
  period  INTEGER NOT NULL,
  look_at INTEGER
);

CREATE INDEX holdfast_key_rate_look ON holdfast_key_rate (look_at) WHERE look_at IS NOT NULL;


-- NODES

-- AUTOINCREMENT: the id of a node is never used again, even after its row was removed. last_seq is the highest claim record that it
-- wrote, so that a claim that is repeated late takes nothing twice. ended is how a node has ended: 1 it left, 2 it was declared dead;
-- NULL: it lives. mode, mode_at and mode_by are what people want of it (1 quiet, 2 draining), since when, and who. unwell is what it
-- says is wrong with it, a JSON array of texts.
CREATE TABLE holdfast_node (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  name       TEXT NOT NULL,
  version    TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  beat_at    INTEGER NOT NULL,
  dead_at    INTEGER,
  ended      INTEGER,
  last_seq   INTEGER NOT NULL,
  mode       INTEGER,
  mode_at    INTEGER,
  mode_by    TEXT,
  info       TEXT NOT NULL,
  unwell     TEXT
);

-- What remains of nodes whose rows are removed: by which program each has run, and when it ended.
CREATE TABLE holdfast_node_build (
  node     INTEGER PRIMARY KEY,
  ended_at INTEGER NOT NULL,
  program  TEXT NOT NULL,
  engine   TEXT NOT NULL
);

CREATE INDEX holdfast_node_build_ended ON holdfast_node_build (ended_at);

-- Who does what only one node does. ttl is how long the lease was when it was taken or kept: one that ends later than that from now is
-- from before the clock was set back.
CREATE TABLE holdfast_leader (
  name       TEXT PRIMARY KEY,
  node       INTEGER NOT NULL,
  epoch      INTEGER NOT NULL,
  expires_at INTEGER NOT NULL,
  ttl        INTEGER
) WITHOUT ROWID;


-- RETENTION

-- Classes of retention, which queues name in what is set of them. 0: the time of the database; -1: for ever.
CREATE TABLE holdfast_retention_class (
  name      TEXT PRIMARY KEY,
  completed INTEGER NOT NULL,
  failed    INTEGER NOT NULL,
  cancelled INTEGER NOT NULL,
  set_at    INTEGER NOT NULL,
  set_by    TEXT
) WITHOUT ROWID;

-- How many jobs retention has removed, and how many of these have left a stub: one row for each day since 1970, queue and state. It
-- names the queue, whose row may go.
CREATE TABLE holdfast_removed (
  day       INTEGER NOT NULL,
  namespace TEXT NOT NULL,
  queue     TEXT NOT NULL,
  state     INTEGER NOT NULL,
  jobs      INTEGER NOT NULL,
  stubs     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (namespace, day, queue, state)
) WITHOUT ROWID;

CREATE INDEX holdfast_removed_day ON holdfast_removed (day);

-- What remains of jobs that were archived and removed, where that was asked for, and where they are.
CREATE TABLE holdfast_stub (
  id          BLOB NOT NULL PRIMARY KEY,
  archived_at INTEGER NOT NULL,
  finished_at INTEGER NOT NULL,
  state       INTEGER NOT NULL,
  namespace   TEXT NOT NULL,
  queue       TEXT NOT NULL,
  kind        TEXT NOT NULL,
  place       TEXT NOT NULL
);

CREATE INDEX holdfast_stub_time ON holdfast_stub (archived_at);


-- WHAT HAPPENS

-- The feed of changes: a row for each transaction that moved jobs while the feed was on, or for a thousand of its changes. It gives
-- them the positions first to first + n - 1. ids has 16 bytes for each; states a byte for each, or one if they are the same; reasons
-- has those of ends, separated by line breaks, or NULL if there are none.
--
-- The feed is on while holdfast_meta has a row named feed, whose value is the microsecond in which it was switched on.
CREATE TABLE holdfast_feed (
  first   INTEGER PRIMARY KEY,
  n       INTEGER NOT NULL,
  at      INTEGER NOT NULL,
  states  BLOB NOT NULL,
  ids     BLOB NOT NULL,
  reasons TEXT
);

-- What nodes have counted and measured, by the minute, and by the hour when it is older. A node has a row a minute. at is when the
-- span begins.
CREATE TABLE holdfast_fact (
  namespace TEXT NOT NULL,
  span      INTEGER NOT NULL,
  at        INTEGER NOT NULL,
  node      INTEGER NOT NULL,
  number    INTEGER NOT NULL,
  version   INTEGER NOT NULL,
  jobs      BLOB,
  gauges    BLOB
);

CREATE UNIQUE INDEX holdfast_fact_place ON holdfast_fact (namespace, span, at, node, number);

-- What is old, of all namespaces.
CREATE INDEX holdfast_fact_time ON holdfast_fact (span, at, namespace, node, number);


-- WHAT IS TOLD OF JOBS

-- What code tells of queues (subject 1) and kinds (2), for people: JSON, when it was told, and by which program.
CREATE TABLE holdfast_descriptor (
  namespace TEXT NOT NULL,
  subject   INTEGER NOT NULL,
  name      TEXT NOT NULL,
  at        INTEGER NOT NULL,
  program   TEXT NOT NULL,
  engine    TEXT NOT NULL,
  data      TEXT NOT NULL
);

CREATE UNIQUE INDEX holdfast_descriptor_name ON holdfast_descriptor (namespace, subject, name);

-- The search attributes that namespaces declare. leaving tells of one that its values are being removed.
CREATE TABLE holdfast_attribute (
  id          INTEGER PRIMARY KEY,
  namespace   TEXT NOT NULL,
  name        TEXT NOT NULL,
  type        INTEGER NOT NULL,
  declared_at INTEGER NOT NULL,
  leaving     INTEGER NOT NULL DEFAULT 0,
  UNIQUE (namespace, name)
);

-- What jobs have for them, in bytes that are in the order of the values. A job that has none has no row.
CREATE TABLE holdfast_attribute_value (
  attribute INTEGER NOT NULL,
  value     BLOB NOT NULL,
  id        BLOB NOT NULL,
  PRIMARY KEY (attribute, value, id)
) WITHOUT ROWID;

CREATE UNIQUE INDEX holdfast_attribute_value_job ON holdfast_attribute_value (id, attribute);


-- SERVERS AND PEOPLE

-- Keys by which programs and people come in through a server. Only the hash of a secret is here. over_at is when the key was revoked
-- or expires, whichever is earlier: retention removes it a while after that. A namespace of '' is all of them.
CREATE TABLE holdfast_api_key (
  id           TEXT NOT NULL PRIMARY KEY,
  hash         BLOB NOT NULL,
  name         TEXT NOT NULL,
  namespace    TEXT NOT NULL,
  role         TEXT NOT NULL,
  scopes       TEXT NOT NULL,
  created_at   INTEGER NOT NULL,
  created_by   TEXT NOT NULL,
  expires_at   INTEGER,
  last_used_at INTEGER,
  revoked_at   INTEGER,
  revoked_by   TEXT NOT NULL DEFAULT '',
  over_at      INTEGER
) WITHOUT ROWID;

CREATE UNIQUE INDEX holdfast_api_key_namespace ON holdfast_api_key (namespace, id);
CREATE INDEX holdfast_api_key_over ON holdfast_api_key (over_at) WHERE over_at IS NOT NULL;

-- Requests of callers that have a key of the caller's, so that a repeated one does nothing and is answered as the first one was. hash
-- names a request, print is what it asks. One with until has begun and is not known to have ended.
CREATE TABLE holdfast_request (
  hash   BLOB NOT NULL PRIMARY KEY,
  print  BLOB NOT NULL,
  at     INTEGER NOT NULL,
  until  INTEGER,
  owner  BLOB,
  answer BLOB NOT NULL
);

CREATE INDEX holdfast_request_at ON holdfast_request (at);

-- Where jobs and events are sent to by HTTP: push endpoints (purpose 1), which work the jobs of a kind, and webhooks (2). data has what
-- is set of one, its secrets among it, as JSON that only servers read.
CREATE TABLE holdfast_endpoint (
  namespace  TEXT NOT NULL,
  purpose    INTEGER NOT NULL,
  name       TEXT NOT NULL,
  data       BLOB NOT NULL,
  version    INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  created_by TEXT NOT NULL,
  updated_at INTEGER NOT NULL,
  updated_by TEXT NOT NULL,
  PRIMARY KEY (namespace, purpose, name)
) WITHOUT ROWID;

-- What people did, which is listed, newest first: of all, of a namespace, and of what was changed. That is a job, a queue or a node, by
-- number, or what kind and name say. gone: the job was removed; until then people are told what was done to it, however old that is.
-- before and after are what was set, as JSON objects without secrets.
CREATE TABLE holdfast_audit (
  seq       INTEGER PRIMARY KEY,
  at        INTEGER NOT NULL,
  actor     TEXT NOT NULL,
  action    TEXT NOT NULL,
  job       BLOB,
  queue     INTEGER,
  node      INTEGER,
  gone      INTEGER,
  namespace TEXT,
  kind      TEXT,
  name      TEXT,
  detail    TEXT,
  before    TEXT,
  after     TEXT
);

CREATE INDEX holdfast_audit_job ON holdfast_audit (job, seq) WHERE job IS NOT NULL;
CREATE INDEX holdfast_audit_over ON holdfast_audit (at) WHERE job IS NULL OR gone IS NOT NULL;
CREATE INDEX holdfast_audit_at ON holdfast_audit (at, seq);
CREATE INDEX holdfast_audit_namespace ON holdfast_audit (namespace, at, seq) WHERE namespace IS NOT NULL;
CREATE INDEX holdfast_audit_target ON holdfast_audit (kind, name, at, seq) WHERE kind IS NOT NULL;

-- Rows of jobs, queues and nodes are told of by number: here the names are added. The namespace of a job is there already where many
-- rows of jobs are written at once.
CREATE TRIGGER holdfast_audit_of_job AFTER INSERT ON holdfast_audit WHEN NEW.job IS NOT NULL AND NEW.namespace IS NULL BEGIN
  UPDATE holdfast_audit SET namespace = (
    SELECT q.namespace FROM holdfast_job j JOIN holdfast_lane l ON l.id = j.lane JOIN holdfast_queue q ON q.id = l.queue WHERE j.id = NEW.job
  ) WHERE seq = NEW.seq;
END;

CREATE TRIGGER holdfast_audit_of_queue AFTER INSERT ON holdfast_audit WHEN NEW.queue IS NOT NULL BEGIN
  UPDATE holdfast_audit SET kind = 'queue', (namespace, name) = (SELECT q.namespace, q.name FROM holdfast_queue q WHERE q.id = NEW.queue)
  WHERE seq = NEW.seq;
END;

CREATE TRIGGER holdfast_audit_of_node AFTER INSERT ON holdfast_audit WHEN NEW.node IS NOT NULL BEGIN
  UPDATE holdfast_audit SET kind = 'node', name = CAST(NEW.node AS TEXT) WHERE seq = NEW.seq;
END;


INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (1, 'schema', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 1);
