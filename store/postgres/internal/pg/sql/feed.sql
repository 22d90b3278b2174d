-- The feed of changes: its rows are written by triggers, and are in no order until feed_order gives
-- them one. Under feed_lock no transaction writes to the tables of pointers.

-- name: feed_lock
LOCK TABLE {schema}.ready, {schema}.keyed, {schema}.gated, {schema}.deferred, {schema}.claim, {schema}.finished,
  {schema}.feed, {schema}.feed_raw, {schema}.feed_order IN ACCESS EXCLUSIVE MODE;

-- The next statement takes no longer, with all that it waits for: a limit of locks alone is that of
-- each of them.
-- name: feed_lock_within
-- params: @timeout text
SELECT set_config('statement_timeout', @timeout, true);

-- One script, as all of it happens together.
-- name: feed_begin
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.ready REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_available();
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.keyed REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_available();
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.gated REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_available();
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.deferred REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_deferred();
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.claim REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_claimed();
CREATE TRIGGER holdfast_feed AFTER INSERT ON {schema}.finished REFERENCING NEW TABLE AS arrived
  FOR EACH STATEMENT EXECUTE FUNCTION {schema}.feed_finished();

-- name: feed_end
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.ready;
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.keyed;
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.gated;
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.deferred;
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.claim;
DROP TRIGGER IF EXISTS holdfast_feed ON {schema}.finished;

-- name: feed_empty
TRUNCATE {schema}.feed, {schema}.feed_raw, {schema}.feed_order;

-- A new life, with nothing in it. What commits from now on is not in this snapshot.
-- name: feed_live
-- params: @injected bigint
WITH born AS (
  INSERT INTO {schema}.feed (life) SELECT greatest({schema}.clock(@injected), 1) RETURNING life
)
INSERT INTO {schema}.feed_order (first, last, at, xids, seqs, counts, snap) SELECT 0, 0, life, '{}', '{}', '{}', pg_current_snapshot() FROM born;

-- No row: the feed is off.
-- name: feed_status
SELECT f.life, (SELECT greatest(o.first - 1, 0) FROM {schema}.feed_order o ORDER BY o.first LIMIT 1),
  (SELECT o.last FROM {schema}.feed_order o ORDER BY o.first DESC LIMIT 1)
FROM {schema}.feed f;

-- A row if the database was restored into a server whose transactions have smaller numbers than the
-- last snapshot: what is written there would not be found.
-- name: feed_strange
SELECT 1 FROM (SELECT o.snap FROM {schema}.feed_order o ORDER BY o.first DESC LIMIT 1) o
WHERE pg_snapshot_xmax(o.snap) > pg_snapshot_xmax(pg_current_snapshot());

-- Gives positions to what has committed since the last pass, in the order in which it was written.
-- That is what its snapshot did not see: rows of transactions that were under way then, and of
-- later ones. Among these no effect has a smaller seq than its cause; and a cause that has
-- committed is seen by each snapshot that sees an effect.
--
-- One pass at a time gets the lock, so that others do not write for nothing. It is not what keeps
-- them apart: a pass that looked before another one committed has the same first position, and
-- fails by the key. With ON CONFLICT it could write half a pass.
-- name: feed_order
-- params: @injected bigint
WITH turn AS MATERIALIZED (
  SELECT pg_try_advisory_xact_lock(hashtextextended({schema_name} || '.feed', 0)) AS mine
), last AS MATERIALIZED (
  SELECT l.last, l.snap FROM turn t CROSS JOIN LATERAL (
    SELECT o.last, o.snap FROM {schema}.feed_order o WHERE t.mine ORDER BY o.first DESC LIMIT 1
  ) l
), found AS MATERIALIZED (
  SELECT r.xid, r.seq, r.n FROM last l CROSS JOIN LATERAL (
    SELECT f.xid, f.seq, f.n FROM pg_snapshot_xip(l.snap) AS x (xid) CROSS JOIN LATERAL (
      SELECT f.xid, f.seq, f.n FROM {schema}.feed_raw f WHERE f.xid = x.xid OFFSET 0
    ) f
    UNION ALL SELECT f.xid, f.seq, f.n FROM {schema}.feed_raw f WHERE f.xid >= pg_snapshot_xmax(l.snap)
  ) r
), placed AS MATERIALIZED (
  SELECT xid, seq, n, row_number() OVER (ORDER BY seq) AS place, count(*) OVER () AS total, sum(n) OVER (ORDER BY seq) AS upto FROM found
)
INSERT INTO {schema}.feed_order (first, last, at, xids, seqs, counts, snap)
SELECT l.last + min(p.upto - p.n) + 1, l.last + max(p.upto), {schema}.clock(@injected), array_agg(p.xid ORDER BY p.seq),
  array_agg(p.seq ORDER BY p.seq), array_agg(p.n ORDER BY p.seq), CASE WHEN max(p.place) = max(p.total) THEN pg_current_snapshot() END
