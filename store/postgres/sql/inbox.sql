-- Messages, waiting and waking.
--
-- Whoever sends to a job, parks it or ends its child locks the job's body first, in a statement of its own: what comes after sees all
-- that was sent, numbers it without gaps, and nobody parks or sends meanwhile. So a message either finds the job waiting, or is found by
-- the run that parks.

-- $1 jobs; $2 children that answer, whose parents are meant. Bodies are locked in the order of their ids, by everybody.
--
-- Our own transactions hold a body for a moment, those of callers for as long as they like. So a batch, which others wait for, waits only
-- so long (wait_at_most); then it is done again, and asks with grab_bodies which there are to be had.
-- name: lock_bodies
SELECT count(*) FROM (
  SELECT DISTINCT u.id FROM (
    SELECT id FROM unnest($1::uuid[]) AS t (id)
    UNION ALL
    SELECT p.parent FROM unnest($2::uuid[]) AS c (id)
    CROSS JOIN LATERAL (SELECT j.parent FROM {schema}.job j WHERE j.id = c.id AND j.link & 4 <> 0 OFFSET 0) p
  ) u ORDER BY u.id
) t CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job j WHERE j.id = t.id FOR NO KEY UPDATE) b;

-- No statement of the transaction waits for a lock longer than $1.
-- name: wait_at_most
SELECT set_config('lock_timeout', $1::text, true);

-- The commit of the transaction does not wait for the disk: for one that changes nothing.
-- name: commit_lightly
SELECT set_config('synchronous_commit', 'off', true);

-- Locks those of the bodies $1 that nobody else has locked, and answers with the others. It waits for nobody.
-- name: grab_bodies
SELECT t.id FROM (SELECT DISTINCT id FROM unnest($1::uuid[]) AS t (id) ORDER BY id) t
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job a WHERE a.id = t.id OFFSET 0) there
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.job j WHERE j.id = t.id FOR NO KEY UPDATE SKIP LOCKED) b ON true
WHERE b.yes IS NULL;

-- $1 jobs, $2 keys, $3 kinds, $4 names, $5 data, $6 codecs, $7 errors, $8 now. No two have one job and one key or callback. Answers with
-- each one's number, that of the first one if it was sent before, and with what speaks against it: 1 it was sent before, 2 there is
-- no such job, 3 it has finished (the number is its state), 4 it has no such callback, 5 the callback has its answer.
-- name: send
WITH input AS MATERIALIZED (
  SELECT * FROM unnest($1::uuid[], $2::text[], $3::int[], $4::text[], $5::bytea[], $6::int[], $7::text[])
    WITH ORDINALITY AS t (id, key, kind, name, data, codec, error, place)
), judged AS MATERIALIZED (
  SELECT i.*, k.seq AS known, CASE
    WHEN k.seq IS NOT NULL THEN 1
    WHEN b.yes IS NULL THEN 2
    WHEN f.state IS NOT NULL THEN 3
    WHEN i.kind IN (2, 3, 4) AND o.yes IS NULL THEN 4
    WHEN i.kind IN (2, 3, 4) AND s.yes THEN 5
    ELSE 0
  END AS verdict, f.state AS ended
  FROM input i
  LEFT JOIN LATERAL (SELECT m.seq FROM {schema}.inbox m WHERE m.id = i.id AND m.key = i.key OFFSET 0) k ON true
  LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.job a WHERE a.id = i.id OFFSET 0) b ON true
  LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = i.id OFFSET 0) f ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.journal a WHERE a.id = i.id AND a.kind = 8 AND a.kind IN (8, 12, 13) AND a.name = i.name AND i.kind IN (2, 3, 4) LIMIT 1
  ) o ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.inbox a WHERE a.id = i.id AND a.kind IN (2, 3) AND a.name = i.name AND i.kind IN (2, 3, 4) LIMIT 1
  ) s ON true
), stored AS MATERIALIZED (
  SELECT j.*, coalesce((SELECT m.seq FROM {schema}.inbox m WHERE m.id = j.id ORDER BY m.seq DESC LIMIT 1), 0)
    + row_number() OVER (PARTITION BY j.id ORDER BY j.place) AS seq
  FROM judged j WHERE j.verdict = 0
), written AS (
  INSERT INTO {schema}.inbox (id, seq, at, codec, kind, name, key, error, data)
  SELECT id, seq, $8::bigint, codec, kind, name, key, error, data FROM stored
)
SELECT place, seq, 0 FROM stored UNION ALL SELECT place, coalesce(known, ended, 0), verdict FROM judged WHERE verdict > 0;

