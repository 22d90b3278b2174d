-- Nodes and the leader. Liveness is told by the database's clock at the moment of the statement; the injected clock of
-- tests, or NULL, is the last parameter.

-- name: node_join
INSERT INTO {schema}.node (started_at, beat_at, last_seq, name, version, info)
SELECT t.now, t.now, 0, $1::text, $2::text, $3::text::json FROM (SELECT {schema}.clock($4::bigint) AS now) t RETURNING id;

-- A heartbeat, in one statement because an idle node sends little else. $1 node, $2 microseconds of the leader lease or 0, $3 clock, $4 whether
-- a node that leads is told what there is to do, and of the others. Leases are asked about in records $5 and in those from $6 up to before $7.
-- No row: the node is not alive. Otherwise rows of several sorts, by their first column:
--   0 the node itself: its beat, the time by the server's clock, the epoch if it leads, and whether there may be something to rescue, a request
--     that nobody has seen to, and a job that has left children
--   1, 2 the cancels and pauses of the node's jobs: since when, the job, the reason, the actor
--   3 the other living nodes: id and beat
--   4 leases that are not done: record, slot, lease number, the job
-- The lease of the leader is given to a node whose row this statement has changed, and so holds: nobody can declare it dead meanwhile. The epoch
-- grows whenever the lease was free. It is free if it ends farther ahead than it was long, too: then the clock has gone back.
-- name: beat
WITH alive AS (
  UPDATE {schema}.node SET beat_at = {schema}.clock($3::bigint) WHERE id = $1::bigint AND dead_at IS NULL
  RETURNING id, beat_at, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at
), stand AS (
  INSERT INTO {schema}.leader (name, node, epoch, expires_at, ttl)
  SELECT 'leader', a.id, 1, a.beat_at + $2::bigint, $2::bigint FROM alive a WHERE $2::bigint > 0
  ON CONFLICT (name) DO UPDATE SET node = excluded.node, expires_at = excluded.expires_at, ttl = excluded.ttl,
    epoch = leader.epoch + CASE
      WHEN leader.node = excluded.node AND leader.expires_at > excluded.expires_at - excluded.ttl
        AND leader.expires_at <= excluded.expires_at - excluded.ttl + coalesce(leader.ttl, 60000000) THEN 0
      ELSE 1
    END
  WHERE leader.node = excluded.node OR leader.expires_at <= excluded.expires_at - excluded.ttl
    OR leader.expires_at > excluded.expires_at - excluded.ttl + coalesce(leader.ttl, 60000000)
  RETURNING epoch
), leads AS MATERIALIZED (
  SELECT epoch FROM stand
  UNION ALL
  SELECT l.epoch FROM {schema}.leader l, alive a
  WHERE $2::bigint <= 0 AND l.name = 'leader' AND l.node = a.id AND l.expires_at > a.beat_at
    AND l.expires_at <= a.beat_at + coalesce(l.ttl, 60000000)
), asked AS MATERIALIZED (
  SELECT 1 AS sort, id, at, reason, actor FROM {schema}.cancel_request
  UNION ALL SELECT 2, id, at, NULL, NULL FROM {schema}.pause_request
), looked_at AS (
  SELECT k.seq, k.done, k.ids, k.leases FROM (SELECT DISTINCT seq FROM unnest($5::bigint[]) AS a (seq)) t
  JOIN {schema}.claim k ON k.node = $1::bigint AND k.seq = t.seq WHERE NOT (t.seq >= $6::bigint AND t.seq < $7::bigint)
  UNION ALL
  SELECT k.seq, k.done, k.ids, k.leases FROM {schema}.claim k WHERE k.node = $1::bigint AND k.seq >= $6::bigint AND k.seq < $7::bigint
)
SELECT 0, a.beat_at, a.at, l.epoch, NULL::uuid, NULL::text, NULL::text, w.dead, w.asked, w.ended
FROM alive a LEFT JOIN leads l ON true LEFT JOIN LATERAL (
  SELECT EXISTS (
    SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id OFFSET 0)
  ) AS dead,
  EXISTS (SELECT 1 FROM asked) AS asked,
  EXISTS (SELECT 1 FROM {schema}.closed_parent) AS ended
  WHERE $4::boolean AND l.epoch IS NOT NULL
) w ON true
UNION ALL
SELECT q.sort, q.at, NULL, NULL, q.id, q.reason, q.actor, NULL, NULL, NULL
FROM asked q, alive a WHERE EXISTS (
  SELECT 1 FROM {schema}.claim k WHERE k.node = $1::bigint AND k.ids @> ARRAY[q.id]
    AND (k.done >> (array_position(k.ids, q.id) - 1)) & 1 = 0
)
UNION ALL
SELECT 3, n.id, n.beat_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM {schema}.node n, alive a WHERE $4::boolean AND n.dead_at IS NULL AND n.id <> $1::bigint AND EXISTS (SELECT 1 FROM leads)
UNION ALL
SELECT 4, k.seq, s.place - 1, coalesce(k.leases[s.place], 1), s.id, NULL, NULL, NULL, NULL, NULL
FROM looked_at k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place), alive a
WHERE (k.done >> (s.place - 1)::int) & 1 = 0;

