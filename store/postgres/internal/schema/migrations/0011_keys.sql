-- Business keys: the job that has one, within a namespace and kind, or had it last. keep is for how many microseconds a finished job holds it; negative
-- is for ever. until is when the key is free: NULL as long as the job is there and its retention is not over. args is a hash of those that it was
-- enqueued with. taken counts how often the key was taken, so that two who take it at once notice each other. That a job finishes changes nothing here.
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

-- The signals that were sent along with enqueues, by the id and the namespace of the enqueue: the job that each has reached, its number there, and
-- whether that job was enqueued with other args. A repeated enqueue is recognised by it, also after another job has taken the key.
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

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (11, 'keys', {schema}.clock(NULL));