-- Jobs that have just finished answer their parents: $1 jobs, in order, $2 now, $3 their places in the batch. $4 runs of the same batch that may be
-- their parents', $5 their places, $6 whether they have begun anew. A parent that is completed, or is gone, is told nothing; one whose run comes
-- after the child's was told before it completed, and has forgotten it if it has begun anew. Answers with parents, numbers and children.
--
-- The last number is looked up below the sort for the numbering, so that it is known before the first
-- row is inserted. A look between two inserts would come past all that the statement has inserted so
-- far and cannot see: the cost of a batch for one parent would grow with the square of its size.
-- name: answer
WITH told AS MATERIALIZED (
  SELECT b.parent, t.id, b.codec, f.state, f.reason, f.error, f.result,
    coalesce(l.seq, 0) + row_number() OVER (PARTITION BY b.parent ORDER BY t.n) AS seq
  FROM unnest($1::uuid[], $3::int[]) WITH ORDINALITY AS t (id, place, n)
  CROSS JOIN LATERAL (
    SELECT j.parent, j.codec, array_position($4::uuid[], j.parent) AS run FROM {schema}.job j WHERE j.id = t.id AND j.link & 4 <> 0 OFFSET 0
  ) b
  CROSS JOIN LATERAL (SELECT a.state, a.reason, a.error, a.result FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f
  LEFT JOIN LATERAL (
    SELECT m.seq FROM {schema}.inbox m WHERE m.id = b.parent ORDER BY m.seq DESC LIMIT 1
  ) l ON true
  WHERE EXISTS (SELECT 1 FROM {schema}.job p WHERE p.id = b.parent OFFSET 0) AND CASE
    WHEN ($5::int[])[b.run] > t.place THEN NOT ($6::boolean[])[b.run]
    ELSE NOT EXISTS (SELECT 1 FROM {schema}.finished p WHERE p.id = b.parent AND p.state = 6 OFFSET 0)
  END
)
INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, reason, error, data)
SELECT parent, seq, $2::bigint, id, codec, 5, state, reason, error, result FROM told RETURNING id, seq, from_id;

-- Wakes those that wait for what has come: $1 jobs, $2 how many of their messages are news at the most, $3 children whose parents have
-- one more, $4 now. Answers with those that became available, and with the message that woke them. Older messages have been looked at
-- before; who parks looks at all. A pointer that is gone is somebody else's: what was due has been promoted.
-- name: wake
WITH candidates AS MATERIALIZED (
  SELECT u.id, sum(u.news) AS news FROM (
    SELECT id, news FROM unnest($1::uuid[], $2::bigint[]) AS t (id, news)
    UNION ALL
    SELECT p.parent, 1 FROM unnest($3::uuid[]) AS c (id)
    CROSS JOIN LATERAL (SELECT j.parent FROM {schema}.job j WHERE j.id = c.id AND j.link & 4 <> 0 OFFSET 0) p
  ) u GROUP BY u.id
), called AS MATERIALIZED (
  SELECT c.id, d.due, w.seq FROM candidates c
  CROSS JOIN LATERAL (SELECT j.run_at FROM {schema}.job j WHERE j.id = c.id OFFSET 0) b
  CROSS JOIN LATERAL (
    SELECT a.due, a.seen, a.enough, a.kinds, a.failures FROM {schema}.deferred a
    WHERE a.due = b.run_at AND a.id = c.id AND a.state = 5 AND a.held IS NOT TRUE OFFSET 0
  ) d
  CROSS JOIN LATERAL (
    SELECT min(m.seq) AS seq FROM (
      SELECT i.seq, i.kind, i.state FROM {schema}.inbox i WHERE i.id = c.id AND i.seq > d.seen ORDER BY i.seq DESC LIMIT c.news
    ) m WHERE (d.kinds >> m.kind) & 1 = 1 OR m.seq >= d.enough OR d.failures AND m.kind = 5 AND m.state <> 6
  ) w WHERE w.seq IS NOT NULL
), gone AS (
  DELETE FROM {schema}.deferred d USING called c WHERE d.due = c.due AND d.id = c.id RETURNING d.id, d.lane, c.seq
), woken AS MATERIALIZED (
  SELECT * FROM gone ORDER BY id
), bodies AS (
  UPDATE {schema}.job j SET run_at = $4::bigint FROM woken w WHERE j.id = w.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, $4::bigint, id FROM woken
)
SELECT id, lane, seq FROM woken;

