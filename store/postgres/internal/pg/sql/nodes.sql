-- Nodes and the leader. Liveness is told by the database's clock at the moment of the statement;
-- the injected clock of tests, or NULL, is the last parameter.

-- No row: a copy into the database is not complete. What people want of a node stays with the
-- process when it joins again, after it was declared dead.
-- name: node_join
-- params: @name text, @version text, @info text, @clock bigint, @was bigint, @mode smallint
INSERT INTO {schema}.node (started_at, beat_at, last_seq, name, version, info, mode, mode_at, mode_by)
SELECT t.now, t.now, 0, @name, @version, @info::json,
  CASE WHEN o.id IS NULL THEN nullif(@mode, 0) ELSE o.mode END, o.mode_at, o.mode_by
FROM (SELECT {schema}.clock(@clock) AS now) t LEFT JOIN {schema}.node o ON o.id = @was
WHERE NOT EXISTS (SELECT 1 FROM {schema}.meta m WHERE m.name = 'copied_from' AND NOT (m.value::json ->> 'done')::boolean)
RETURNING id;

-- A heartbeat, in one statement because an idle node sends little else. @leader_ttl is how long the
-- lease of the leader is, 0 if the node does not want it; @lead says whether a node that leads is
-- told what there is to do, and of the others. Leases are asked about in @asked_records, and in
-- records from @from_record up to before @to_record.
--
-- No row: the node is not alive. Otherwise rows of several sorts, by their first column:
--   beat_self    the node: its beat, the time by the server's clock, the epoch if it leads, whether there
--                may be something to rescue or sweep, a request that was not applied, a job that has left children or
--                whose parent is still to be told of its end, and what people want of it
--   beat_cancel, beat_pause  the requests for the node's jobs: since when, the job, the reason, the actor
--   beat_other   the other living nodes: id and beat
--   beat_held    leases that are not done: record, slot, lease number, the job
--
-- The lease of the leader is given to a node whose row this statement has changed, and so holds:
-- it cannot be declared dead meanwhile. The epoch grows whenever the lease was free. It is free if
-- it ends farther ahead than it was long, too: then the clock has gone back.
-- name: beat
-- params: @node bigint, @leader_ttl bigint, @clock bigint, @lead boolean, @asked_records bigint[]
-- params: @from_record bigint, @to_record bigint, @unwell text
WITH alive AS (
  UPDATE {schema}.node SET beat_at = {schema}.clock(@clock), unwell = @unwell WHERE id = @node AND dead_at IS NULL
  RETURNING id, beat_at, coalesce(mode, 0) AS mode, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at
), stand AS (
  INSERT INTO {schema}.leader (name, node, epoch, expires_at, ttl)
  SELECT 'leader', a.id, 1, a.beat_at + @leader_ttl, @leader_ttl FROM alive a WHERE @leader_ttl > 0
  ON CONFLICT (name) DO UPDATE SET node = excluded.node, expires_at = excluded.expires_at, ttl = excluded.ttl,
    epoch = leader.epoch + CASE
      WHEN leader.node = excluded.node AND leader.expires_at > excluded.expires_at - excluded.ttl
        AND leader.expires_at <= excluded.expires_at - excluded.ttl + coalesce(leader.ttl, {unsaid_leader_ttl}) THEN 0
      ELSE 1
    END
  WHERE leader.node = excluded.node OR leader.expires_at <= excluded.expires_at - excluded.ttl
    OR leader.expires_at > excluded.expires_at - excluded.ttl + coalesce(leader.ttl, {unsaid_leader_ttl})
  RETURNING epoch
), leads AS MATERIALIZED (
  SELECT epoch FROM stand
  UNION ALL
  SELECT l.epoch FROM {schema}.leader l, alive a
  WHERE @leader_ttl <= 0 AND l.name = 'leader' AND l.node = a.id AND l.expires_at > a.beat_at
    AND l.expires_at <= a.beat_at + coalesce(l.ttl, {unsaid_leader_ttl})
), asked AS MATERIALIZED (
  SELECT {beat_cancel} AS sort, id, at, reason, actor FROM {schema}.cancel_request
  UNION ALL SELECT {beat_pause}, id, at, NULL, NULL FROM {schema}.pause_request
), looked_at AS (
  SELECT k.seq, k.done, k.ids, k.leases FROM (SELECT DISTINCT seq FROM unnest(@asked_records) AS a (seq)) t
  JOIN {schema}.claim k ON k.node = @node AND k.seq = t.seq WHERE NOT (t.seq >= @from_record AND t.seq < @to_record)
  UNION ALL
  SELECT k.seq, k.done, k.ids, k.leases FROM {schema}.claim k WHERE k.node = @node AND k.seq >= @from_record AND k.seq < @to_record
)
SELECT {beat_self}, a.beat_at, a.at, l.epoch, NULL::uuid, NULL::text, NULL::text, w.dead, w.asked, w.ended, a.mode
FROM alive a LEFT JOIN leads l ON true LEFT JOIN LATERAL (
  SELECT {{to_rescue}} OR {{grants_left}} AS dead,
  EXISTS (SELECT 1 FROM asked) AS asked,
  EXISTS (SELECT 1 FROM {schema}.closed_parent) OR EXISTS (SELECT 1 FROM {schema}.untold)
    OR EXISTS (SELECT 1 FROM {schema}.edge_check) AS ended
  WHERE @lead AND l.epoch IS NOT NULL
) w ON true
UNION ALL
SELECT q.sort, q.at, NULL, NULL, q.id, q.reason, q.actor, NULL, NULL, NULL, NULL
FROM asked q, alive a WHERE EXISTS (
  SELECT 1 FROM {schema}.claim k WHERE k.node = @node AND {{runs_asked}}
)
UNION ALL
SELECT {beat_other}, n.id, n.beat_at, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL
FROM {schema}.node n, alive a WHERE @lead AND n.dead_at IS NULL AND n.id <> @node AND EXISTS (SELECT 1 FROM leads)
UNION ALL
SELECT {beat_held}, k.seq, s.place - 1, coalesce(k.leases[s.place], 1), s.id, NULL, NULL, NULL, NULL, NULL, NULL
FROM looked_at k CROSS JOIN LATERAL {{slots}}, alive a
WHERE {{slot_open}};

