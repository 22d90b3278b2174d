-- Durable functions: what jobs remember, what is sent to them, what they wait for, and their children.

-- parent and link are those of a child: link is its store.ClosePolicy, plus 4 if it answers its parent. closing is the Seq of the entry with
-- which the end of the job was decided. claimed_at is that of the last run that parked, which leaves no attempt. remembers: it has a journal,
-- so that a claim need not look; set when the job is put back. Most jobs have nothing of this, which takes no room.
ALTER TABLE {schema}.job ADD COLUMN parent uuid, ADD COLUMN closing bigint, ADD COLUMN claimed_at bigint, ADD COLUMN link int,
  ADD COLUMN remembers boolean;

-- Of a job that has no parent nothing is written here. Where jobs are there already this reads all of them once.
CREATE INDEX job_parent ON {schema}.job (parent, id) WHERE parent IS NOT NULL;

-- What jobs remember. lease is that of the run that wrote the entry, 0 of a copy. Rows are inserted by runs and removed by people, by a
-- job that begins anew, and by retention.
CREATE TABLE {schema}.journal (
  id    uuid NOT NULL,
  seq   bigint NOT NULL,
  at    bigint NOT NULL,
  lease bigint NOT NULL,
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

-- What was sent to jobs. Whoever inserts holds a lock on the job's body, so that seq has no gaps and nobody parks meanwhile.
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
  data    bytea,
  PRIMARY KEY (id, seq)
) PARTITION BY RANGE (id);
CREATE TABLE {schema}.inbox_default PARTITION OF {schema}.inbox DEFAULT;
CREATE UNIQUE INDEX inbox_key ON {schema}.inbox (id, key) WHERE key IS NOT NULL;

-- A callback is completed or failed once.
CREATE UNIQUE INDEX inbox_callback ON {schema}.inbox (id, name) WHERE kind IN (2, 3);

-- Both have the same days as jobs.
SELECT set_config('holdfast.schema', {schema_name}, false);
DO $$
DECLARE
  d record;
  made text;
  home text := current_setting('holdfast.schema');
BEGIN
  FOR d IN
    SELECT substr(c.relname, 5) AS day, pg_get_expr(c.relpartbound, c.oid) AS bounds
    FROM pg_catalog.pg_inherits i JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
    WHERE i.inhparent = to_regclass(format('%I.job', home)) AND c.relname ~ '^job_\d{8}$'
  LOOP
    FOREACH made IN ARRAY ARRAY['journal', 'inbox'] LOOP
      EXECUTE format('CREATE TABLE %1$I.%2$I PARTITION OF %1$I.%3$I %4$s', home, made || '_' || d.day, made, d.bounds);
    END LOOP;
  END LOOP;
END $$;

-- What a waiting job waits for: state 5, NULL in rows of other states. A message with a greater seq than seen wakes it if its kind is a bit of
-- kinds, if its seq is enough or more, or if it tells of a failure. A job that is held is woken by nothing: its due time is the greatest that
-- there is, was_state and was_due say what it was before, and was_run_at is the run time that it shows if it ends like this.
ALTER TABLE {schema}.deferred ADD COLUMN seen bigint, ADD COLUMN enough bigint, ADD COLUMN since bigint, ADD COLUMN until bigint,
  ADD COLUMN was_due bigint, ADD COLUMN was_run_at bigint, ADD COLUMN was_state int, ADD COLUMN kinds int, ADD COLUMN failures boolean,
  ADD COLUMN held boolean, ADD COLUMN reason text, ADD COLUMN error text, ADD COLUMN waits_for text;

-- Running jobs that are to be held when they are put back.
CREATE TABLE {schema}.pause_request (
  id     uuid PRIMARY KEY,
  at     bigint NOT NULL,
  reason text,
  actor  text
);

-- Finished jobs whose children are still to be closed; after is the last child that was.
CREATE TABLE {schema}.closed_parent (
  id    uuid PRIMARY KEY,
  at    bigint NOT NULL,
  after uuid
);

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (2, 'durable', {schema}.clock(NULL));