-- Jobs that begin anew, $1: of their messages the signals stay that nobody has received, in their order.
-- name: anew_inbox
WITH received AS MATERIALIZED (
  SELECT t.id, j.ref FROM unnest($1::uuid[]) AS t (id)
  CROSS JOIN LATERAL (SELECT a.ref FROM {schema}.journal a WHERE a.id = t.id AND a.kind = 6 AND a.seq >= coalesce(
    (SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) OFFSET 0) j
), gone AS (
  DELETE FROM {schema}.inbox m USING unnest($1::uuid[]) AS t (id) WHERE m.id = t.id RETURNING m.*
)
INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, name, key, reason, error, data)
SELECT id, row_number() OVER (PARTITION BY id ORDER BY seq), at, from_id, codec, kind, state, name, key, reason, error, data
FROM gone WHERE kind = 1 AND ((id, seq) IN (SELECT id, ref FROM received)) IS NOT TRUE;

-- The journals of jobs that begin anew, $1, begin anew after their last entry: $2 lease numbers, $3 data of their first entries, $4 now.
-- Items of streams stay, and the last value of each key. These may become very many, and are not looked at again until a value is
-- replaced. kind + 0: not by the index of names, in which all of them are.
-- name: anew_journal
WITH ends AS MATERIALIZED (
  SELECT t.id, t.lease, t.data, coalesce((SELECT a.seq FROM {schema}.journal a WHERE a.id = t.id ORDER BY a.seq DESC LIMIT 1), 0) AS last,
    coalesce((SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) AS first,
    EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = t.id AND a.kind = 12 AND a.kind IN (8, 12, 13) OFFSET 0) AS publishes
  FROM unnest($1::uuid[], $2::bigint[], $3::bytea[]) AS t (id, lease, data)
), newest AS MATERIALIZED (
  SELECT e.id, v.name, max(v.seq) AS seq, e.first FROM ends e
  CROSS JOIN LATERAL (SELECT a.name, a.seq FROM {schema}.journal a WHERE a.id = e.id AND a.seq >= e.first AND a.kind + 0 = 12 OFFSET 0) v
  WHERE e.publishes GROUP BY e.id, e.first, v.name
), gone AS (
  DELETE FROM {schema}.journal j USING ends e WHERE j.id = e.id AND j.seq >= e.first AND j.kind <> 13
    AND (j.kind <> 12 OR ((j.id, j.seq) IN (SELECT id, seq FROM newest)) IS NOT TRUE)
), replaced AS MATERIALIZED (
  SELECT n.id, o.seq FROM newest n CROSS JOIN LATERAL (
    SELECT a.seq FROM {schema}.journal a
    WHERE a.id = n.id AND a.kind = 12 AND a.kind IN (8, 12, 13) AND a.name = n.name AND a.seq < n.first OFFSET 0
  ) o
), gone_too AS (
  DELETE FROM {schema}.journal j USING replaced r WHERE j.id = r.id AND j.seq = r.seq
), begun AS (
  INSERT INTO {schema}.generation (id, first) SELECT id, last + 1 FROM ends ON CONFLICT (id) DO UPDATE SET first = excluded.first
)
INSERT INTO {schema}.journal (id, seq, at, lease, codec, kind, path, data) SELECT id, last + 1, $4::bigint, lease, 0, 16, '', data FROM ends;

-- $1 jobs, $2 args, $3 codecs.
-- name: anew
UPDATE {schema}.job j SET args = t.args, codec = t.codec, attempt = 0, closing = NULL
FROM unnest($1::uuid[], $2::bytea[], $3::int[]) AS t (id, args, codec) WHERE j.id = t.id;

-- A page of what was sent to a job: $1 job, $2 the seq to go on from, $3 limit.
-- name: messages
SELECT seq, at, kind, codec, name, data, from_id, state, reason, error FROM {schema}.inbox
WHERE id = $1::uuid AND seq > $2::bigint ORDER BY seq LIMIT $3::int;
