-- Claims.

-- Where a claim looks: each lane that has work, or what @lanes says.
-- fragment: claim_given
member AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE id = @node AND dead_at IS NULL
), busy AS (
  SELECT f.lane, f.run_at, f.id FROM member CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id FROM {schema}.ready r WHERE @lanes IS NULL ORDER BY r.lane, r.run_at, r.id LIMIT 1
  ) f
  UNION ALL
  SELECT n.lane, n.run_at, n.id FROM busy b CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id FROM {schema}.ready r WHERE r.lane > b.lane ORDER BY r.lane, r.run_at, r.id LIMIT 1
  ) n
), given AS MATERIALIZED (
  SELECT lane, run_at AS from_at, id AS from_id, {never} AS until_at FROM busy
  UNION ALL
  SELECT t.lane, t.from_at, t.from_id, t.until_at
  FROM unnest(@lanes, @from_run_at, @from_ids, @until_run_at) AS t (lane, from_at, from_id, until_at)
  WHERE EXISTS (SELECT 1 FROM member)

-- Locks the row of the node, if there is something to take. What follows has rows only then.
-- fragment: claim_alive
noted AS (
  UPDATE {schema}.node SET last_seq = @record
  WHERE @repeated AND id = @node AND dead_at IS NULL AND last_seq < @record AND EXISTS (SELECT 1 FROM quotas)
  RETURNING id
), node_locked AS MATERIALIZED (
  SELECT id FROM {schema}.node WHERE NOT @repeated AND id = @node AND dead_at IS NULL AND last_seq < @record
    AND EXISTS (SELECT 1 FROM quotas) FOR NO KEY UPDATE
), alive AS MATERIALIZED (
  SELECT id FROM noted UNION ALL SELECT id FROM node_locked

-- The records of what was taken, which is in jobs; and unique keys that are not held while a job
-- runs.
-- fragment: claim_written
records AS (
  INSERT INTO {schema}.claim (node, seq, claimed_at, done, all_slots, ids, leases)
  SELECT @node, @record + i, @now, 0, (1::bigint << least({claim_slots}, a.n - {claim_slots} * i)::int) - 1,
    a.ids[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}],
    a.leases[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}]
  FROM (
    SELECT count(*) AS n, array_agg(id) AS ids, CASE WHEN max(lease) > 0 THEN array_agg(coalesce(lease, 0) + 1) END AS leases
    FROM (SELECT id, lease FROM jobs ORDER BY n) j
  ) a, generate_series(0, (a.n - 1) / {claim_slots}) i WHERE a.n > 0
), released AS (
  DELETE FROM {schema}.unique_key u USING jobs b
  WHERE b.unique_key IS NOT NULL AND b.unique_states & {bit_running} = 0 AND u.key = b.unique_key AND u.id = b.id
)

-- The columns of a job in the answer of a claim.
-- fragment: claim_columns
SELECT b.n, b.lane, b.run_at, b.id, {{body}},
  b.remembers, r.yes, r.reason, c.percent, c.message, c.value, c.updated_at

-- The rest of the answer: which lanes gave less than they were to, and where the jobs come from.
-- fragment: claim_short
CASE WHEN b.n IS NULL OR b.n = 0 THEN ARRAY(
    SELECT lane FROM (SELECT lane, most FROM quotas UNION ALL SELECT lane, -1 FROM locked) t
    WHERE (SELECT count(*) FROM locked) < (SELECT sum(most) FROM quotas) GROUP BY lane HAVING sum(most) > 0
  ) END
FROM member
LEFT JOIN (SELECT * FROM jobs WHERE created_at IS NOT NULL) b ON true
LEFT JOIN LATERAL (
  SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id AND (b.lease > 0 OR b.remembers) OFFSET 0
) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id AND b.lease > 0 OFFSET 0) c ON true

