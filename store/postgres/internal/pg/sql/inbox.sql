-- Messages, waiting and waking.
--
-- What sends to a job, parks it or ends its child locks the job's body first, in a statement of its
-- own: what comes after sees all that was sent, numbers it without gaps, and the job does not park
-- and is not sent to meanwhile. So a message either finds the job waiting, or is found by the run
-- that parks.

-- Locks bodies: those of @jobs, and of the parents of @answering_children. In the order of their
-- ids, as everybody does.
--
-- Our own transactions hold a body for a moment, those of callers for as long as they like. So a
-- batch, which others wait for, waits only so long (wait_at_most); then it is done again, and asks
-- with grab_bodies which there are to be had.
-- name: lock_bodies
-- params: @jobs uuid[], @answering_children uuid[]
SELECT count(*) FROM (
  SELECT DISTINCT u.id FROM (
    SELECT id FROM unnest(@jobs) AS t (id)
    UNION ALL
    SELECT p.parent FROM unnest(@answering_children) AS c (id)
    CROSS JOIN LATERAL (SELECT j.parent FROM {schema}.job j WHERE j.id = c.id AND j.link & {answers} <> 0 OFFSET 0) p
  ) u ORDER BY u.id
) t CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job j WHERE j.id = t.id FOR NO KEY UPDATE) b;

-- No statement of the transaction waits longer for a lock.
-- name: wait_at_most
-- params: @timeout text
SELECT set_config('lock_timeout', @timeout, true);

-- The commit of the transaction does not wait for the disk: for one that changes nothing.
-- name: commit_lightly
SELECT set_config('synchronous_commit', 'off', true);

-- Locks those of the bodies that no other transaction has locked, and answers with the others. It
-- does not wait.
-- name: grab_bodies
-- params: @jobs uuid[]
SELECT t.id FROM (SELECT DISTINCT id FROM unnest(@jobs) AS t (id) ORDER BY id) t
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.job a WHERE a.id = t.id OFFSET 0) there
LEFT JOIN LATERAL (SELECT true AS yes FROM {schema}.job j WHERE j.id = t.id FOR NO KEY UPDATE SKIP LOCKED) b ON true
WHERE b.yes IS NULL;

-- Stores messages, of which no two have one job and one key or callback. Answers with each one's
-- number, that of the first one if it was sent before, and with what speaks against it. Of a job
-- that has finished the number is its state.
-- name: send
-- params: @jobs uuid[], @namespaces text[], @keys text[], @kinds int[], @names text[], @data bytea[]
-- params: @codecs int[], @errors text[], @traces text[], @now bigint
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(@jobs, @namespaces, @keys, @kinds, @names, @data, @codecs, @errors, @traces)
    WITH ORDINALITY AS t (id, namespace, key, kind, name, data, codec, error, trace, place)
), judged AS MATERIALIZED (
  SELECT i.*, k.seq AS known, CASE
    WHEN b.yes IS NULL THEN {send_no_job}
    WHEN k.seq IS NOT NULL THEN {send_duplicate}
    WHEN f.state IS NOT NULL THEN {send_finished}
    WHEN i.kind IN ({callback_messages}) AND o.yes IS NULL THEN {send_no_callback}
    WHEN i.kind IN ({callback_messages}) AND s.yes THEN {send_answered}
    ELSE {send_stored}
  END AS verdict, f.state AS ended
  FROM input i
  LEFT JOIN LATERAL (SELECT m.seq FROM {schema}.inbox m WHERE m.id = i.id AND m.key = i.key OFFSET 0) k ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.job a WHERE a.id = i.id AND (i.namespace IS NULL OR EXISTS (
      SELECT 1 FROM {schema}.lane l, {schema}.queue q WHERE l.id = a.lane AND q.id = l.queue AND q.namespace = i.namespace
    )) OFFSET 0
  ) b ON true
  LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = i.id OFFSET 0) f ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.journal a WHERE a.id = i.id AND a.kind = {entry_callback} AND a.kind IN ({named_entries})
      AND a.name = i.name AND i.kind IN ({callback_messages}) LIMIT 1
  ) o ON true
  LEFT JOIN LATERAL (
    SELECT true AS yes FROM {schema}.inbox a WHERE a.id = i.id AND a.kind IN ({callback_answers}) AND a.name = i.name
      AND i.kind IN ({callback_messages}) LIMIT 1
  ) s ON true
), stored AS MATERIALIZED (
  SELECT j.*, coalesce((SELECT m.seq FROM {schema}.inbox m WHERE m.id = j.id ORDER BY m.seq DESC LIMIT 1), 0)
    + row_number() OVER (PARTITION BY j.id ORDER BY j.place) AS seq
  FROM judged j WHERE j.verdict = {send_stored}
), written AS (
  INSERT INTO {schema}.inbox (id, seq, at, codec, kind, name, key, error, data, trace)
  SELECT id, seq, @now, codec, kind, name, key, error, data, trace FROM stored
)
SELECT place, seq, {send_stored} FROM stored
UNION ALL SELECT place, coalesce(known, ended, 0), verdict FROM judged WHERE verdict > {send_stored};