-- name: node_lock
SELECT 1 FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL FOR UPDATE;

-- So that nobody declares it dead or takes its leases until the transaction ends.
-- name: node_keep
SELECT 1 FROM {schema}.node WHERE id = $1::bigint AND dead_at IS NULL FOR NO KEY UPDATE;

-- name: node_end
UPDATE {schema}.node SET dead_at = {schema}.clock($2::bigint) WHERE id = $1::bigint;

-- A leader that leaves does not lead again, whatever the clock will say.
-- name: leader_leave
UPDATE {schema}.leader SET node = 0, expires_at = 0 WHERE name = 'leader' AND node = $1::bigint;

-- Nodes $1, whose last beats were $2, are dead, but for those that have beaten since. $3 clock. A node that is claiming at this moment holds its row, and one
-- that is writing a journal holds its fence: it is not that dead. Answers how many there were, how many died, and whether a dead node may
-- hold something.
-- name: nodes_die
WITH silent AS MATERIALIZED (
  SELECT t.id, {fence} AS fence FROM unnest($1::bigint[], $2::bigint[]) AS d (id, beat_at)
  JOIN {schema}.node t ON t.id = d.id AND t.beat_at = d.beat_at AND t.dead_at IS NULL FOR UPDATE OF t SKIP LOCKED
), died AS (
  UPDATE {schema}.node SET dead_at = t.now FROM (SELECT {schema}.clock($3::bigint) AS now) t
  WHERE id = ANY (ARRAY(SELECT s.id FROM silent s WHERE pg_try_advisory_xact_lock(s.fence))) RETURNING id
)
SELECT (SELECT count(*) FROM unnest($1::bigint[], $2::bigint[]) AS d (id, beat_at)
    JOIN {schema}.node n ON n.id = d.id AND n.beat_at = d.beat_at AND n.dead_at IS NULL),
  (SELECT count(*) FROM died),
  EXISTS (SELECT 1 FROM died) OR EXISTS (
    SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id OFFSET 0)
  );

-- Ends connections of ours whose programs have been silent for $1 seconds in the middle of a transaction, and so hold what it locked: machines
-- that have vanished, and whose connections the network has not given up yet; or programs that are frozen and take no answer. Ours have the name $2: a program of the same user may have
-- connections of its own, or nodes of another schema.
-- name: end_silent
SELECT pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name = $2::text AND a.pid <> pg_backend_pid()
  AND a.xact_start IS NOT NULL AND a.wait_event IN ('ClientRead', 'ClientWrite') AND a.state_change < clock_timestamp() - make_interval(secs => $1::float8);

-- What nodes, $1, told of themselves.
-- name: node_infos
SELECT n.id, n.info FROM {schema}.node n WHERE n.id = ANY ($1::bigint[]);

