-- Nodes and the leader. Liveness is told by the database's clock at the moment of the statement; the injected clock of
-- tests, or NULL, is the last parameter.

-- name: node_join
INSERT INTO {schema}.node (started_at, beat_at, last_seq, name, version, info)
SELECT t.now, t.now, 0, $1::text, $2::text, $3::text::json FROM (SELECT {schema}.clock($4::bigint) AS now) t RETURNING id;

-- A heartbeat, in one statement because an idle node sends little else. $1 node, $2 microseconds of the leader lease or 0,
-- $3 clock, $4 microseconds of the silence of a dead node, or 0. No row: the node is not alive. Otherwise the time by the server's clock, the
-- epoch if the node leads, and with $4 whether there may be something to rescue, a request that nobody has seen to, and a job that has left
-- children, and then the cancels and pauses of the node's jobs, a row for each. The lease is given to a node whose row this statement has changed, and so holds:
-- nobody can declare it dead meanwhile. The epoch grows whenever the lease was free.
-- name: beat
WITH alive AS (
  UPDATE {schema}.node SET beat_at = greatest(beat_at, {schema}.clock($3::bigint)) WHERE id = $1::bigint AND dead_at IS NULL
  RETURNING id, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at
), stand AS (
  INSERT INTO {schema}.leader (name, node, epoch, expires_at)
  SELECT 'leader', a.id, 1, {schema}.clock($3::bigint) + $2::bigint FROM alive a WHERE $2::bigint > 0
  ON CONFLICT (name) DO UPDATE SET node = excluded.node, expires_at = excluded.expires_at,
    epoch = leader.epoch + CASE WHEN leader.node = excluded.node AND leader.expires_at > excluded.expires_at - $2::bigint THEN 0 ELSE 1 END
  WHERE leader.node = excluded.node OR leader.expires_at <= excluded.expires_at - $2::bigint
  RETURNING epoch
), leads AS (
  SELECT epoch FROM stand
  UNION ALL
  SELECT epoch FROM {schema}.leader
  WHERE $2::bigint <= 0 AND name = 'leader' AND node = $1::bigint AND expires_at > {schema}.clock($3::bigint)
)
SELECT a.at, l.epoch, w.silent, w.asked, w.ended, q.id, q.pauses, q.at, q.reason, q.actor
FROM alive a LEFT JOIN leads l ON true LEFT JOIN LATERAL (
  SELECT EXISTS (
    SELECT 1 FROM {schema}.node n WHERE n.id <> $1::bigint AND n.dead_at IS NULL AND n.beat_at <= {schema}.clock($3::bigint) - $4::bigint
  ) OR EXISTS (
    SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id OFFSET 0)
  ) AS silent,
  EXISTS (SELECT 1 FROM {schema}.cancel_request) OR EXISTS (SELECT 1 FROM {schema}.pause_request) AS asked,
  EXISTS (SELECT 1 FROM {schema}.closed_parent) AS ended
  WHERE $4::bigint > 0 AND l.epoch IS NOT NULL
) w ON true LEFT JOIN (
  SELECT c.* FROM (
    SELECT id, false AS pauses, at, reason, actor FROM {schema}.cancel_request
    UNION ALL SELECT id, true, at, NULL, NULL FROM {schema}.pause_request
  ) c WHERE EXISTS (
    SELECT 1 FROM {schema}.claim k WHERE k.node = $1::bigint AND k.ids @> ARRAY[c.id]
      AND (k.done >> (array_position(k.ids, c.id) - 1)) & 1 = 0
  )
) q ON true
ORDER BY q.id;

-- name: node_lock
SELECT 1 FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL FOR UPDATE;

-- So that nobody declares it dead or takes its leases until the transaction ends.
-- name: node_keep
SELECT 1 FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL FOR NO KEY UPDATE;

-- name: node_end
UPDATE {schema}.node SET dead_at = {schema}.clock($2::bigint) WHERE id = $1::bigint;

-- name: leader_leave
UPDATE {schema}.leader SET expires_at = {schema}.clock($2::bigint) WHERE name = 'leader' AND node = $1::bigint;

-- $1 silence in microseconds, $2 clock. A node that is claiming at this moment holds its row, and one that is writing a journal holds its
-- fence: it is not that dead. Answers whether a dead node may hold something.
-- name: nodes_die
WITH silent AS MATERIALIZED (
  SELECT t.id, {fence} AS fence FROM {schema}.node t
  WHERE t.dead_at IS NULL AND t.beat_at <= {schema}.clock($2::bigint) - $1::bigint FOR UPDATE SKIP LOCKED
), died AS (
  UPDATE {schema}.node SET dead_at = t.now FROM (SELECT {schema}.clock($2::bigint) AS now) t
  WHERE id = ANY (ARRAY(SELECT s.id FROM silent s WHERE pg_try_advisory_xact_lock(s.fence))) RETURNING id
)
SELECT EXISTS (SELECT 1 FROM died) OR EXISTS (
  SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id OFFSET 0)
);

