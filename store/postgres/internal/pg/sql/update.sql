-- Requests to runs. Those without a verdict are open. Whatever adds one, or parks its job, has
-- locked the body of the job, as with messages; an answer is fenced by the lease of its run alone.

-- Keeps requests, of which no two have one job and key, and wakes those of their jobs that wait for
-- any. Answers with each one's number, that of the first one if it was sent before, with what
-- speaks against it, and with the lane of a job that the first of its requests woke. Of a job that
-- has finished the number is its state.
-- name: send_updates
-- params: @jobs uuid[], @namespaces text[], @keys text[], @names text[], @data bytea[], @codecs int[]
-- params: @now bigint
-- walk: Looks at each request, keeps those that are new, and moves the pointers of jobs that wait.
-- walk: input, judged: the requests in their order, and what is to become of each.
-- walk: written: those that are kept. The numbers are drawn in the order of the requests.
-- walk: called: the jobs of those that wait for requests, held ones left out; none is parked
-- walk:   meanwhile, since its body is locked.
-- walk: gone, woken, bodies, now_ready: their pointers, as in the statement wake.
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(@jobs, @namespaces, @keys, @names, @data, @codecs)
    WITH ORDINALITY AS t (id, namespace, key, name, data, codec, place)
), judged AS MATERIALIZED (
  SELECT i.*, k.seq AS known, CASE
    WHEN b.yes IS NULL THEN {send_no_job}
    WHEN k.seq IS NOT NULL THEN {send_duplicate}
    WHEN f.state IS NOT NULL THEN {send_finished}
    ELSE {send_stored}
  END AS verdict, f.state AS ended
  FROM input i
  LEFT JOIN LATERAL (SELECT u.seq FROM {schema}.job_update u WHERE u.id = i.id AND u.key = i.key OFFSET 0) k ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.job a WHERE a.id = i.id AND (i.namespace IS NULL OR EXISTS (
      SELECT 1 FROM {schema}.lane l, {schema}.queue q WHERE l.id = a.lane AND q.id = l.queue AND q.namespace = i.namespace
    )) OFFSET 0
  ) b ON true
  LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = i.id OFFSET 0) f ON true
), written AS (
  INSERT INTO {schema}.job_update (id, at, codec, key, name, data)
  SELECT id, @now, codec, key, name, data FROM judged WHERE verdict = {send_stored} ORDER BY place RETURNING id, key, seq
), called AS MATERIALIZED (
  SELECT j.id, j.place, d.due FROM (SELECT id, min(place) AS place FROM judged WHERE verdict = {send_stored} GROUP BY id) j
  CROSS JOIN LATERAL (SELECT b.run_at FROM {schema}.job b WHERE b.id = j.id OFFSET 0) b
  CROSS JOIN LATERAL (
    SELECT a.due FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = j.id AND a.state = {waiting} AND a.held IS NOT TRUE
      AND (a.kinds >> {message_update}) & 1 = 1 OFFSET 0
  ) d
), gone AS (
  DELETE FROM {schema}.deferred d USING called c WHERE d.due = c.due AND d.id = c.id RETURNING d.id, d.lane, c.place
), woken AS MATERIALIZED (
  SELECT * FROM gone ORDER BY id
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now FROM woken w WHERE j.id = w.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM woken
)
SELECT j.place, coalesce(w.seq, j.known, j.ended, 0), j.verdict, g.lane
FROM judged j
LEFT JOIN written w ON j.verdict = {send_stored} AND w.id = j.id AND w.key = j.key
LEFT JOIN woken g ON g.id = j.id AND g.place = j.place;

-- Wakes those of the jobs, which have just parked and wait for requests, for which there is an open
-- one after the last that they know.
-- name: wake_for_updates
-- params: @jobs uuid[], @known bigint[], @now bigint
WITH called AS MATERIALIZED (
  SELECT t.id, d.due FROM unnest(@jobs, @known) AS t (id, known)
  CROSS JOIN LATERAL (SELECT b.run_at FROM {schema}.job b WHERE b.id = t.id OFFSET 0) b
  CROSS JOIN LATERAL (
    SELECT a.due FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = t.id AND a.state = {waiting} AND a.held IS NOT TRUE OFFSET 0
  ) d
  WHERE EXISTS (SELECT 1 FROM {schema}.job_update u WHERE u.id = t.id AND u.seq > t.known AND u.verdict IS NULL OFFSET 0)
), gone AS (
  DELETE FROM {schema}.deferred d USING called c WHERE d.due = c.due AND d.id = c.id RETURNING d.id, d.lane
), woken AS MATERIALIZED (
  SELECT * FROM gone ORDER BY id
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now FROM woken w WHERE j.id = w.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM woken
)
SELECT id, lane FROM woken;