-- Jobs that have just finished answer their parents, in the order given. @parents are runs of the
-- same batch that may be their parents'; places are those in the batch. A parent that is completed,
-- or is gone, is told nothing; one whose run comes after the child's was told before it completed,
-- and has forgotten it if it has started over. Answers with parents, numbers and children.
--
-- The last number is looked up below the sort for the numbering, so that it is known before the
-- first row is inserted. A look between two inserts would come past all that the statement has
-- inserted so far and cannot see: the cost of a batch for one parent would grow with the square of
-- its size.
-- name: answer
-- params: @jobs uuid[], @now bigint, @places int[], @parents uuid[], @parent_places int[]
-- params: @parents_continue boolean[]
WITH told AS MATERIALIZED (
  SELECT b.parent, t.id, coalesce(f.codec, 0) AS codec, f.state, f.reason, f.error, f.result,
    coalesce(l.seq, 0) + row_number() OVER (PARTITION BY b.parent ORDER BY t.n) AS seq
  FROM unnest(@jobs, @places) WITH ORDINALITY AS t (id, place, n)
  CROSS JOIN LATERAL (
    SELECT j.parent, array_position(@parents, j.parent) AS run
    FROM {schema}.job j WHERE j.id = t.id AND j.link & {answers} <> 0 OFFSET 0
  ) b
  CROSS JOIN LATERAL (SELECT a.state, a.reason, a.error, a.result, a.codec FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f
  LEFT JOIN LATERAL (
    SELECT m.seq FROM {schema}.inbox m WHERE m.id = b.parent ORDER BY m.seq DESC LIMIT 1
  ) l ON true
  WHERE EXISTS (SELECT 1 FROM {schema}.job p WHERE p.id = b.parent OFFSET 0) AND CASE
    WHEN (@parent_places)[b.run] > t.place THEN NOT (@parents_continue)[b.run]
    ELSE NOT EXISTS (SELECT 1 FROM {schema}.finished p WHERE p.id = b.parent AND p.state = {completed} OFFSET 0)
  END
)
INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, reason, error, data)
SELECT parent, seq, @now, id, codec, {message_child}, state, reason, error, result FROM told RETURNING id, seq, from_id;

-- Wakes those that wait for what has come: jobs with how many of their messages are news at the
-- most, and the parents of @answering_children, which have one more. Answers with those that became
-- available, and with the message that woke them. Older messages have been looked at before; who
-- parks looks at all. A pointer that is gone was taken by another: what was due has been promoted.
-- name: wake
-- params: @jobs uuid[], @news bigint[], @answering_children uuid[], @now bigint
WITH candidates AS MATERIALIZED (
  SELECT u.id, sum(u.news) AS news FROM (
    SELECT id, news FROM unnest(@jobs, @news) AS t (id, news)
    UNION ALL
    SELECT p.parent, 1 FROM unnest(@answering_children) AS c (id)
    CROSS JOIN LATERAL (SELECT j.parent FROM {schema}.job j WHERE j.id = c.id AND j.link & {answers} <> 0 OFFSET 0) p
  ) u GROUP BY u.id
), called AS MATERIALIZED (
  SELECT c.id, d.due, w.seq FROM candidates c
  CROSS JOIN LATERAL (SELECT j.run_at FROM {schema}.job j WHERE j.id = c.id OFFSET 0) b
  CROSS JOIN LATERAL (
    SELECT a.due, a.seen, a.enough, a.kinds, a.failures FROM {schema}.deferred a
    WHERE a.due = b.run_at AND a.id = c.id AND a.state = {waiting} AND a.held IS NOT TRUE OFFSET 0
  ) d
  CROSS JOIN LATERAL (
    SELECT min(m.seq) AS seq FROM (
      SELECT i.seq, i.kind, i.state FROM {schema}.inbox i WHERE i.id = c.id AND i.seq > d.seen ORDER BY i.seq DESC LIMIT c.news
    ) m WHERE (d.kinds >> m.kind) & 1 = 1 OR m.seq >= d.enough OR d.failures AND m.kind = {message_child} AND m.state <> {completed}
  ) w WHERE w.seq IS NOT NULL
), gone AS (
  DELETE FROM {schema}.deferred d USING called c WHERE d.due = c.due AND d.id = c.id RETURNING d.id, d.lane, c.seq
), woken AS MATERIALIZED (
  SELECT * FROM gone ORDER BY id
), bodies AS (
  UPDATE {schema}.job j SET run_at = @now FROM woken w WHERE j.id = w.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, @now, id FROM woken
)
SELECT id, lane, seq FROM woken;