-- What a node still holds, $1, at most $2 records, with what decides over a job: the lease under which its journal was written last, too. The
-- records are locked.
-- name: claims_of_node
WITH records AS MATERIALIZED (
  SELECT k.node, k.seq, k.done, k.ids, k.leases FROM {schema}.claim k WHERE k.node = $1::bigint ORDER BY k.seq LIMIT $2::int FOR UPDATE
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1), b.lane, b.run_at, b.created_at, b.attempt, b.max_attempts, b.options, b.ordering_key,
  b.parent, b.link, b.closing, (SELECT a.lease FROM {schema}.journal a WHERE a.id = s.id ORDER BY a.seq DESC LIMIT 1),
  EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = s.id AND c.link & 3 <> 1 OFFSET 0)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = s.id OFFSET 0) b ON true
WHERE (k.done >> (s.place - 1)::int) & 1 = 0
ORDER BY k.node, k.seq, s.place;

-- The same for nodes that are dead: $1 records. Records that somebody is writing to are left to the next time.
-- name: claims_of_dead
WITH records AS MATERIALIZED (
  SELECT k.* FROM {schema}.node n CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = n.id ORDER BY c.seq LIMIT $1::int FOR UPDATE SKIP LOCKED
  ) k WHERE n.dead_at IS NOT NULL ORDER BY k.node, k.seq LIMIT $1::int
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1), b.lane, b.run_at, b.created_at, b.attempt, b.max_attempts, b.options, b.ordering_key,
  b.parent, b.link, b.closing, (SELECT a.lease FROM {schema}.journal a WHERE a.id = s.id ORDER BY a.seq DESC LIMIT 1),
  EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = s.id AND c.link & 3 <> 1 OFFSET 0)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = s.id OFFSET 0) b ON true
WHERE (k.done >> (s.place - 1)::int) & 1 = 0
ORDER BY k.node, k.seq, s.place;

-- The same for jobs, $1, that run on nodes, $2.
-- name: claims_of_jobs
WITH records AS MATERIALIZED (
  SELECT k.* FROM unnest($2::bigint[]) AS t (node) CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = t.node AND c.ids && $1::uuid[] ORDER BY c.seq FOR UPDATE
  ) k
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1), b.lane, b.run_at, b.created_at, b.attempt, b.max_attempts, b.options, b.ordering_key,
  b.parent, b.link, b.closing, (SELECT a.lease FROM {schema}.journal a WHERE a.id = s.id ORDER BY a.seq DESC LIMIT 1),
  EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = s.id AND c.link & 3 <> 1 OFFSET 0)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = s.id OFFSET 0) b ON true
WHERE s.id = ANY ($1::uuid[]) AND (k.done >> (s.place - 1)::int) & 1 = 0
ORDER BY k.node, k.seq, s.place;

-- Slots of jobs whose body is gone. There is nothing to do for them but to let go of the record.
-- name: slot_drop
WITH held AS MATERIALIZED (
  SELECT node, seq, done | (1::bigint << $3::int) AS done, all_slots FROM {schema}.claim WHERE node = $1::bigint AND seq = $2::bigint FOR UPDATE
), emptied AS (
  DELETE FROM {schema}.claim k USING held h
  WHERE k.node = $1::bigint AND k.seq = $2::bigint AND h.done = h.all_slots
)
UPDATE {schema}.claim k SET done = h.done FROM held h
WHERE k.node = $1::bigint AND k.seq = $2::bigint AND h.done <> h.all_slots;

-- $1 clock, $2 how long nodes that ended are told of.
-- name: nodes
SELECT n.id, n.name, n.version, n.info, n.started_at, n.beat_at, n.dead_at,
  (SELECT coalesce(sum(bit_count((k.all_slots & ~k.done)::bit(64))), 0)::bigint FROM {schema}.claim k WHERE k.node = n.id),
  EXISTS (SELECT 1 FROM {schema}.leader l WHERE l.name = 'leader' AND l.node = n.id AND l.expires_at > {schema}.clock($1::bigint))
FROM {schema}.node n
WHERE n.dead_at IS NULL OR n.dead_at > {schema}.clock($1::bigint) - $2::bigint
ORDER BY n.dead_at IS NOT NULL, n.id;

-- name: nodes_forget
DELETE FROM {schema}.node n WHERE n.dead_at < {schema}.clock($1::bigint) - $2::bigint
  AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id);

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
