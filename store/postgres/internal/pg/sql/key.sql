-- Business keys. A row names the job that took the key last. Whether that still holds it is not
-- written there, but looked up: a job that finishes changes nothing. Who takes a key counts one up
-- in taken, and only if it is what was seen together with the job: so nothing has happened to the
-- key since then, be it another who took it, or a finished job that runs again.

-- Who has the key of t, or had it last, and whether it is held: no other job may have it then. A
-- job that is over has finished, or was removed and has no run time. One that keeps nothing holds
-- nothing when it is over, whatever the clock says: that of the process which finished it may be
-- ahead. An enqueue from SQL asks the same by the function take_business_key.
-- fragment: key_row
SELECT k.id, k.taken, k.args, b.run_at, b.run_at IS NULL OR f.finished_at IS NOT NULL AS over,
    coalesce(k.keep < 0 OR b.run_at IS NOT NULL AND f.finished_at IS NULL OR k.keep > 0 AND coalesce(k.until, f.finished_at + k.keep) > @now, false) AS held
  FROM {schema}.job_key k
  LEFT JOIN LATERAL (SELECT j.run_at FROM {schema}.job j WHERE j.id = k.id OFFSET 0) b ON true
  LEFT JOIN LATERAL (SELECT a.finished_at FROM {schema}.finished a WHERE a.id = k.id OFFSET 0) f ON true
  WHERE k.namespace = t.namespace AND k.kind = t.kind AND k.key = t.key OFFSET 0

-- Gives keys that are free to new jobs, in the order of the keys; of those that want one key to the
-- first. Or, @again, to finished jobs that are to run again, which may have them still. Who has got
-- one is named by its row.
-- name: keys_take
-- params: @ids uuid[], @namespaces text[], @kinds text[], @keys text[], @keeps bigint[]
-- params: @args bytea[], @now bigint, @again boolean
WITH wanted AS MATERIALIZED (
  SELECT DISTINCT ON (namespace, kind, key) id, namespace, kind, key, keep, args FROM (
    SELECT t.id, t.namespace COLLATE "C" AS namespace, t.kind COLLATE "C" AS kind, t.key COLLATE "C" AS key, t.keep, t.args, t.place
    FROM unnest(@ids, @namespaces, @kinds, @keys, @keeps, @args) WITH ORDINALITY AS t (id, namespace, kind, key, keep, args, place)
    WHERE @again OR NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id OFFSET 0)
  ) i ORDER BY namespace, kind, key, place
), seen AS MATERIALIZED (
  SELECT t.*, k.id AS holder, k.taken, k.held FROM wanted t LEFT JOIN LATERAL ({{key_row}}) k ON true
), moved AS (
  UPDATE {schema}.job_key k SET id = s.id, keep = s.keep, until = NULL, taken = k.taken + 1,
    args = CASE WHEN k.id = s.id THEN k.args ELSE s.args END
  FROM seen s
  WHERE (NOT s.held OR s.holder = s.id) AND k.namespace = s.namespace AND k.kind = s.kind AND k.key = s.key AND k.taken = s.taken
)
INSERT INTO {schema}.job_key (id, keep, taken, namespace, kind, key, args)
SELECT id, keep, 0, namespace, kind, key, args FROM seen WHERE holder IS NULL ORDER BY namespace, kind, key
ON CONFLICT (namespace, kind, key) DO NOTHING;

-- What stands in the way of enqueues with business keys: the job with the same id, or the holder of
-- the key, whether that was enqueued with other args, and whether it is over. As enqueue_obstacles,
-- it is a statement of its own because its snapshot must see what the ones before waited for.
-- name: key_obstacles
-- params: @ids uuid[], @namespaces text[], @kinds text[], @keys text[], @args bytea[], @now bigint
SELECT t.place, o.run_at, o.namespace, k.id::text, k.run_at, coalesce(k.args <> t.args, false), coalesce(k.over, false)
FROM unnest(@ids, @namespaces, @kinds, @keys, @args) WITH ORDINALITY AS t (id, namespace, kind, key, args, place)
LEFT JOIN LATERAL ({{known_job}}) o ON true
LEFT JOIN LATERAL ({{key_row}}) k ON k.held
WHERE o.run_at IS NOT NULL OR k.id IS NOT NULL;