-- Of the messages of jobs that start over the signals stay that were not received, in their
-- order.
-- name: continue_inbox
-- params: @jobs uuid[]
WITH received AS MATERIALIZED (
  SELECT t.id, j.ref FROM unnest(@jobs) AS t (id)
  CROSS JOIN LATERAL (SELECT a.ref FROM {schema}.journal a WHERE a.id = t.id AND a.kind = {entry_received} AND a.seq >= coalesce(
    (SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) OFFSET 0) j
), gone AS (
  DELETE FROM {schema}.inbox m USING unnest(@jobs) AS t (id) WHERE m.id = t.id RETURNING m.*
)
INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, name, key, reason, error, data, trace)
SELECT id, row_number() OVER (PARTITION BY id ORDER BY seq), at, from_id, codec, kind, state, name, key, reason, error, data, trace
FROM gone WHERE kind = {message_signal} AND ((id, seq) IN (SELECT id, ref FROM received)) IS NOT TRUE;

-- The journals of jobs that start over do so after their last entry, with @data in their first.
-- Items of streams stay, and the last value of each key. These may become very many, and are not
-- looked at again until a value is replaced. kind + 0: not by the index of names, in which all of
-- them are.
-- name: continue_journal
-- params: @jobs uuid[], @leases bigint[], @data bytea[], @now bigint
WITH ends AS MATERIALIZED (
  SELECT t.id, t.lease, t.data, coalesce((SELECT a.seq FROM {schema}.journal a WHERE a.id = t.id ORDER BY a.seq DESC LIMIT 1), 0) AS last,
    coalesce((SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) AS first,
    EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = t.id AND a.kind = {entry_published}
      AND a.kind IN ({named_entries}) OFFSET 0) AS publishes
  FROM unnest(@jobs, @leases, @data) AS t (id, lease, data)
), newest AS MATERIALIZED (
  SELECT e.id, v.name, max(v.seq) AS seq, e.first FROM ends e
  CROSS JOIN LATERAL (
    SELECT a.name, a.seq FROM {schema}.journal a
    WHERE a.id = e.id AND a.seq >= e.first AND a.kind + 0 = {entry_published} OFFSET 0
  ) v
  WHERE e.publishes GROUP BY e.id, e.first, v.name
), gone AS (
  DELETE FROM {schema}.journal j USING ends e WHERE j.id = e.id AND j.seq >= e.first AND j.kind <> {entry_streamed}
    AND (j.kind <> {entry_published} OR ((j.id, j.seq) IN (SELECT id, seq FROM newest)) IS NOT TRUE)
), replaced AS MATERIALIZED (
  SELECT n.id, o.seq FROM newest n CROSS JOIN LATERAL (
    SELECT a.seq FROM {schema}.journal a
    WHERE a.id = n.id AND a.kind = {entry_published} AND a.kind IN ({named_entries}) AND a.name = n.name AND a.seq < n.first OFFSET 0
  ) o
), gone_too AS (
  DELETE FROM {schema}.journal j USING replaced r WHERE j.id = r.id AND j.seq = r.seq
), begun AS (
  INSERT INTO {schema}.generation (id, first) SELECT id, last + 1 FROM ends ON CONFLICT (id) DO UPDATE SET first = excluded.first
)
INSERT INTO {schema}.journal (id, seq, at, lease, codec, kind, path, data)
SELECT id, last + 1, @now, lease, 0, {entry_continued}, '', data FROM ends;

-- @jobs jobs, @args args, @codecs codecs.
-- name: continue_job
-- params: @jobs uuid[], @args bytea[], @codecs int[]
UPDATE {schema}.job j SET args = t.args, codec = t.codec, attempt = 0, closing = NULL, remembers = true
FROM unnest(@jobs, @args, @codecs) AS t (id, args, codec) WHERE j.id = t.id;

-- A page of what was sent to a job.
-- name: messages
-- params: @job uuid, @after bigint, @limit int
SELECT seq, at, kind, codec, name, data, from_id, state, reason, error, trace FROM {schema}.inbox
WHERE id = @job AND seq > @after ORDER BY seq LIMIT @limit;