-- Asks a living node for a mode. Tells whether it is dead, its mode before that, and whether this
-- has changed it. Another one may have changed it meanwhile: then this says that nothing was
-- changed, and not why.
-- name: node_ask
-- params: @node bigint, @mode smallint, @clock bigint, @actor text, @action text
WITH changed AS (
  UPDATE {schema}.node SET mode = @mode, mode_at = {schema}.clock(@clock), mode_by = @actor
  WHERE id = @node AND dead_at IS NULL AND coalesce(mode, 0) NOT IN (@mode, {node_drains}) RETURNING id, mode_at
), audited AS (
  INSERT INTO {schema}.audit (at, actor, action, node) SELECT mode_at, @actor, @action, id FROM changed
)
SELECT n.dead_at IS NOT NULL, coalesce(n.mode, 0), EXISTS (SELECT 1 FROM changed) FROM {schema}.node n WHERE n.id = @node;

-- name: node_lock
-- params: @node bigint
SELECT 1 FROM {schema}.node WHERE id = @node AND dead_at IS NULL FOR UPDATE;

-- So that it is not declared dead, and keeps its leases, until the transaction ends.
-- name: node_keep
-- params: @node bigint
SELECT 1 FROM {schema}.node WHERE id = @node AND dead_at IS NULL FOR NO KEY UPDATE;

-- name: node_end
-- params: @node bigint, @clock bigint
UPDATE {schema}.node SET dead_at = {schema}.clock(@clock), ended = {node_left} WHERE id = @node;

-- A leader that leaves does not lead again, whatever the clock will say.
-- name: leader_leave
-- params: @node bigint
UPDATE {schema}.leader SET node = 0, expires_at = 0 WHERE name = 'leader' AND node = @node;

