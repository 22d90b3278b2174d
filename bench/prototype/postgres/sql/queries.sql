-- name: enqueue
WITH input AS MATERIALIZED (
	SELECT * FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::bytea[], $5::text[])
		AS t (id, lane, run_at, args, ordering_key)
), stored AS (
	INSERT INTO job (id, lane, attempt, max_attempts, lease, codec, run_at, created_at, args, ordering_key)
	SELECT id, lane, 0, 25, 0, 0, run_at, $6::bigint, args, ordering_key FROM input
	ON CONFLICT (id) DO NOTHING
	RETURNING id, lane, run_at, ordering_key
), now_ready AS (
	INSERT INTO ready (lane, run_at, id) SELECT lane, run_at, id FROM stored WHERE run_at <= $6::bigint AND ordering_key IS NULL
), later AS (
	INSERT INTO deferred (due, id, lane, state, ordering_key) SELECT run_at, id, lane, 1, ordering_key FROM stored WHERE run_at > $6::bigint
)
SELECT count(*) FROM stored;

-- name: claim
-- $1 node, $2 first seq, $3 lanes, $4 priorities, $5 limit, $6 now, $7 aging, $8 rows to look at per lane first
WITH alive AS MATERIALIZED (
	SELECT id FROM node WHERE id = $1::int AND dead_at IS NULL FOR KEY SHARE
), lanes AS MATERIALIZED (
	SELECT * FROM unnest($3::int[], $4::int[]) AS t (lane, priority) WHERE EXISTS (SELECT 1 FROM alive)
), shallow AS MATERIALIZED (
	SELECT l.lane, greatest(1, l.priority - ($6::bigint - h.run_at) / $7::bigint) AS rank, h.run_at, h.id
	FROM lanes l CROSS JOIN LATERAL (
		SELECT run_at, id FROM ready r WHERE r.lane = l.lane AND r.run_at <= $6::bigint ORDER BY run_at, id LIMIT $8::int
	) h
), first_cut AS MATERIALIZED (
	SELECT lane, rank, run_at, id FROM shallow ORDER BY rank, run_at, id LIMIT $5::int
), deep AS MATERIALIZED (
	SELECT lane FROM first_cut GROUP BY lane HAVING count(*) >= $8::int AND $8::int < $5::int
), merged AS MATERIALIZED (
	SELECT lane, rank, run_at, id FROM first_cut WHERE NOT EXISTS (SELECT 1 FROM deep)
	UNION ALL (
		SELECT lane, rank, run_at, id FROM (
			SELECT s.lane, s.rank, s.run_at, s.id FROM shallow s WHERE EXISTS (SELECT 1 FROM deep) AND s.lane NOT IN (SELECT lane FROM deep)
			UNION ALL
			SELECT d.lane, greatest(1, l.priority - ($6::bigint - h.run_at) / $7::bigint), h.run_at, h.id
			FROM deep d JOIN lanes l ON l.lane = d.lane CROSS JOIN LATERAL (
				SELECT run_at, id FROM ready r WHERE r.lane = d.lane AND r.run_at <= $6::bigint ORDER BY run_at, id LIMIT $5::int
			) h
		) u ORDER BY rank, run_at, id LIMIT $5::int
	)
), quota AS MATERIALIZED (
	SELECT m.lane, count(*) AS n, min(l.priority) AS priority FROM merged m JOIN lanes l ON l.lane = m.lane GROUP BY m.lane
), locked AS MATERIALIZED (
	SELECT q.lane, q.priority, h.run_at, h.id, h.place FROM quota q CROSS JOIN LATERAL (
		SELECT r.run_at, r.id, r.ctid AS place FROM ready r WHERE r.lane = q.lane AND r.run_at <= $6::bigint
		ORDER BY r.run_at, r.id LIMIT q.n FOR UPDATE SKIP LOCKED
	) h LIMIT 1000 -- never reached: it tells the planner how few rows there are
), gone AS (
	DELETE FROM ready WHERE ctid = ANY (ARRAY(SELECT place FROM locked))
), ordered AS MATERIALIZED (
	SELECT lane, id, row_number() OVER (ORDER BY greatest(1, priority - ($6::bigint - run_at) / $7::bigint), run_at, id) - 1 AS n FROM locked
), records AS (
	INSERT INTO claim (node, seq, claimed_at, ids, done, all_slots)
	SELECT $1::int, $2::bigint + n / 60, $6::bigint, array_agg(id ORDER BY n), 0, (1::bigint << count(*)::int) - 1
	FROM ordered GROUP BY n / 60
)
SELECT o.n, o.lane, o.id%BODY%;