FROM last l, placed p GROUP BY l.last, (p.place - 1) / {feed_part};

-- The changes after a position, at most so many.
-- name: feed_page
-- params: @after bigint, @limit int
WITH base AS MATERIALIZED (
  SELECT greatest(@after, (SELECT o.first - 1 FROM {schema}.feed_order o ORDER BY o.first LIMIT 1), 0) AS after
), parts AS MATERIALIZED (
  SELECT o.first, o.xids, o.seqs, o.counts FROM base b CROSS JOIN LATERAL (
    SELECT p.first FROM {schema}.feed_order p WHERE p.first <= b.after + 1 ORDER BY p.first DESC LIMIT 1
  ) s CROSS JOIN LATERAL (
    SELECT o.first, o.xids, o.seqs, o.counts FROM {schema}.feed_order o
    WHERE o.first >= s.first AND o.first <= b.after + @limit ORDER BY o.first LIMIT @limit + 1
  ) o
), placed AS MATERIALIZED (
  SELECT r.xid, r.seq, r.n, o.first + sum(r.n) OVER (PARTITION BY o.first ORDER BY r.place) - r.n AS first
  FROM parts o CROSS JOIN LATERAL unnest(o.xids, o.seqs, o.counts) WITH ORDINALITY AS r (xid, seq, n, place)
), changes AS MATERIALIZED (
  SELECT (r.first + s.place - 1)::bigint AS position, f.at, coalesce(f.states[s.place], f.state)::int AS state, f.reasons[s.place] AS reason, s.id
  FROM base b CROSS JOIN placed r CROSS JOIN LATERAL (
    SELECT f.at, f.state, f.states, f.reasons, f.ids FROM {schema}.feed_raw f WHERE f.xid = r.xid AND f.seq = r.seq OFFSET 0
  ) f CROSS JOIN LATERAL unnest(f.ids) WITH ORDINALITY AS s (id, place)
  WHERE r.first + r.n > b.after + 1 AND r.first <= b.after + @limit
    AND r.first + s.place - 1 > b.after AND r.first + s.place - 1 <= b.after + @limit
)
SELECT c.position, c.at, c.state, c.reason, c.id, j.lane, d.fingerprint
FROM changes c LEFT JOIN LATERAL (SELECT j.lane FROM {schema}.job j WHERE j.id = c.id OFFSET 0) j ON true
LEFT JOIN LATERAL (
  SELECT f.fingerprint FROM {schema}.finished f WHERE f.id = c.id AND c.state = {failed} AND f.state = {failed} OFFSET 0
) d ON true ORDER BY c.position;

-- Removes parts of the order that are too old, oldest first, with what they give an order. The
-- newest one stays. What was stamped after @ahead, by a clock that was wrong, counts as old: it
-- would keep all that comes behind it.
-- name: feed_forget
-- params: @before bigint, @ahead bigint, @limit int
WITH head AS MATERIALIZED (
  SELECT o.first, o.at, o.xids, o.seqs FROM {schema}.feed_order o ORDER BY o.first LIMIT @limit
), old AS MATERIALIZED (
  SELECT h.first, h.xids, h.seqs FROM head h
  WHERE h.first < (SELECT coalesce(min(y.first), {never}) FROM head y WHERE y.at BETWEEN @before AND @ahead)
    AND h.first < (SELECT o.first FROM {schema}.feed_order o ORDER BY o.first DESC LIMIT 1)
), gone AS (
  DELETE FROM {schema}.feed_order WHERE first = ANY (ARRAY(SELECT first FROM old)) RETURNING first
), written AS (
  DELETE FROM {schema}.feed_raw f USING (
    SELECT r.xid, r.seq FROM old o CROSS JOIN LATERAL unnest(o.xids, o.seqs) AS r (xid, seq)
  ) r WHERE f.xid = r.xid AND f.seq = r.seq
)
SELECT count(*) FROM gone;