-- Nodes whose last beats were those are dead, but for those that have beaten since. A node that is
-- claiming at this moment holds its row, and one that is writing a journal holds its fence: it is
-- not that dead. Answers how many there were, which died, whether a dead node may hold something,
-- and whether one may hold slots of limits that are to be swept.
-- name: nodes_die
-- params: @nodes bigint[], @beats bigint[], @clock bigint
WITH silent AS MATERIALIZED (
  SELECT t.id, {fence} AS fence FROM unnest(@nodes, @beats) AS d (id, beat_at)
  JOIN {schema}.node t ON t.id = d.id AND t.beat_at = d.beat_at AND t.dead_at IS NULL FOR UPDATE OF t SKIP LOCKED
), died AS (
  UPDATE {schema}.node SET dead_at = t.now, ended = {node_died} FROM (SELECT {schema}.clock(@clock) AS now) t
  WHERE id = ANY (ARRAY(SELECT s.id FROM silent s WHERE pg_try_advisory_xact_lock(s.fence))) RETURNING id
)
SELECT (SELECT count(*) FROM unnest(@nodes, @beats) AS d (id, beat_at)
    JOIN {schema}.node n ON n.id = d.id AND n.beat_at = d.beat_at AND n.dead_at IS NULL),
  ARRAY(SELECT id FROM died),
  EXISTS (SELECT 1 FROM died) OR {{to_rescue}},
  EXISTS (SELECT 1 FROM {schema}.limit_grant) AND (EXISTS (SELECT 1 FROM died) OR {{to_rescue}} OR {{grants_left}});

-- Ends connections of ours whose programs have been silent for so long in the middle of a
-- transaction, and so hold what it locked: machines that have vanished, and whose connections the
-- network has not given up yet; or programs that are frozen and take no answer. Ours are told by
-- their name: a program of the same user may have connections of its own, or nodes of another
-- schema.
-- name: end_silent
-- params: @seconds float8, @application text
SELECT pg_terminate_backend(a.pid) FROM pg_catalog.pg_stat_activity a
WHERE a.datname = current_database() AND a.usename = current_user AND a.application_name = @application AND a.pid <> pg_backend_pid()
  AND a.xact_start IS NOT NULL AND a.wait_event IN ('ClientRead', 'ClientWrite')
  AND a.state_change < clock_timestamp() - make_interval(secs => @seconds);

-- What nodes told of themselves.
-- name: node_infos
-- params: @nodes bigint[]
SELECT n.id, n.info FROM {schema}.node n WHERE n.id = ANY (@nodes);

-- What the living nodes told of themselves.
-- name: node_infos_alive
SELECT n.info FROM {schema}.node n WHERE n.dead_at IS NULL;

-- The open slots of what a node holds, in some records after one. The records are locked.
-- name: slots_of_node
-- params: @node bigint, @most_records int, @after_record bigint
WITH records AS MATERIALIZED (
  SELECT k.node, k.seq, k.done, k.ids, k.leases FROM {schema}.claim k WHERE k.node = @node AND k.seq > @after_record
  ORDER BY k.seq LIMIT @most_records FOR UPDATE
)
{{open_slots}}
WHERE {{slot_open}} ORDER BY k.node, k.seq, s.place;

-- The same for nodes that are dead: of nodes after @after_node, or of that node after
-- @after_record. Records that are being written to are left to the next time.
-- name: slots_of_dead
-- params: @most_records int, @after_node bigint, @after_record bigint
WITH records AS MATERIALIZED (
  SELECT k.* FROM {schema}.node n CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = n.id
      AND (c.node, c.seq) > (@after_node, @after_record)
    ORDER BY c.seq LIMIT @most_records FOR UPDATE SKIP LOCKED
  ) k WHERE n.dead_at IS NOT NULL AND n.id >= @after_node ORDER BY k.node, k.seq LIMIT @most_records
)
{{open_slots}}
WHERE {{slot_open}} ORDER BY k.node, k.seq, s.place;