-- The job that has a key, or had it last and is there.
-- name: key_find
-- params: @namespace text, @kind text, @key text, @now bigint
SELECT k.id FROM (SELECT @namespace AS namespace, @kind AS kind, @key AS key) t
CROSS JOIN LATERAL ({{key_row}}) k WHERE k.held OR k.run_at IS NOT NULL;

-- The business keys of those of the jobs that failed or were cancelled. Their rows are locked; busy
-- are those that another transaction has locked, which may be taking the key.
-- name: keys_of_finished
-- params: @jobs uuid[]
SELECT j.id, q.namespace, l.kind, j.key, (j.options ->> 'keep_key')::bigint, j.args, j.codec, k.yes IS TRUE AND free.yes IS NULL AS busy
FROM (SELECT id, min(place) AS place FROM unnest(@jobs) WITH ORDINALITY AS t (id, place) GROUP BY id) t
CROSS JOIN LATERAL (SELECT *, b.options ->> 'key' AS key FROM {schema}.job b WHERE b.id = t.id AND b.options IS NOT NULL OFFSET 0) j
CROSS JOIN LATERAL (SELECT a.queue, {{kind_name_of_a}} AS kind FROM {schema}.lane a WHERE a.id = j.lane OFFSET 0) l
CROSS JOIN LATERAL (SELECT a.namespace FROM {schema}.queue a WHERE a.id = l.queue OFFSET 0) q
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.job_key a WHERE a.namespace = q.namespace AND a.kind = l.kind AND a.key = j.key OFFSET 0
) k ON true
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.job_key a WHERE a.namespace = q.namespace AND a.kind = l.kind AND a.key = j.key
  FOR UPDATE SKIP LOCKED
) free ON true
WHERE j.key IS NOT NULL
  AND EXISTS (SELECT 1 FROM {schema}.finished f WHERE f.id = j.id AND f.state IN ({failed_states}) OFFSET 0)
ORDER BY t.place;

-- What became of enqueues whose signals were sent before.
-- name: key_sent
-- params: @ids uuid[], @namespaces text[]
SELECT t.place, s.job::text, s.seq, s.differs, j.run_at
FROM unnest(@ids, @namespaces) WITH ORDINALITY AS t (id, namespace, place)
CROSS JOIN LATERAL (SELECT a.job, a.seq, a.differs FROM {schema}.key_sent a WHERE a.id = t.id AND a.namespace = t.namespace OFFSET 0) s
LEFT JOIN LATERAL (SELECT b.run_at FROM {schema}.job b WHERE b.id = s.job OFFSET 0) j ON true;

-- Remembers them. Answers with those that no other transaction has
-- remembered.
-- name: key_sent_note
-- params: @ids uuid[], @namespaces text[], @jobs uuid[], @seqs bigint[], @differs boolean[]
-- params: @now bigint
INSERT INTO {schema}.key_sent (id, namespace, job, seq, differs, at)
SELECT id, namespace, job, seq, differs, @now
FROM unnest(@ids, @namespaces, @jobs, @seqs, @differs) AS t (id, namespace, job, seq, differs) ORDER BY id
ON CONFLICT (id, namespace) DO NOTHING RETURNING 1;

-- What becomes of the keys of jobs of a range that are over: their states and until when they ended
-- are given. Keys that are kept know when they are free from now on. So many are looked at, after a
-- job, but for those that another transaction is taking; answers with the last of them.
-- name: keys_settle
-- params: @after uuid, @to uuid, @states int[], @until bigint[], @limit int
WITH looked AS MATERIALIZED (
  SELECT k.namespace, k.kind, k.key, k.id, k.keep, k.taken FROM {schema}.job_key k
  WHERE k.until IS NULL AND k.keep <> 0 AND k.id > @after AND k.id < @to ORDER BY k.id LIMIT @limit FOR UPDATE SKIP LOCKED
), over AS MATERIALIZED (
  SELECT s.*, f.finished_at FROM looked s
  CROSS JOIN LATERAL (SELECT a.state, a.finished_at FROM {schema}.finished a WHERE a.id = s.id OFFSET 0) f
  WHERE EXISTS (SELECT 1 FROM unnest(@states, @until) AS u (state, until) WHERE u.state = f.state AND f.finished_at <= u.until)
), kept AS (
  UPDATE {schema}.job_key k SET until = CASE WHEN o.keep < 0 THEN {never} ELSE o.finished_at + o.keep END FROM over o
  WHERE k.namespace = o.namespace AND k.kind = o.kind AND k.key = o.key AND k.taken = o.taken
)
SELECT id FROM looked ORDER BY id DESC LIMIT 1;

