-- Enqueues.

-- The fast path: every id is new, and there are no unique keys. A repeated id fails the whole, and
-- the caller takes the slow path: ON CONFLICT would cost a third more for all.
--
-- Arrays of optional columns are NULL if no job needs them, here and below: unnest fills up with
-- NULL.
-- name: enqueue
-- params: @ids uuid[], @lanes int[], @run_at bigint[], @max_attempts int[], @codecs int[]
-- params: @args bytea[], @options text[], @tags text[], @metadata text[], @ordering_keys text[]
-- params: @queues int[], @priorities int[], @now bigint, @parents uuid[], @links int[]
WITH input AS MATERIALIZED (
  {{new_jobs}}
), stored AS (
  INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata, ordering_key,
    parent, link)
  SELECT id, lane, run_at, @now, 0, 0, max_attempts, codec, args, options::json, tags::jsonb, metadata::json, ordering_key, parent, link
  FROM input
), due AS (
  INSERT INTO {schema}.ready (lane, run_at, id)
  SELECT lane, run_at, id FROM input WHERE run_at <= @now AND ordering_key IS NULL
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key)
  SELECT run_at, id, lane, {scheduled}, ordering_key FROM input WHERE run_at > @now
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, run_at, id, lane FROM input WHERE run_at <= @now AND ordering_key IS NOT NULL
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key)
  SELECT DISTINCT queue, ordering_key FROM input WHERE run_at <= @now AND ordering_key IS NOT NULL
)
SELECT 1;

-- The fast path for jobs that are due and run at once on a node, if nothing is in the way: no queue
-- is paused or rests, and in the lanes @empty_lanes, each given once, nothing waits at those run
-- times and ids or after. The node's row is locked as by a claim. Answers whether the jobs run; if
-- not they are available. That they are new is what fences a batch that arrives twice.
-- name: enqueue_start
-- params: @ids uuid[], @lanes int[], @run_at bigint[], @max_attempts int[], @codecs int[]
-- params: @args bytea[], @options text[], @tags text[], @metadata text[], @ordering_keys text[]
-- params: @queues int[], @priorities int[], @now bigint, @parents uuid[], @links int[]
-- params: @node bigint, @record bigint, @empty_lanes int[], @empty_from_run_at bigint[]
-- params: @empty_from_ids uuid[]
WITH input AS MATERIALIZED (
  {{new_jobs}}
), going AS MATERIALIZED (
  SELECT n.id FROM {schema}.node n WHERE n.id = @node AND n.dead_at IS NULL AND NOT EXISTS (
    SELECT 1 FROM unnest(@empty_lanes, @empty_from_run_at, @empty_from_ids) AS t (lane, run_at, id)
    JOIN {schema}.lane l ON l.id = t.lane JOIN {schema}.queue q ON q.id = l.queue
    WHERE q.paused_at IS NOT NULL OR q.rest_until > @now OR EXISTS (
      SELECT 1 FROM {schema}.ready r WHERE r.lane = t.lane AND (r.run_at, r.id) >= (t.run_at, t.id)
    )
  ) FOR NO KEY UPDATE
), stored AS (
  INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata, parent, link)
  SELECT id, lane, run_at, @now, 0, 0, max_attempts, codec, args, options::json, tags::jsonb, metadata::json, parent, link FROM input
), due AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM input WHERE NOT EXISTS (SELECT 1 FROM going)
), records AS (
  INSERT INTO {schema}.claim (node, seq, claimed_at, done, all_slots, ids)
  SELECT @node, @record + i, @now, 0, (1::bigint << least({claim_slots}, cardinality(@ids) - {claim_slots} * i)) - 1,
    (@ids)[{claim_slots} * i + 1:{claim_slots} * i + {claim_slots}]
  FROM going CROSS JOIN generate_series(0, (cardinality(@ids) - 1) / {claim_slots}) i
)
SELECT EXISTS (SELECT 1 FROM going);

-- The slow path: ids that are known and unique keys that are taken are passed over. Answers with
-- the places of those that were stored. An id is looked at before its unique key: were the key
-- taken first, a repeat would give it to a job that has already released it. Keys are taken in
-- their order, so that two batches cannot wait for each other. Business keys were taken before
-- (keys_take): a job that is @named is stored if the row of its key names it. The odd IN … IS TRUE
-- keeps a hashed lookup where joins are pinned to nested loops.
-- name: enqueue_careful
-- params: @ids uuid[], @lanes int[], @run_at bigint[], @max_attempts int[], @codecs int[]
-- params: @args bytea[], @options text[], @tags text[], @metadata text[], @ordering_keys text[]
-- params: @queues int[], @priorities int[], @now bigint, @parents uuid[], @links int[]
-- params: @unique_keys bytea[], @unique_states int[], @named boolean[]
WITH input AS MATERIALIZED (
  SELECT * FROM unnest(@ids, @lanes, @run_at, @max_attempts, @codecs, @args, @options, @tags,
    @metadata, @ordering_keys, @queues, @priorities, @parents, @links, @unique_keys, @unique_states, @named)
    WITH ORDINALITY AS t (id, lane, run_at, max_attempts, codec, args, options, tags, metadata, ordering_key, queue, priority,
      parent, link, unique_key, unique_states, named, place)
), fresh AS MATERIALIZED (
  SELECT * FROM input i WHERE NOT EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = i.id OFFSET 0)
), wanted AS MATERIALIZED (
  SELECT DISTINCT ON (unique_key) unique_key, id FROM fresh WHERE unique_key IS NOT NULL ORDER BY unique_key, place
), taken AS (
  INSERT INTO {schema}.unique_key (key, id) SELECT unique_key, id FROM wanted ORDER BY unique_key
  ON CONFLICT (key) DO NOTHING RETURNING id
), stored AS (
  INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata,
    ordering_key, unique_key, unique_states, parent, link)
  SELECT id, lane, run_at, @now, 0, 0, max_attempts, codec, args, options::json, tags::jsonb, metadata::json,
    ordering_key, unique_key, unique_states, parent, link
  FROM fresh i WHERE (unique_key IS NULL OR id IN (SELECT id FROM taken)) AND (
    named IS NOT TRUE OR EXISTS (SELECT 1 FROM {schema}.job_key k WHERE k.id = i.id AND k.until IS NULL OFFSET 0)
  )
  ON CONFLICT (id) DO NOTHING RETURNING id
), entered AS MATERIALIZED (
  SELECT * FROM input WHERE (id IN (SELECT id FROM stored)) IS TRUE
), due AS (
  INSERT INTO {schema}.ready (lane, run_at, id)
  SELECT lane, run_at, id FROM entered WHERE run_at <= @now AND ordering_key IS NULL
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key)
  SELECT run_at, id, lane, {scheduled}, ordering_key FROM entered WHERE run_at > @now
), in_line AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, run_at, id, lane FROM entered WHERE run_at <= @now AND ordering_key IS NOT NULL
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key)
  SELECT DISTINCT queue, ordering_key FROM entered WHERE run_at <= @now AND ordering_key IS NOT NULL
)
SELECT place FROM entered;