-- name: body_join
, b.attempt, b.max_attempts, b.lease, b.codec, b.created_at, b.args, b.options, b.tags, b.metadata, b.ordering_key
FROM ordered o CROSS JOIN LATERAL (SELECT * FROM job j WHERE j.id = o.id OFFSET 0) b

-- name: body_none
FROM ordered o

-- name: bodies
SELECT id, attempt, max_attempts, lease, codec, created_at, args, options, tags, metadata, ordering_key
FROM job WHERE id = ANY ($1::uuid[]) AND id BETWEEN $2::uuid AND $3::uuid

-- name: finish
-- $1 node, $2 seq, $3 slot, $4 id, $5 lane, $6 attempt, $7 lease, $8 claimed_at, $9 finished_at, $10 result
WITH ops AS MATERIALIZED (
	SELECT * FROM unnest($1::int[], $2::bigint[], $3::int[], $4::uuid[], $5::int[], $6::int[], $7::int[], $8::bigint[], $10::bytea[])
		AS t (node, seq, slot, id, lane, attempt, lease, claimed_at, result)
), masks AS MATERIALIZED (
	SELECT node, seq, bit_or(1::bigint << slot) AS mask FROM ops GROUP BY node, seq ORDER BY node, seq
), held AS MATERIALIZED (
	SELECT m.node, m.seq, m.mask, c.done, c.all_slots
	FROM masks m CROSS JOIN LATERAL (
		SELECT c.done, c.all_slots FROM claim c
		WHERE c.node = m.node AND c.seq = m.seq AND c.done & m.mask = 0 FOR UPDATE
	) c
), emptied AS (
	DELETE FROM claim c USING held h WHERE c.node = h.node AND c.seq = h.seq AND h.done | h.mask = h.all_slots
), marked AS (
	UPDATE claim c SET done = h.done | h.mask FROM held h
	WHERE c.node = h.node AND c.seq = h.seq AND h.done | h.mask <> h.all_slots
), history AS (
	INSERT INTO finished (id, lane, state, attempt, lease, node, claimed_at, finished_at, result)
	SELECT o.id, o.lane, 1, o.attempt, o.lease, o.node, o.claimed_at, $9::bigint, o.result
	FROM ops o JOIN held h ON h.node = o.node AND h.seq = o.seq
)
SELECT node, seq FROM held;

-- name: enqueue_plain
-- Without ON CONFLICT: a repeated id fails the statement, and the caller falls back to the statement above.
WITH input AS MATERIALIZED (
	SELECT * FROM unnest($1::uuid[], $2::int[], $3::bigint[], $4::bytea[], $5::text[])
		AS t (id, lane, run_at, args, ordering_key)
), stored AS (
	INSERT INTO job (id, lane, attempt, max_attempts, lease, codec, run_at, created_at, args, ordering_key)
	SELECT id, lane, 0, 25, 0, 0, run_at, $6::bigint, args, ordering_key FROM input
), now_ready AS (
	INSERT INTO ready (lane, run_at, id) SELECT lane, run_at, id FROM input WHERE run_at <= $6::bigint AND ordering_key IS NULL
), later AS (
	INSERT INTO deferred (due, id, lane, state, ordering_key) SELECT run_at, id, lane, 1, ordering_key FROM input WHERE run_at > $6::bigint
)
SELECT 0;
