-- What runs have logged, in chunks of lines. No row of another table is locked for it.

-- One that is there stays, and one of a job that is not there is dropped. What a removal of the job
-- does not see yet goes with the jobs of its day: see logs_of_gone.
-- name: logs_put
-- params: @jobs uuid[], @leases bigint[], @firsts bigint[], @attempts int[], @counts int[], @lines bytea[]
INSERT INTO {schema}.job_log (id, lease, first, attempt, count, lines)
SELECT t.id, t.lease, t.first, t.attempt, t.count, t.lines
FROM unnest(@jobs, @leases, @firsts, @attempts, @counts, @lines) AS t (id, lease, first, attempt, count, lines)
WHERE EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id OFFSET 0)
ORDER BY t.id, t.lease, t.first
ON CONFLICT (id, lease, first) DO NOTHING;

-- Removes the chunks of runs that begin before a line.
-- name: logs_trim
-- params: @jobs uuid[], @leases bigint[], @keeps bigint[]
WITH rows AS MATERIALIZED (
  SELECT l.place FROM unnest(@jobs, @leases, @keeps) AS t (id, lease, keep)
  CROSS JOIN LATERAL (
    SELECT a.ctid AS place FROM {schema}.job_log a WHERE a.id = t.id AND a.lease = t.lease AND a.first < t.keep FOR UPDATE SKIP LOCKED
  ) l
)
DELETE FROM {schema}.job_log WHERE ctid = ANY (ARRAY(SELECT place FROM rows));

-- Removes the runs of jobs before so many later ones, or before so many bytes of later ones. The
-- length of lines is read without them.
-- name: logs_old
-- params: @jobs uuid[], @runs int, @bytes bigint
WITH old AS MATERIALIZED (
  SELECT t.id, r.lease FROM unnest(@jobs) AS t (id)
  CROSS JOIN LATERAL (
    SELECT g.lease, row_number() OVER (ORDER BY g.lease DESC) AS number,
      coalesce(sum(g.bytes) OVER (ORDER BY g.lease DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS later
    FROM (SELECT a.lease, sum(octet_length(a.lines)) AS bytes FROM {schema}.job_log a WHERE a.id = t.id GROUP BY a.lease) g
  ) r WHERE r.number > @runs OR r.later >= @bytes
), rows AS MATERIALIZED (
  SELECT l.place FROM old o CROSS JOIN LATERAL (
    SELECT a.ctid AS place FROM {schema}.job_log a WHERE a.id = o.id AND a.lease = o.lease FOR UPDATE SKIP LOCKED
  ) l
)
DELETE FROM {schema}.job_log WHERE ctid = ANY (ARRAY(SELECT place FROM rows));

-- A page of a job's chunks, after a place.
-- name: logs
-- params: @job uuid, @lease bigint, @first bigint, @limit int
SELECT l.lease, l.first, l.attempt, l.count, l.lines FROM {schema}.job_log l
WHERE l.id = @job AND (l.lease, l.first) > (@lease, @first) ORDER BY l.lease, l.first LIMIT @limit;

-- Removes those of jobs that went with their days, or were removed while a chunk was written. So
-- many are looked at, after a job, and all others of the same jobs; answers with the last job of
-- them.
-- name: logs_of_gone
-- params: @after uuid, @to uuid, @limit int
WITH looked AS MATERIALIZED (
  SELECT u.id FROM {schema}.job_log u WHERE u.id > @after AND u.id < @to ORDER BY u.id LIMIT @limit
), gone AS MATERIALIZED (
  SELECT t.id FROM (SELECT DISTINCT id FROM looked) t WHERE NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id OFFSET 0)
), rows AS MATERIALIZED (
  SELECT u.place FROM gone g
  CROSS JOIN LATERAL (SELECT a.ctid AS place FROM {schema}.job_log a WHERE a.id = g.id FOR UPDATE SKIP LOCKED) u
), forgotten AS (
  DELETE FROM {schema}.job_log WHERE ctid = ANY (ARRAY(SELECT place FROM rows))
)
SELECT id FROM looked ORDER BY id DESC LIMIT 1;
