-- Promotion: what is due, and the turns of ordering keys.

-- What is due may be claimed, if it has no ordering key, or has the turn of it already; the others
-- get in line.
-- name: promote_due
-- params: @now bigint, @limit int
WITH due AS MATERIALIZED (
  SELECT d.ctid AS place, d.due, d.id, d.lane, d.ordering_key FROM {schema}.deferred d
  WHERE d.due <= @now ORDER BY d.due, d.id LIMIT @limit FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM {schema}.deferred WHERE ctid = ANY (ARRAY(SELECT place FROM due))
), sorted AS MATERIALIZED (
  SELECT d.due, d.id, d.lane, d.ordering_key, l.queue, l.priority, d.ordering_key IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = d.ordering_key AND k.id = d.id
  ) AS free
  FROM due d CROSS JOIN LATERAL (SELECT a.queue, a.priority FROM {schema}.lane a WHERE a.id = d.lane OFFSET 0) l
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, due, id FROM sorted WHERE free
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, due, id, lane FROM sorted WHERE NOT free
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM sorted WHERE NOT free
)
SELECT id, lane, CASE WHEN free THEN due END FROM sorted;

-- Gives the turn of keys to the first that waits for it, where it is free.
--
-- A check is written in the transaction that changes keyed or frees a turn, so what sees the
-- check sees the change. If two do this for one key at once, the primary key of key_holder lets one
-- of them win; the other has nothing to do. A head that is taken out of the line meanwhile leaves a
-- check of its own. One that a caller's transaction is replacing is left alone, and the check
-- stays, behind all others: nothing waits for it. Answers with what moved, and with a row that
-- counts the checks, and those of them that stay.
-- name: hand_on_turns
-- params: @limit int
WITH checks AS MATERIALIZED (
  SELECT c.ctid AS place, c.queue, c.ordering_key FROM {schema}.key_check c ORDER BY c.seq LIMIT @limit FOR UPDATE SKIP LOCKED
), consumed AS (
  DELETE FROM {schema}.key_check WHERE ctid = ANY (ARRAY(SELECT place FROM checks))
), keys AS MATERIALIZED (
  SELECT DISTINCT queue, ordering_key FROM checks
), heads AS MATERIALIZED (
  SELECT h.place, k.queue, k.ordering_key, h.run_at, h.id, h.lane FROM keys k CROSS JOIN LATERAL (
    SELECT w.ctid AS place, w.run_at, w.id, w.lane FROM {schema}.keyed w WHERE w.queue = k.queue AND w.ordering_key = k.ordering_key
    ORDER BY w.priority, w.run_at, w.id LIMIT 1
  ) h WHERE NOT EXISTS (SELECT 1 FROM {schema}.key_holder o WHERE o.queue = k.queue AND o.ordering_key = k.ordering_key OFFSET 0)
), first AS MATERIALIZED (
  SELECT h.* FROM heads h
  CROSS JOIN LATERAL (SELECT 1 FROM {schema}.keyed w WHERE w.ctid = h.place AND w.id = h.id FOR UPDATE SKIP LOCKED) l
), left_alone AS MATERIALIZED (
  SELECT h.queue, h.ordering_key FROM heads h WHERE (h.id IN (SELECT id FROM first)) IS NOT TRUE
), kept AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM left_alone
), holders AS (
  INSERT INTO {schema}.key_holder (queue, ordering_key, id)
  SELECT queue, ordering_key, id FROM first ORDER BY queue, ordering_key
  ON CONFLICT (queue, ordering_key) DO NOTHING RETURNING id
), moved AS MATERIALIZED (
  SELECT * FROM first WHERE (id IN (SELECT id FROM holders)) IS TRUE
), out_of_line AS (
  DELETE FROM {schema}.keyed WHERE ctid = ANY (ARRAY(SELECT place FROM moved))
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM moved
)
SELECT c.checks, (SELECT count(*) FROM left_alone), m.id, m.lane, m.run_at
FROM (SELECT count(*) AS checks FROM checks) c LEFT JOIN moved m ON true;

-- Whether there is something to promote, and the next due time that there is; whether gates are to
-- be looked at, and jobs wait at some; when one may go on that waits for the rate of its key; how
-- often it was asked that all gates are looked at; and when the first of the queues that rest goes
-- on.
-- name: promote_look
-- params: @now bigint
SELECT coalesce(d.due <= @now, false) OR EXISTS (SELECT 1 FROM {schema}.key_check), d.due,
  EXISTS (SELECT 1 FROM {schema}.gate_check), EXISTS (SELECT 1 FROM {schema}.gated),
  (SELECT k.look_at FROM {schema}.key_rate k WHERE k.look_at IS NOT NULL ORDER BY k.look_at LIMIT 1),
  (SELECT w.at FROM {schema}.gate_sweep w WHERE w.id = {gates_asked}),
  CASE WHEN EXISTS (SELECT 1 FROM {schema}.gated) THEN (SELECT min(q.rest_until) FROM {schema}.queue q WHERE q.rest_until > @now) END
FROM (SELECT 1) one LEFT JOIN (SELECT due FROM {schema}.deferred WHERE due < {never} ORDER BY due LIMIT 1) d ON true;

-- Whether anything is left that was due, because it is locked or there was too much, and when
-- something is due after that.
-- name: next_due
-- params: @now bigint
SELECT EXISTS (SELECT 1 FROM {schema}.deferred WHERE due <= @now),
  (SELECT due FROM {schema}.deferred WHERE due > @now AND due < {never} ORDER BY due LIMIT 1);