-- What a claim takes: the best jobs, whose pointers are gone then. With @gates also those of lanes
-- whose jobs count in limits per key, which are hidden otherwise.
-- fragment: claim_taking
-- walk: Looks at what there is without locks, finds out how much to take of each lane, and then
-- walk:   takes it.
-- walk: What is in ready is due, whatever the clock says now.
-- walk: member: the node, if it is alive. Else nothing below has a row.
-- walk: busy: the lanes that have work, found by skipping through the index of ready: from the
-- walk:   first row of one to the first of the next. So lanes without work cost nothing, and those
-- walk:   that are not to be claimed from two small lookups each.
-- walk: given, ranges: what to look at, with priority, demand, and how much may be taken. The
-- walk:   demand is looked up rather than joined, as the pins would let a join compare each lane
-- walk:   with each demand. Rows that were taken are passed by each scan until they can be cleared
-- walk:   away, which may be hours: so no scan begins before the first row that an earlier one has
-- walk:   seen.
-- walk: shape: how many ranges there are, and how many rows of each are read first: just the first
-- walk:   one if there are more than {claim_ranges}. If there is one only, nothing is merged:
-- walk:   quotas takes from it at once.
-- walk: heads, best, worst: those rows, merged in the order of the whole; and the last of a full
-- walk:   measure.
-- walk: deep, more: ranges whose rows were all among the best, and what else they have that is
-- walk:   better than the worst. A row left out of heads can beat the worst only if its run time is
-- walk:   at most last_at, so more reads up to there and no further. If there are more than
-- walk:   {claim_ranges} ranges, and one of them has more than {claim_more} such rows, the rest of
-- walk:   them comes with the next claim.
-- walk: chosen, quotas: the best of both; and how many rows of each range that is, and from where
-- walk:   on.
-- walk: noted, node_locked, alive: locks the row of the node, if there is something to take. It is
-- walk:   not changed, which would leave a version for each claim behind; only a repeated claim
-- walk:   writes its number there: the others are told by their records. None takes anything whose
-- walk:   number was repeated before.
-- walk: locked, gone: locks the rows, passing over what others are taking, and deletes them by
-- walk:   their place, which is a Tid Scan whatever the statistics say; rows of ready are never
-- walk:   updated, so the place of a locked row is what the snapshot sees. The LIMIT that is never
-- walk:   reached tells the planner how few rows there are.
-- walk: ordered, jobs: in the order of the whole, with their bodies.
{{claim_given}}
), ranges AS MATERIALIZED (
  SELECT row_number() OVER () AS range, g.lane, l.priority, d.place AS demand,
    CASE WHEN l.hidden THEN 0 ELSE least(coalesce((@demand_limits)[d.place], @limit), @limit) END AS most, l.hidden,
    g.from_at, g.from_id, g.until_at
  FROM given g
  CROSS JOIN LATERAL (
    SELECT a.queue, a.kind, a.priority, a.hidden FROM (
      SELECT l.queue, l.priority, {{claimed_kind}} AS kind, strpos(l.kind, chr(31)) > 0 AND NOT @gates AS hidden
      FROM {schema}.lane l WHERE l.id = g.lane OFFSET 0
    ) a WHERE a.kind = ANY (@kinds) OFFSET 0
  ) l
  CROSS JOIN LATERAL (
    SELECT a.name FROM {schema}.queue a WHERE a.id = l.queue AND a.namespace = @namespace
      AND a.paused_at IS NULL AND coalesce(a.rest_until, 0) <= @now OFFSET 0
  ) q
  CROSS JOIN LATERAL (
    SELECT coalesce(@demands -> q.name -> l.kind, @demands -> q.name -> '', @demands -> '' -> l.kind, @demands -> '' -> '')::int AS place
    OFFSET 0
  ) d
  WHERE @demands IS NULL OR d.place IS NOT NULL
), shape AS MATERIALIZED (
  SELECT count(*) AS n,
    CASE WHEN count(*) > {claim_ranges} THEN 1 ELSE least(@limit, 2 * @limit / greatest(count(*), 1) + 8) END AS depth
  FROM ranges
), heads AS MATERIALIZED (
  SELECT r.range, r.lane, r.priority, r.demand, r.most, h.run_at, h.id,
    {{effective_priority}} AS effective
  FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at
    ORDER BY a.run_at, a.id LIMIT least((SELECT depth FROM shape), greatest(r.most, 1))
  ) h WHERE ((SELECT n > 1 FROM shape) OR r.hidden) AND (@lanes IS NOT NULL OR (SELECT n <= {claim_ranges} FROM shape))
  UNION ALL
  SELECT r.range, r.lane, r.priority, r.demand, r.most, r.from_at, r.from_id,
    {{effective_priority}}
  FROM ranges r CROSS JOIN LATERAL (SELECT r.from_at AS run_at) h WHERE @lanes IS NULL AND (SELECT n > {claim_ranges} FROM shape)
), best AS MATERIALIZED (
  SELECT range, priority, effective, run_at, id FROM (
    SELECT *, row_number() OVER (PARTITION BY demand ORDER BY effective, run_at, id) AS place FROM heads WHERE most > 0
  ) h WHERE place <= most ORDER BY effective, run_at, id LIMIT @limit
), worst AS MATERIALIZED (
  SELECT effective, run_at FROM best WHERE (SELECT count(*) >= @limit FROM best) ORDER BY effective DESC, run_at DESC LIMIT 1
), deep AS MATERIALIZED (
  SELECT range FROM best GROUP BY range HAVING count(*) >= (SELECT depth FROM shape) AND (SELECT depth < @limit FROM shape)
), more AS MATERIALIZED (
  SELECT r.range, r.lane, r.priority, r.demand, r.most, h.run_at, h.id,
    {{effective_priority}} AS effective
  FROM deep d CROSS JOIN LATERAL (
    SELECT a.*, least(a.until_at, coalesce((
      SELECT CASE
        WHEN a.priority < w.effective THEN {never}
        ELSE greatest(w.run_at, CASE WHEN @aging > 0 THEN @now - (a.priority - w.effective + 1) * @aging ELSE w.run_at END)
      END FROM worst w
    ), {never})) AS last_at
    FROM ranges a WHERE a.range = d.range OFFSET 0
  ) r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.last_at
    ORDER BY a.run_at, a.id
    LIMIT CASE WHEN (SELECT n > {claim_ranges} FROM shape) THEN least(@limit, {claim_more}) ELSE @limit END OFFSET (SELECT depth FROM shape)
  ) h
), chosen AS MATERIALIZED (
  SELECT range, priority, run_at FROM best WHERE NOT EXISTS (SELECT 1 FROM deep)
  UNION ALL (
    SELECT range, priority, run_at FROM (
      SELECT *, row_number() OVER (PARTITION BY demand ORDER BY effective, run_at, id) AS place
      FROM (
        SELECT range, demand, priority, most, run_at, id, effective FROM heads WHERE most > 0 AND EXISTS (SELECT 1 FROM deep)
        UNION ALL SELECT range, demand, priority, most, run_at, id, effective FROM more
      ) a
    ) h WHERE place <= most ORDER BY effective, run_at, id LIMIT @limit
  )
), quotas AS MATERIALIZED (
  SELECT c.range, r.lane, r.priority, c.most, r.until_at, c.from_at,
    CASE WHEN c.from_at = r.from_at THEN r.from_id ELSE '00000000-0000-0000-0000-000000000000' END AS from_id
  FROM (SELECT range, count(*) AS most, min(run_at) AS from_at FROM chosen GROUP BY range) c
  CROSS JOIN LATERAL (SELECT a.lane, a.priority, a.until_at, a.from_at, a.from_id FROM ranges a WHERE a.range = c.range OFFSET 0) r
  UNION ALL
  SELECT r.range, r.lane, r.priority, r.most, r.until_at, h.run_at, h.id FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at ORDER BY a.run_at, a.id LIMIT 1
  ) h WHERE (SELECT n = 1 FROM shape) AND r.most > 0
), {{claim_alive}}
), locked AS MATERIALIZED (
  SELECT t.lane, q.priority, t.tid, t.run_at, t.id FROM quotas q CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id, r.ctid AS tid FROM {schema}.ready r
    WHERE r.lane = q.lane AND (r.run_at, r.id) >= (q.from_at, q.from_id) AND r.run_at <= q.until_at
    ORDER BY r.run_at, r.id LIMIT q.most FOR UPDATE SKIP LOCKED
  ) t WHERE EXISTS (SELECT 1 FROM alive) LIMIT 1000
), gone AS (
  DELETE FROM {schema}.ready WHERE ctid = ANY (ARRAY(SELECT tid FROM locked))
), ordered AS MATERIALIZED (
  SELECT h.lane, h.run_at, h.id, row_number() OVER (ORDER BY {{effective_priority}}, h.run_at, h.id) - 1 AS n
  FROM locked h CROSS JOIN LATERAL (SELECT h.priority) r
), jobs AS MATERIALIZED (
  SELECT o.n, o.lane, o.run_at, o.id, {{body}}, b.remembers
  FROM ordered o LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = o.id OFFSET 0) b ON true