-- What stands in the way of enqueues: the job with the same id, or the holder of the unique key. As
-- text, which database/sql can read. It is a statement of its own because its snapshot must see
-- what the one before waited for. If @strict is set the whole is refused for the sake of an enqueue
-- that replaces the holder: that is settled on the slow path, in one transaction with everything
-- else.
-- name: enqueue_obstacles
-- params: @ids uuid[], @keys bytea[], @strict boolean, @replaces boolean[]
SELECT t.place, j.run_at, j.namespace, h.id::text, h.run_at,
  CASE WHEN j.run_at IS NULL AND @strict AND h.id IS NOT NULL AND t.replaces THEN {schema}.refuse('a job is to be replaced') END
FROM unnest(@ids, @keys, @replaces) WITH ORDINALITY AS t (id, key, replaces, place)
LEFT JOIN LATERAL ({{known_job}}) j ON true
LEFT JOIN LATERAL (
  SELECT u.id, b.run_at FROM {schema}.unique_key u
  CROSS JOIN LATERAL (SELECT c.run_at FROM {schema}.job c WHERE c.id = u.id OFFSET 0) b
  WHERE u.key = t.key OFFSET 0
) h ON true
WHERE j.run_at IS NOT NULL OR h.id IS NOT NULL;

-- Replacing, of a job of the same kind: the body is locked first, so that the statement after it
-- sees where its pointer is now.
-- name: replace_lock
-- params: @job uuid, @kind text
SELECT 1 FROM {schema}.job j
WHERE j.id = @job AND j.lease = 0 AND EXISTS (SELECT 1 FROM {schema}.lane l WHERE l.id = j.lane AND {{kind_name}} = @kind)
FOR UPDATE;

-- A job that has no pointer has started, and stays. One that has the turn of its ordering key keeps
-- it. @max_delay, if not 0, is how long after its creation it is to run at the latest. Answers its
-- lane and its run time.
-- name: replace
-- params: @job uuid, @now bigint, @run_at bigint, @max_delay bigint, @args bytea, @codec int, @metadata text
WITH body AS MATERIALIZED (
  SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority,
    CASE WHEN @max_delay > 0 THEN least(@run_at, j.created_at + @max_delay) ELSE @run_at END AS new_run_at, EXISTS (
    SELECT 1 FROM {schema}.key_holder k WHERE k.queue = l.queue AND k.ordering_key = j.ordering_key AND k.id = j.id
  ) AS has_turn
  FROM {schema}.job j JOIN {schema}.lane l ON l.id = j.lane WHERE j.id = @job AND j.lease = 0
), ready_gone AS (
  DELETE FROM {schema}.ready r USING body b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
), deferred_gone AS (
  DELETE FROM {schema}.deferred d USING body b WHERE d.due = b.run_at AND d.id = b.id AND d.state = {scheduled} RETURNING d.id
), keyed_gone AS (
  DELETE FROM {schema}.keyed k USING body b
  WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
  RETURNING k.id
), gated_gone AS (
  DELETE FROM {schema}.gated g USING body b WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING g.id
), moved AS MATERIALIZED (
  SELECT b.*, b.new_run_at <= @now AS due FROM body b WHERE EXISTS (
    SELECT 1 FROM ready_gone UNION ALL SELECT 1 FROM deferred_gone UNION ALL SELECT 1 FROM keyed_gone UNION ALL SELECT 1 FROM gated_gone
  )
), changed AS (
  UPDATE {schema}.job j SET run_at = m.new_run_at, args = @args, codec = @codec, metadata = @metadata::json FROM moved m WHERE j.id = m.id
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, new_run_at, id FROM moved WHERE due AND (ordering_key IS NULL OR has_turn)
), now_keyed AS (
  INSERT INTO {schema}.keyed (queue, ordering_key, priority, run_at, id, lane)
  SELECT queue, ordering_key, priority, new_run_at, id, lane FROM moved WHERE due AND ordering_key IS NOT NULL AND NOT has_turn
), now_deferred AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key)
  SELECT new_run_at, id, lane, {scheduled}, ordering_key FROM moved WHERE NOT due
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
)
SELECT lane, new_run_at FROM moved;