-- The same for jobs that run on those nodes.
-- name: slots_of_jobs
-- params: @jobs uuid[], @nodes bigint[]
WITH records AS MATERIALIZED (
  SELECT k.* FROM unnest(@nodes) AS t (node) CROSS JOIN LATERAL (
    SELECT c.node, c.seq, c.done, c.ids, c.leases FROM {schema}.claim c WHERE c.node = t.node AND c.ids && @jobs ORDER BY c.seq FOR UPDATE
  ) k
)
{{open_slots}}
WHERE s.id = ANY (@jobs) AND {{slot_open}} ORDER BY k.node, k.seq, s.place;

-- The same for leases. Those that are not live are passed over.
-- name: slots_of_leases
-- params: @nodes bigint[], @records bigint[], @slots int[], @jobs uuid[], @leases bigint[]
SELECT t.node, t.seq, t.slot::bigint, t.id, t.lease FROM (
  SELECT DISTINCT * FROM unnest(@nodes, @records, @slots, @jobs, @leases) AS l (node, seq, slot, id, lease)
  ORDER BY node, seq, slot
) t CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE {{lease_lives}}
  FOR UPDATE
) c;

-- What decides over jobs whose runs end without their doing: the lease under which the journal was
-- written last, too. Asked when their bodies are locked, so that nothing is being written.
-- name: held_jobs
-- params: @jobs uuid[]
SELECT t.place, b.lane, b.run_at, b.created_at, b.attempt, b.max_attempts, b.options, b.ordering_key, b.parent, b.link, b.closing,
  w.lease, w.kind IS NOT DISTINCT FROM {entry_ended},
  EXISTS (SELECT 1 FROM {schema}.job c WHERE c.parent = t.id AND c.link & {policy_bits} <> {abandon_child} OFFSET 0)
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
LEFT JOIN LATERAL (SELECT a.lease, a.kind FROM {schema}.journal a WHERE a.id = t.id ORDER BY a.seq DESC LIMIT 1) w ON true;

-- Slots of jobs whose body is gone. There is nothing to do for them but to let go of the record.
-- name: slot_drop
-- params: @node bigint, @record bigint, @slot int
WITH locked_record AS MATERIALIZED (
  SELECT node, seq, done | (1::bigint << @slot) AS done, all_slots FROM {schema}.claim WHERE node = @node AND seq = @record FOR UPDATE
), emptied AS (
  DELETE FROM {schema}.claim k USING locked_record l
  WHERE k.node = @node AND k.seq = @record AND l.done = l.all_slots
)
UPDATE {schema}.claim k SET done = l.done FROM locked_record l
WHERE k.node = @node AND k.seq = @record AND l.done <> l.all_slots;

-- Nodes that live, and those that ended at most @kept ago.
-- name: nodes
-- params: @clock bigint, @kept bigint
SELECT n.id, n.name, n.version, n.info, n.started_at, n.beat_at, n.dead_at, coalesce(n.ended, 0), coalesce(n.mode, 0), n.mode_at, n.mode_by, n.unwell,
  (SELECT coalesce(sum(bit_count((k.all_slots & ~k.done)::bit(64))), 0)::bigint FROM {schema}.claim k WHERE k.node = n.id),
  EXISTS (
    SELECT 1 FROM {schema}.leader l WHERE l.name = 'leader' AND l.node = n.id AND l.expires_at > {schema}.clock(@clock)
      AND l.expires_at <= {schema}.clock(@clock) + coalesce(l.ttl, {unsaid_leader_ttl})
  )
FROM {schema}.node n
WHERE n.dead_at IS NULL OR n.dead_at > {schema}.clock(@clock) - @kept
ORDER BY n.dead_at IS NOT NULL, n.id;

-- Nodes that ended long ago go, and by which programs they have run stays.
-- name: nodes_forget
-- params: @clock bigint, @kept bigint
WITH gone AS (
  DELETE FROM {schema}.node n WHERE n.dead_at <= {schema}.clock(@clock) - @kept
    AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id)
  RETURNING n.id, n.dead_at, n.version, coalesce(n.info ->> 'engine', '') AS engine
)
INSERT INTO {schema}.node_build (node, ended_at, program, engine) SELECT g.id, g.dead_at, g.version, g.engine FROM gone g
ON CONFLICT (node) DO NOTHING;

-- name: clock
SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint;