-- What it answers.
-- fragment: claim_answer
{{claim_columns}}, CASE WHEN b.n IS NULL OR b.n = 0 THEN ARRAY(
    SELECT ARRAY[lane, first] FROM (SELECT lane, min(run_at) AS first, min(ARRAY[effective, run_at]) AS best FROM heads GROUP BY lane) h
    ORDER BY best LIMIT {claim_seen}
  ) END, {{claim_short}}

-- Takes the best jobs that are due and gives them to a node. Looked at are the ranges of @lanes,
-- each from a run time and an id up to a run time; or, if @lanes is NULL, all lanes that have work,
-- each from its beginning. @demands is NULL if all is served; else it has, by the name of a queue
-- and by a kind, "" for any, the place of a demand in @demand_limits. One by which none may be
-- taken has the limit 0. (A look at everything sees its lanes, too: who remembers where claims go
-- on need not look again once it may be taken from.)
--
-- The last columns are NULL but in the first row: lanes that have work, and the run time of the
-- first row of each, best first, at most {claim_seen}; none if there is one range only, of which
-- the rows that were taken tell. And lanes of which others hold so much that they gave less than
-- they were to. An idle node writes nothing. Nothing is taken of lanes whose jobs count in limits
-- per key, but it tells of them.
-- name: claim
-- params: @node bigint, @record bigint, @namespace text, @demands jsonb, @demand_limits int[]
-- params: @kinds text[], @limit int, @now bigint, @aging bigint, @repeated boolean, @lanes int[]
-- params: @from_run_at bigint[], @from_ids uuid[], @until_run_at bigint[], @gates boolean
--
-- walk: records: claim records of so many slots each. Numbers of leases are left out if all of them
-- walk:   are 1.
-- walk: released: unique keys that are not held while a job runs.
WITH RECURSIVE {{claim_taking}}
), {{claim_written}}
{{claim_answer}};