-- What the living nodes told of themselves.
-- name: node_infos_alive
SELECT n.info FROM {schema}.node n WHERE n.dead_at IS NULL;

-- The open slots of what a node holds, $1, in at most $2 records after number $3. The records are locked.
-- name: slots_of_node
WITH records AS MATERIALIZED (
  SELECT k.node, k.seq, k.done, k.ids, k.leases FROM {schema}.claim k WHERE k.node = $1::bigint AND k.seq > $3::bigint
  ORDER BY k.seq LIMIT $2::int FOR UPDATE
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
WHERE (k.done >> (s.place - 1)::int) & 1 = 0 ORDER BY k.node, k.seq, s.place;

-- The same for nodes that are dead: $1 records at most, of nodes after $2 or of that node after number $3. Records that somebody is writing to are
-- left to the next time.
-- name: slots_of_dead
WITH records AS MATERIALIZED (
  SELECT k.* FROM {schema}.node n CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = n.id AND (c.node, c.seq) > ($2::bigint, $3::bigint)
    ORDER BY c.seq LIMIT $1::int FOR UPDATE SKIP LOCKED
  ) k WHERE n.dead_at IS NOT NULL AND n.id >= $2::bigint ORDER BY k.node, k.seq LIMIT $1::int
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
WHERE (k.done >> (s.place - 1)::int) & 1 = 0 ORDER BY k.node, k.seq, s.place;

-- The same for jobs, $1, that run on nodes, $2.
-- name: slots_of_jobs
WITH records AS MATERIALIZED (
  SELECT k.* FROM unnest($2::bigint[]) AS t (node) CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = t.node AND c.ids && $1::uuid[] ORDER BY c.seq FOR UPDATE
  ) k
)
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1)
FROM records k CROSS JOIN LATERAL unnest(k.ids) WITH ORDINALITY AS s (id, place)
WHERE s.id = ANY ($1::uuid[]) AND (k.done >> (s.place - 1)::int) & 1 = 0 ORDER BY k.node, k.seq, s.place;

-- The same for leases: $1 nodes, $2 numbers, $3 slots, $4 ids, $5 lease numbers. Those that are not
-- live are passed over.
-- name: slots_of_leases
SELECT t.node, t.seq, t.slot::bigint, t.id, t.lease FROM (
  SELECT DISTINCT * FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::uuid[], $5::bigint[]) AS l (node, seq, slot, id, lease)
  ORDER BY node, seq, slot
) t CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE k.node = t.node AND k.seq = t.seq AND (k.done >> t.slot) & 1 = 0 AND k.ids[t.slot + 1] = t.id AND coalesce(k.leases[t.slot + 1], 1) = t.lease
  FOR UPDATE
) c;

-- What decides over jobs, $1, whose runs end without their doing: the lease under which the journal was written last, too. Asked when their
-- bodies are locked, so that nothing is being written.
-- name: held_jobs
SELECT t.place, b.lane, b.run_at, b.created_at, b.attempt, b.max_attempts, b.options, b.ordering_key, b.parent, b.link, b.closing,
  (SELECT a.lease FROM {schema}.journal a WHERE a.id = t.id ORDER BY a.seq DESC LIMIT 1),
  EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = t.id AND c.link & 3 <> 1 OFFSET 0)
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b;

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
  EXISTS (
    SELECT 1 FROM {schema}.leader l WHERE l.name = 'leader' AND l.node = n.id AND l.expires_at > {schema}.clock($1::bigint)
      AND l.expires_at <= {schema}.clock($1::bigint) + coalesce(l.ttl, 60000000)
  )
FROM {schema}.node n
WHERE n.dead_at IS NULL OR n.dead_at > {schema}.clock($1::bigint) - $2::bigint
ORDER BY n.dead_at IS NOT NULL, n.id;

-- name: nodes_forget
DELETE FROM {schema}.node n WHERE n.dead_at < {schema}.clock($1::bigint) - $2::bigint
  AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id);

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