-- Answers those of the requests that are open. Comes after append, which looks at the leases. IS
-- TRUE: by the primary key, and not by the index of those that are open.
-- name: answer_updates
-- params: @jobs uuid[], @seqs bigint[], @verdicts int[], @codecs int[], @answers bytea[], @errors text[], @now bigint
UPDATE {schema}.job_update u
SET answered_at = @now, verdict = t.verdict, answer_codec = t.codec, answer = t.answer, error = t.error
FROM unnest(@jobs, @seqs, @verdicts, @codecs, @answers, @errors) AS t (id, seq, verdict, codec, answer, error)
WHERE u.id = t.id AND u.seq = t.seq AND (u.verdict IS NULL) IS TRUE;

-- The open requests to jobs after a number, the first of each.
-- name: updates_open
-- params: @jobs uuid[], @after bigint[], @limit int
SELECT t.place, u.seq, u.at, u.codec, u.key, u.name, u.data FROM unnest(@jobs, @after) WITH ORDINALITY AS t (id, after, place)
CROSS JOIN LATERAL (
  SELECT a.seq, a.at, a.codec, a.key, a.name, a.data FROM {schema}.job_update a
  WHERE a.id = t.id AND a.seq > t.after AND a.verdict IS NULL ORDER BY a.seq LIMIT @limit
) u;

-- One request, and whether its job is of the namespace.
-- name: update
-- params: @job uuid, @key text, @namespace text
SELECT u.seq, coalesce(u.at, 0), coalesce(u.codec, 0), coalesce(u.key, ''), coalesce(u.name, ''), u.data,
  u.verdict, u.answered_at, u.answer_codec, u.answer, u.error
FROM {schema}.job j LEFT JOIN LATERAL (SELECT * FROM {schema}.job_update a WHERE a.id = j.id AND a.key = @key OFFSET 0) u ON true
WHERE j.id = @job AND (@namespace IS NULL OR EXISTS (
  SELECT 1 FROM {schema}.lane l, {schema}.queue q WHERE l.id = j.lane AND q.id = l.queue AND q.namespace = @namespace));

-- name: update_forget
-- params: @job uuid, @key text, @namespace text
DELETE FROM {schema}.job_update u WHERE u.id = @job AND u.key = @key AND u.verdict = {update_refused}
  AND (@namespace IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.job j, {schema}.lane l, {schema}.queue q
    WHERE j.id = u.id AND l.id = j.lane AND q.id = l.queue AND q.namespace = @namespace));

-- Those with an answer that entries after @last have accepted, or after that with which the job
-- continued as new. Comes before the entries go.
-- name: updates_forget_accepted
-- params: @job uuid, @last bigint
DELETE FROM {schema}.job_update u WHERE u.id = @job AND u.verdict IS NOT NULL AND u.seq = ANY (ARRAY(
  SELECT e.ref FROM {schema}.journal e WHERE e.id = @job AND e.seq > greatest(@last, {{generation}}) AND e.kind = {entry_updated}));

-- Removes those of jobs that went with their days. So many are looked at, after a job, and all
-- others of the same jobs; answers with the last job of them.
-- name: updates_of_gone
-- params: @after uuid, @to uuid, @limit int
WITH looked AS MATERIALIZED (
  SELECT u.id FROM {schema}.job_update u WHERE u.id > @after AND u.id < @to ORDER BY u.id LIMIT @limit
), gone AS MATERIALIZED (
  SELECT t.id FROM (SELECT DISTINCT id FROM looked) t WHERE NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id OFFSET 0)
), rows AS MATERIALIZED (
  SELECT u.place FROM gone g
  CROSS JOIN LATERAL (SELECT a.ctid AS place FROM {schema}.job_update a WHERE a.id = g.id FOR UPDATE SKIP LOCKED) u
), forgotten AS (
  DELETE FROM {schema}.job_update WHERE ctid = ANY (ARRAY(SELECT place FROM rows))
)
SELECT id FROM looked ORDER BY id DESC LIMIT 1;

-- Removes so many of those that were refused, and whose callers had time enough to hear of it.
-- name: updates_refused
-- params: @before bigint, @limit int
DELETE FROM {schema}.job_update WHERE ctid = ANY (ARRAY(
  SELECT ctid FROM {schema}.job_update WHERE verdict = {update_refused} AND answered_at < @before ORDER BY answered_at LIMIT @limit
  FOR UPDATE SKIP LOCKED
)) RETURNING 1;