-- The same where jobs may count in limits per key: what becomes of them is decided then, in the
-- same transaction, and written by claim_records. Arguments and answer are those of claim.
-- name: claim_gated
-- params: @node bigint, @record bigint, @namespace text, @demands jsonb, @demand_limits int[]
-- params: @kinds text[], @limit int, @now bigint, @aging bigint, @repeated boolean, @lanes int[]
-- params: @from_run_at bigint[], @from_ids uuid[], @until_run_at bigint[], @gates boolean
WITH RECURSIVE {{claim_taking}}
)
{{claim_answer}};

-- The records of a claim whose jobs are known. A job without a gate has NULL there.
-- name: claim_records
-- params: @node bigint, @record bigint, @now bigint, @ids uuid[], @leases bigint[], @gates bigint[]
INSERT INTO {schema}.claim (node, seq, claimed_at, done, all_slots, ids, leases, gates)
SELECT @node, @record + i, @now, 0, (1::bigint << least({claim_slots}, cardinality(@ids) - {claim_slots} * i)) - 1,
  (@ids)[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}],
  (@leases)[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}],
  (@gates)[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}]
FROM generate_series(0, (cardinality(@ids) - 1) / {claim_slots}) i;

-- Unique keys that are not held while a job runs.
-- name: claim_releases
-- params: @keys bytea[], @jobs uuid[]
DELETE FROM {schema}.unique_key u USING unnest(@keys, @jobs) AS b (key, id) WHERE u.key = b.key AND u.id = b.id;

-- A claim whose answer was lost is asked about, and something of it is there. The same claim, or
-- its last part, may still be on its way: what is working at this moment is waited for, and what
-- arrives later takes nothing.
-- name: claim_note
-- params: @node bigint, @from_record bigint, @to_record bigint
UPDATE {schema}.node SET last_seq = @to_record - 1 WHERE id = @node AND dead_at IS NULL AND last_seq < @to_record - 1
  AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = @node AND k.seq >= @from_record AND k.seq < @to_record);

-- What became of it, or of jobs that started as they were enqueued: those that are not done, behind
-- a record and a place in it. No row: the node is not alive. A row without a job: nothing is left
-- of the claim, or it never happened, which last_seq tells.
-- name: claim_again
-- params: @node bigint, @from_record bigint, @to_record bigint, @after_record bigint
-- params: @after_slot bigint, @limit int
SELECT n.last_seq, t.seq, t.slot, t.claimed_at, b.lane, b.run_at, b.id, {{body}},
  EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = b.id OFFSET 0), r.yes, r.reason,
  c.percent, c.message, c.value, c.updated_at
FROM {schema}.node n
LEFT JOIN LATERAL (
  SELECT k.seq, k.claimed_at, s.id, s.place - 1 AS slot
  FROM {schema}.claim k CROSS JOIN LATERAL {{slots}}
  WHERE k.node = n.id AND k.seq >= @from_record AND k.seq < @to_record AND {{slot_open}}
    AND (k.seq, s.place - 1) > (@after_record, @after_slot)
  ORDER BY k.seq, s.place LIMIT @limit
) t ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b ON true
LEFT JOIN LATERAL (SELECT true AS yes, a.reason FROM {schema}.cancel_request a WHERE a.id = b.id OFFSET 0) r ON true
LEFT JOIN LATERAL (SELECT * FROM {schema}.checkpoint a WHERE a.id = b.id OFFSET 0) c ON true
WHERE n.id = @node AND n.dead_at IS NULL
ORDER BY t.seq, t.slot;