-- The same for the jobs of a range that do not survive, all at once: their ends are there still.
-- name: keys_keep
-- params: @from uuid, @to uuid, @survivors uuid[]
UPDATE {schema}.job_key k SET until = CASE WHEN k.keep < 0 THEN {never} ELSE f.finished_at + k.keep END FROM {schema}.finished f
WHERE k.until IS NULL AND k.id >= @from AND k.id < @to AND k.keep <> 0 AND k.id <> ALL (@survivors) AND f.id = k.id;

-- Removes keys that are not kept, and are free as their jobs went with their days. So many are
-- looked at, after a job, but for those that another transaction is taking; answers with the last
-- of them.
-- name: keys_of_gone
-- params: @after uuid, @to uuid, @limit int
WITH looked AS MATERIALIZED (
  SELECT k.ctid AS place, k.id FROM {schema}.job_key k
  WHERE k.until IS NULL AND k.keep = 0 AND k.id > @after AND k.id < @to ORDER BY k.id LIMIT @limit FOR UPDATE SKIP LOCKED
), gone AS MATERIALIZED (
  SELECT l.place FROM looked l WHERE NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = l.id OFFSET 0)
), forgotten AS (
  DELETE FROM {schema}.job_key WHERE ctid = ANY (ARRAY(SELECT place FROM gone))
)
SELECT id FROM looked ORDER BY id DESC LIMIT 1;

-- Finished jobs that are not to be removed now: another transaction has locked their keys, and may
-- be taking them. The keys of the others are locked.
-- name: keys_busy
-- params: @jobs uuid[]
SELECT k.id FROM unnest(@jobs) AS t (id)
CROSS JOIN LATERAL (SELECT a.id, a.namespace, a.kind, a.key FROM {schema}.job_key a WHERE a.id = t.id AND a.until IS NULL OFFSET 0) k
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.job_key a WHERE a.namespace = k.namespace AND a.kind = k.kind AND a.key = k.key
  FOR UPDATE SKIP LOCKED
) free ON true
WHERE free.yes IS NULL;

-- What becomes of the keys of finished jobs that are removed one by one: those that are kept know
-- when they are free, the others go.
-- name: keys_leave
-- params: @jobs uuid[]
WITH kept AS (
  UPDATE {schema}.job_key k SET until = CASE WHEN k.keep < 0 THEN {never}
    ELSE (SELECT f.finished_at FROM {schema}.finished f WHERE f.id = k.id) + k.keep END
  WHERE k.id = ANY (@jobs) AND k.until IS NULL AND k.keep <> 0
)
DELETE FROM {schema}.job_key WHERE id = ANY (@jobs) AND until IS NULL AND keep = 0;

-- Keys that are not kept any more by jobs that were removed.
-- name: keys_over
-- params: @now bigint, @limit int
DELETE FROM {schema}.job_key k USING (
  SELECT namespace, kind, key FROM {schema}.job_key WHERE until < {never} AND until <= @now ORDER BY until LIMIT @limit
  FOR UPDATE SKIP LOCKED
) o WHERE k.namespace = o.namespace AND k.kind = o.kind AND k.key = o.key RETURNING 1;

-- name: key_sent_over
-- params: @until bigint, @limit int
DELETE FROM {schema}.key_sent s USING (
  SELECT id, namespace FROM {schema}.key_sent WHERE at <= @until ORDER BY at LIMIT @limit FOR UPDATE SKIP LOCKED
) o WHERE s.id = o.id AND s.namespace = o.namespace RETURNING 1;
