-- Lists and counts: see store/internal/lists. Ids are from @least on, which belongs to a range, to
-- @below, at which it ends; times are from @from on, up to @last.

-- The lanes that a filter selects; "" and NULL select all.
-- name: lanes_selected
-- params: @namespace text, @queues text[], @kinds text[]
SELECT l.id, l.queue, q.namespace, q.name, l.kind, l.priority, q.created_at IS NOT NULL
FROM {schema}.lane l JOIN {schema}.queue q ON q.id = l.queue
WHERE (@namespace = '' OR q.namespace = @namespace) AND (@queues IS NULL OR q.name = ANY (@queues))
  AND (@kinds IS NULL OR {{kind_name}} = ANY (@kinds));

-- What else than its body a job, j, has to be asked for, as far as the filter looks at it: its end,
-- f, and what makes one that has not finished what it is: d, r, g and k.
-- fragment: around
LEFT JOIN LATERAL (SELECT a.state, a.reason, a.finished_at, a.fingerprint FROM {schema}.finished a WHERE @looks_at_end AND a.id = j.id OFFSET 0) f ON true
LEFT JOIN LATERAL (
  SELECT a.state FROM {schema}.deferred a WHERE @looks_at_pointer AND f.state IS NULL AND a.due = j.run_at AND a.id = j.id OFFSET 0
) d ON true
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.ready a
  WHERE @looks_at_pointer AND f.state IS NULL AND a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id OFFSET 0
) r ON true
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.gated a
  WHERE @looks_at_pointer AND f.state IS NULL AND a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id OFFSET 0
) g ON true
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.lane l CROSS JOIN LATERAL (
    SELECT 1 FROM {schema}.keyed a
    WHERE a.queue = l.queue AND a.ordering_key = j.ordering_key AND a.priority = l.priority AND a.run_at = j.run_at AND a.id = j.id OFFSET 0
  ) a WHERE @looks_at_pointer AND f.state IS NULL AND j.ordering_key IS NOT NULL AND l.id = j.lane OFFSET 0
) k ON true

-- Whether a job fits a filter. What is NULL, and states of which there is no bit, do not matter. A
-- job that has not finished is taken for an available one where it does not matter which it is.
-- fragment: fits
(@lanes IS NULL OR j.lane = ANY (@lanes))
  AND (@tags IS NULL OR coalesce(j.tags @> @tags, false))
  AND (@parent IS NULL OR coalesce(j.parent = @parent, false))
  AND NOT (@no_parent AND j.parent IS NOT NULL AND j.link & {member} = 0)
  AND (@states = 0 OR (@states >> coalesce(f.state, d.state,
    CASE WHEN r.yes OR g.yes OR k.yes OR NOT @looks_at_pointer THEN {available} ELSE {running} END)) & 1 = 1)
  AND (@run_from IS NULL OR f.state IS NULL AND j.run_at BETWEEN @run_from AND @run_last)
  AND (@ended_from IS NULL OR coalesce(f.finished_at BETWEEN @ended_from AND @ended_last, false))
  AND (@reasons IS NULL OR coalesce(f.reason = ANY (@reasons), false))
  AND (@fingerprints IS NULL OR f.state IS NOT NULL AND coalesce(f.fingerprint, 0) = ANY (@fingerprints))
  AND (@lost_from IS NULL OR EXISTS (
    SELECT 1 FROM {schema}.attempt a WHERE a.id = j.id AND a.node = @lost_from AND NOT a.reported AND {{lost}} OFFSET 0
  ))
  AND (@root IS NULL OR EXISTS (
    WITH RECURSIVE up (parent) AS (
      SELECT j.parent
      UNION ALL
      SELECT p.parent FROM up u CROSS JOIN LATERAL (SELECT a.parent FROM {schema}.job a WHERE a.id = u.parent OFFSET 0) p
    ) SELECT 1 FROM up WHERE parent = @root
  ))

-- Whether an attempt that was not reported was lost, and not given back or terminated.
-- fragment: lost
a.lost IS TRUE

-- What is selected of jobs that were looked at, j, in their order: those that fit, and the last
-- one, after which it goes on, with how many there were.
-- fragment: fitting
SELECT id, fits, looked FROM (
  SELECT j.id, {{fits}} AS fits, row_number() OVER () AS place, count(*) OVER () AS looked
  FROM jobs j
  {{around}}
) t WHERE fits OR place = looked ORDER BY place

-- The next of all jobs, or of the children of @of, or of the members of that batch, in the order of
-- their ids.
-- name: list_jobs
-- params: @least uuid, @below uuid, @newest boolean, @look_at int, @of uuid
-- params: @lanes int[], @tags jsonb, @parent uuid, @no_parent boolean, @states int
-- params: @looks_at_end boolean, @looks_at_pointer boolean, @run_from bigint, @run_last bigint
-- params: @ended_from bigint, @ended_last bigint, @reasons text[], @lost_from bigint, @root uuid, @fingerprints bigint[]
WITH jobs AS MATERIALIZED (
  (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
    WHERE @newest AND @of IS NULL AND a.id >= @least AND a.id < @below ORDER BY a.id DESC LIMIT @look_at)
  UNION ALL
  (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
    WHERE NOT @newest AND @of IS NULL AND a.id >= @least AND a.id < @below ORDER BY a.id LIMIT @look_at)
  UNION ALL
  (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
    WHERE @newest AND a.parent = @of AND a.id >= @least AND a.id < @below ORDER BY a.id DESC LIMIT @look_at)
  UNION ALL
  (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
    WHERE NOT @newest AND a.parent = @of AND a.id >= @least AND a.id < @below ORDER BY a.id LIMIT @look_at)
)
{{fitting}};

-- The same of jobs that were found elsewhere, in the order given.
-- name: list_fits
-- params: @jobs uuid[]
-- params: @lanes int[], @tags jsonb, @parent uuid, @no_parent boolean, @states int
-- params: @looks_at_end boolean, @looks_at_pointer boolean, @run_from bigint, @run_last bigint
-- params: @ended_from bigint, @ended_last bigint, @reasons text[], @lost_from bigint, @root uuid, @fingerprints bigint[]
WITH jobs AS MATERIALIZED (
  SELECT b.id, b.lane, b.run_at, b.tags, b.parent, b.link, b.ordering_key FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
  CROSS JOIN LATERAL (SELECT * FROM {schema}.job a WHERE a.id = t.id OFFSET 0) b ORDER BY t.place
)
{{fitting}};

-- The next buckets in which one of the lanes may have jobs, from one to another, each once.
-- name: list_buckets
-- params: @lanes int[], @first bigint, @last bigint, @newest boolean, @limit int
SELECT b.bucket FROM (
  SELECT DISTINCT h.bucket FROM unnest(@lanes) AS l (id) CROSS JOIN LATERAL (
    (SELECT DISTINCT a.bucket FROM {schema}.lane_span a
      WHERE @newest AND a.lane = l.id AND a.bucket BETWEEN @first AND @last ORDER BY a.bucket DESC LIMIT @limit)
    UNION ALL
    (SELECT DISTINCT a.bucket FROM {schema}.lane_span a
      WHERE NOT @newest AND a.lane = l.id AND a.bucket BETWEEN @first AND @last ORDER BY a.bucket LIMIT @limit)
  ) h
) b ORDER BY CASE WHEN @newest THEN -b.bucket ELSE b.bucket END LIMIT @limit;

-- The same in any order, if there are few; one may be there several times.
-- name: list_buckets_few
-- params: @lanes int[], @first bigint, @last bigint, @limit int
SELECT h.bucket FROM unnest(@lanes) AS l (id) CROSS JOIN LATERAL (
  SELECT a.bucket FROM {schema}.lane_span a WHERE a.lane = l.id AND a.bucket BETWEEN @first AND @last LIMIT @limit
) h LIMIT @limit;

-- The next jobs in ranges of ids, which are in the order. A job of another lane is only counted.
-- The last row is that of the last job that was looked at. The ranges are joined by a loop, so that
-- one is looked at after the other, and none behind the limit.
-- name: list_within
-- params: @least uuid[], @below uuid[], @newest boolean, @look_at int
-- params: @lanes int[], @tags jsonb, @parent uuid, @no_parent boolean, @states int
-- params: @looks_at_end boolean, @looks_at_pointer boolean, @run_from bigint, @run_last bigint
-- params: @ended_from bigint, @ended_last bigint, @reasons text[], @lost_from bigint, @root uuid, @fingerprints bigint[]
WITH looked AS MATERIALIZED (
  SELECT b.id, b.lane, b.run_at, b.tags, b.parent, b.link, b.ordering_key, row_number() OVER () AS place FROM (
    SELECT h.* FROM unnest(@least, @below) AS r (least, below) CROSS JOIN LATERAL (
      (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
        WHERE @newest AND a.id >= r.least AND a.id < r.below ORDER BY a.id DESC LIMIT @look_at)
      UNION ALL
      (SELECT a.id, a.lane, a.run_at, a.tags, a.parent, a.link, a.ordering_key FROM {schema}.job a
        WHERE NOT @newest AND a.id >= r.least AND a.id < r.below ORDER BY a.id LIMIT @look_at)
    ) h LIMIT @look_at
  ) b
), jobs AS MATERIALIZED (
  SELECT * FROM looked WHERE lane = ANY (@lanes)
)
SELECT j.id, true, j.place FROM jobs j
{{around}}
WHERE {{fits}}
UNION ALL
(SELECT id, false, place FROM looked ORDER BY place DESC LIMIT 1);

-- name: list_documents
-- params: @jobs uuid[]
SELECT t.place, b.args, b.codec, b.metadata FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT a.args, a.codec, a.metadata FROM {schema}.job a WHERE a.id = t.id OFFSET 0) b;

-- name: list_holder
-- params: @key bytea
SELECT id FROM {schema}.unique_key WHERE key = @key;

-- name: list_key
-- params: @namespace text, @kinds text[], @key text
SELECT k.id FROM (SELECT DISTINCT kind FROM unnest(@kinds) AS t (kind)) u
CROSS JOIN LATERAL (
  SELECT a.id FROM {schema}.job_key a WHERE a.namespace = @namespace AND a.kind = u.kind AND a.key = @key OFFSET 0
) k;

-- The children of a job, theirs, and so on.
-- name: list_descendants
-- params: @root uuid, @limit int
WITH RECURSIVE family (id) AS (
  SELECT a.id FROM {schema}.job a WHERE a.parent = @root
  UNION ALL
  SELECT c.id FROM family f CROSS JOIN LATERAL (SELECT a.id FROM {schema}.job a WHERE a.parent = f.id OFFSET 0) c
) SELECT id FROM family LIMIT @limit;

-- name: list_lost
-- params: @node bigint, @limit int
SELECT a.id FROM {schema}.attempt a WHERE a.node = @node AND NOT a.reported AND {{lost}} LIMIT @limit;

-- When jobs are due, or have finished, and what they are.
-- name: list_times
-- params: @jobs uuid[]
SELECT t.place, coalesce(f.state, d.state, CASE WHEN r.yes THEN {available} ELSE {running} END), coalesce(f.finished_at, b.run_at)
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT a.run_at, a.lane FROM {schema}.job a WHERE a.id = t.id OFFSET 0) b
LEFT JOIN LATERAL (SELECT a.state, a.finished_at FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.deferred a WHERE f.state IS NULL AND a.due = b.run_at AND a.id = t.id OFFSET 0) d ON true
LEFT JOIN LATERAL (
  SELECT true AS yes FROM {schema}.ready a WHERE f.state IS NULL AND a.lane = b.lane AND a.run_at = b.run_at AND a.id = t.id
  UNION ALL
  SELECT true FROM {schema}.gated a WHERE f.state IS NULL AND a.lane = b.lane AND a.run_at = b.run_at AND a.id = t.id OFFSET 0
) r ON true;

-- Jobs with a pointer, in any order: in ready, in line for the turn of an ordering key, at a gate,
-- in deferred, in claims. Of the second and the last those of all lanes are found.
-- name: list_ready_few
-- params: @lanes int[], @from bigint, @last bigint, @limit int
SELECT h.run_at, h.id, {available} FROM (SELECT id FROM {schema}.lane WHERE @lanes IS NULL OR id = ANY (@lanes)) l CROSS JOIN LATERAL (
  SELECT a.run_at, a.id FROM {schema}.ready a WHERE a.lane = l.id AND a.run_at BETWEEN @from AND @last LIMIT @limit
) h LIMIT @limit;

-- name: list_keyed_few
-- params: @queues int[], @limit int
SELECT a.run_at, a.id, {available} FROM {schema}.keyed a WHERE @queues IS NULL OR a.queue = ANY (@queues) LIMIT @limit;

-- name: list_gated_few
-- params: @lanes int[], @from bigint, @last bigint, @limit int
SELECT h.run_at, h.id, {available} FROM (SELECT id FROM {schema}.lane WHERE @lanes IS NULL OR id = ANY (@lanes)) l CROSS JOIN LATERAL (
  SELECT a.run_at, a.id FROM {schema}.gated a WHERE a.lane = l.id AND a.run_at BETWEEN @from AND @last LIMIT @limit
) h LIMIT @limit;

-- name: list_deferred_few
-- params: @lanes int[], @states int, @from bigint, @last bigint, @limit int
SELECT h.due, h.id, h.state FROM (SELECT id FROM {schema}.lane WHERE @lanes IS NULL OR id = ANY (@lanes)) l
CROSS JOIN unnest(ARRAY[{scheduled}, {retryable}, {waiting}]) AS s (state) CROSS JOIN LATERAL (
  SELECT a.due, a.id, a.state FROM {schema}.deferred a
  WHERE a.lane = l.id AND a.state = s.state AND a.due BETWEEN @from AND @last LIMIT @limit
) h WHERE (@states >> s.state) & 1 = 1 LIMIT @limit;

-- name: list_claims_few
-- params: @limit int
SELECT b.run_at, r.id, {running} FROM (
  SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}} WHERE {{slot_open}} LIMIT @limit
) r CROSS JOIN LATERAL (SELECT a.run_at FROM {schema}.job a WHERE a.id = r.id OFFSET 0) b;

-- The same in the order of run times, after a place.
-- name: list_ready
-- params: @lanes int[], @after_at bigint, @after_id uuid, @last bigint, @look_at int
SELECT h.run_at, h.id, {available} FROM (SELECT id FROM {schema}.lane WHERE @lanes IS NULL OR id = ANY (@lanes)) l CROSS JOIN LATERAL (
  SELECT a.run_at, a.id FROM {schema}.ready a WHERE a.lane = l.id AND (a.run_at, a.id) > (@after_at, @after_id) AND a.run_at <= @last
  ORDER BY a.run_at, a.id LIMIT @look_at
) h ORDER BY h.run_at, h.id LIMIT @look_at;

-- name: list_deferred
-- params: @after_at bigint, @after_id uuid, @last bigint, @look_at int
SELECT due, id, state FROM {schema}.deferred WHERE (due, id) > (@after_at, @after_id) AND due <= @last ORDER BY due, id LIMIT @look_at;

-- Jobs that failed or were cancelled, which have indexes of their own: by lane in any order, by id,
-- and by the time at which they did.
-- name: list_failed_few
-- params: @lanes int[], @states int, @limit int
SELECT h.id, h.state FROM unnest(@lanes) AS l (id) CROSS JOIN LATERAL (
  SELECT a.id, a.state FROM {schema}.finished a WHERE a.lane = l.id AND a.state <> {completed} OFFSET 0
) h WHERE (@states >> h.state) & 1 = 1 LIMIT @limit;

-- name: list_failed
-- params: @states int[], @least uuid, @below uuid, @newest boolean, @look_at int
SELECT h.id, h.state FROM unnest(@states) AS s (state) CROSS JOIN LATERAL (
  (SELECT a.id, a.state FROM {schema}.finished a
    WHERE @newest AND a.state = s.state AND a.state <> {completed} AND a.id >= @least AND a.id < @below ORDER BY a.id DESC LIMIT @look_at)
  UNION ALL
  (SELECT a.id, a.state FROM {schema}.finished a
    WHERE NOT @newest AND a.state = s.state AND a.state <> {completed} AND a.id >= @least AND a.id < @below ORDER BY a.id LIMIT @look_at)
) h;

-- Jobs that have finished, whichever way.
-- name: list_finished
-- params: @least uuid, @below uuid, @newest boolean, @look_at int
(SELECT a.id, a.state FROM {schema}.finished a WHERE @newest AND a.id >= @least AND a.id < @below ORDER BY a.id DESC LIMIT @look_at)
UNION ALL
(SELECT a.id, a.state FROM {schema}.finished a WHERE NOT @newest AND a.id >= @least AND a.id < @below ORDER BY a.id LIMIT @look_at);

-- name: list_failed_by_time
-- params: @state int, @from bigint, @before_at bigint, @before_id uuid, @look_at int
SELECT a.finished_at, a.id, a.state FROM {schema}.finished a
WHERE a.state = @state AND a.state <> {completed} AND (a.finished_at, a.id) < (@before_at, @before_id) AND a.finished_at >= @from
ORDER BY a.finished_at DESC, a.id DESC LIMIT @look_at;

-- Jobs that failed and have one of the fingerprints, or, with @none, have none, in lanes, of which
-- NULL selects all: the last ones before a place.
-- name: list_dead
-- params: @lanes int[], @fingerprints bigint[], @none boolean, @from bigint, @before_at bigint, @before_id uuid, @look_at int
SELECT h.finished_at, h.id, {failed} FROM (SELECT id FROM {schema}.lane WHERE @lanes IS NULL OR id = ANY (@lanes)) l CROSS JOIN LATERAL (
  (SELECT b.finished_at, b.id FROM unnest(@fingerprints) AS t (fingerprint) CROSS JOIN LATERAL (
    SELECT a.finished_at, a.id FROM {schema}.finished a
    WHERE a.state = {failed} AND a.lane = l.id AND a.fingerprint = t.fingerprint
      AND (a.finished_at, a.id) < (@before_at, @before_id) AND a.finished_at >= @from
    ORDER BY a.finished_at DESC, a.id DESC LIMIT @look_at
  ) b)
  UNION ALL
  (SELECT a.finished_at, a.id FROM {schema}.finished a
    WHERE @none AND a.state = {failed} AND a.lane = l.id AND a.fingerprint IS NULL
      AND (a.finished_at, a.id) < (@before_at, @before_id) AND a.finished_at >= @from
    ORDER BY a.finished_at DESC, a.id DESC LIMIT @look_at)
) h ORDER BY h.finished_at DESC, h.id DESC LIMIT @look_at;

-- The fingerprints that failed jobs of lanes have, up to @most, each with the last job that has it;
-- NULL is that of those that have none. In each lane one is found after the other, from @top, the
-- greatest number, down.
-- name: dead_groups
-- params: @lanes int[], @most int, @top bigint
WITH RECURSIVE lanes AS MATERIALIZED (
  SELECT l.id FROM {schema}.lane l WHERE @lanes IS NULL OR l.id = ANY (@lanes)
), alike (lane, fingerprint, finished_at, id) AS (
  SELECT l.id, h.* FROM lanes l CROSS JOIN LATERAL (
    SELECT a.fingerprint, a.finished_at, a.id FROM {schema}.finished a
    WHERE a.state = {failed} AND a.lane = l.id AND a.fingerprint <= @top
    ORDER BY a.fingerprint DESC, a.finished_at DESC, a.id DESC LIMIT 1
  ) h
  UNION ALL
  SELECT g.lane, h.* FROM alike g CROSS JOIN LATERAL (
    SELECT a.fingerprint, a.finished_at, a.id FROM {schema}.finished a
    WHERE a.state = {failed} AND a.lane = g.lane AND a.fingerprint < g.fingerprint
    ORDER BY a.fingerprint DESC, a.finished_at DESC, a.id DESC LIMIT 1
  ) h
)
SELECT * FROM (
  SELECT l.id AS lane, h.* FROM lanes l CROSS JOIN LATERAL (
    SELECT NULL::bigint AS fingerprint, a.finished_at, a.id FROM {schema}.finished a
    WHERE a.state = {failed} AND a.lane = l.id AND a.fingerprint IS NULL
    ORDER BY a.finished_at DESC, a.id DESC LIMIT 1
  ) h
  UNION ALL SELECT lane, fingerprint, finished_at, id FROM alike
) g LIMIT @most;

-- Of each lane and fingerprint how many there are, up to @most, and when the first one failed; and
-- what its last job says.
-- name: dead_counts
-- params: @lanes int[], @fingerprints bigint[], @jobs uuid[], @most int
SELECT t.place, n.n, o.finished_at, s.reason, s.error
FROM unnest(@lanes, @fingerprints, @jobs) WITH ORDINALITY AS t (lane, fingerprint, job, place)
CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM {schema}.finished a WHERE a.state = {failed} AND a.lane = t.lane AND a.fingerprint = t.fingerprint
    UNION ALL
    SELECT 1 FROM {schema}.finished a WHERE t.fingerprint IS NULL AND a.state = {failed} AND a.lane = t.lane AND a.fingerprint IS NULL
    LIMIT @most
  ) a
) n
LEFT JOIN LATERAL (
  (SELECT a.finished_at FROM {schema}.finished a
    WHERE a.state = {failed} AND a.lane = t.lane AND a.fingerprint = t.fingerprint ORDER BY a.finished_at LIMIT 1)
  UNION ALL
  (SELECT a.finished_at FROM {schema}.finished a
    WHERE t.fingerprint IS NULL AND a.state = {failed} AND a.lane = t.lane AND a.fingerprint IS NULL ORDER BY a.finished_at LIMIT 1)
) o ON true
LEFT JOIN LATERAL (SELECT a.reason, a.error FROM {schema}.finished a WHERE a.id = t.job OFFSET 0) s ON true;

-- Jobs that completed within a span of time, and before a place, last first, if they are no more
-- than @most: else none, but how many were found. They are found by the pages that may have such
-- times.
-- name: list_completed_by_time
-- params: @from bigint, @last bigint, @before_id uuid, @most int
WITH found AS MATERIALIZED (
  SELECT a.finished_at, a.id FROM {schema}.finished a
  WHERE a.finished_at BETWEEN @from AND @last AND a.state = {completed} AND (a.finished_at, a.id) < (@last, @before_id) LIMIT @most + 1
)
SELECT n.n, f.finished_at, f.id FROM (SELECT count(*) AS n FROM found) n
LEFT JOIN (SELECT * FROM found) f ON n.n <= @most ORDER BY f.finished_at DESC, f.id DESC;

-- The first of those that completed at one time, after a place.
-- name: list_completed_at
-- params: @at bigint, @before_id uuid, @look_at int
WITH found AS MATERIALIZED (
  SELECT a.finished_at, a.id, a.state FROM {schema}.finished a
  WHERE a.finished_at BETWEEN @at AND @at AND a.state = {completed}
)
SELECT * FROM found WHERE id < @before_id ORDER BY id DESC LIMIT @look_at;

-- Whether pages may be read that only may have what is looked for, by the statements that follow in
-- the transaction.
-- name: list_bitmaps
-- params: @may text
SELECT set_config('enable_bitmapscan', @may, true);

-- How many jobs wait in a queue of each key of limits, and a row without a key with how many were
-- looked at, of which there are at most @look_at: then the counts are of no use.
-- name: waiting_few
-- params: @namespace text, @queue text, @limits text[], @look_at int
-- walk: lanes: those of the limits. waits: the jobs, some of other limits in line for the turn of
-- walk: an ordering key among them.
WITH lanes AS MATERIALIZED (
  SELECT l.id, l.queue FROM {schema}.queue q JOIN {schema}.lane l ON l.queue = q.id
  WHERE q.namespace = @namespace AND q.name = @queue AND {{lane_limit}} = ANY (@limits)
), waits AS MATERIALIZED (
  SELECT id FROM (
    SELECT h.id FROM lanes l CROSS JOIN LATERAL (SELECT a.id FROM {schema}.ready a WHERE a.lane = l.id LIMIT @look_at) h
    UNION ALL
    SELECT h.id FROM lanes l CROSS JOIN LATERAL (SELECT a.id FROM {schema}.gated a WHERE a.lane = l.id LIMIT @look_at) h
    UNION ALL
    SELECT h.id FROM lanes l CROSS JOIN unnest(ARRAY[{scheduled}, {retryable}]) AS s (state) CROSS JOIN LATERAL (
      SELECT a.id FROM {schema}.deferred a WHERE a.lane = l.id AND a.state = s.state LIMIT @look_at
    ) h
    UNION ALL
    SELECT h.id FROM (SELECT DISTINCT queue FROM lanes) l CROSS JOIN LATERAL (
      SELECT a.id FROM {schema}.keyed a WHERE a.queue = l.queue LIMIT @look_at
    ) h
  ) t LIMIT @look_at
)
SELECT (SELECT {{lane_limit}} FROM {schema}.lane l WHERE l.id = b.lane), b.key, b.n FROM (
  SELECT b.lane, b.key, count(*) AS n FROM waits w CROSS JOIN LATERAL (
    SELECT a.lane, a.options ->> 'limit_key' AS key FROM {schema}.job a WHERE a.id = w.id OFFSET 0
  ) b WHERE b.key IS NOT NULL GROUP BY b.lane, b.key
) b
UNION ALL SELECT NULL, NULL, count(*) FROM waits;

-- The same of keys alone, up to @most of each, the newest first. Most of those that do not wait
-- have finished.
-- name: waiting_of_keys
-- params: @namespace text, @queue text, @limits text[], @keys text[], @most int
SELECT t.place, w.n FROM unnest(@limits, @keys) WITH ORDINALITY AS t (name, key, place) CROSS JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM {schema}.job j CROSS JOIN LATERAL (
      SELECT l.queue, l.priority FROM {schema}.lane l CROSS JOIN LATERAL (
        SELECT 1 FROM {schema}.queue q WHERE q.id = l.queue AND q.namespace = @namespace AND q.name = @queue OFFSET 0
      ) q WHERE l.id = j.lane AND {{lane_limit}} = t.name OFFSET 0
    ) l
    WHERE strpos(j.options::text, '"limit_key"') > 0 AND j.options ->> 'limit_key' = t.key
      AND NOT EXISTS (SELECT 1 FROM {schema}.finished a WHERE a.id = j.id OFFSET 0)
      AND (
        EXISTS (SELECT 1 FROM {schema}.ready a WHERE a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id OFFSET 0)
        OR EXISTS (SELECT 1 FROM {schema}.gated a WHERE a.lane = j.lane AND a.run_at = j.run_at AND a.id = j.id OFFSET 0)
        OR EXISTS (
          SELECT 1 FROM {schema}.deferred a WHERE a.due = j.run_at AND a.id = j.id AND a.state IN ({scheduled}, {retryable}) OFFSET 0
        )
        OR j.ordering_key IS NOT NULL AND EXISTS (
          SELECT 1 FROM {schema}.keyed a WHERE a.queue = l.queue AND a.ordering_key = j.ordering_key AND a.priority = l.priority
            AND a.run_at = j.run_at AND a.id = j.id OFFSET 0
        )
      )
    ORDER BY j.options ->> 'limit_key', j.id DESC LIMIT @most
  ) a
) w;

-- The keys of a queue that a job has the turn of, from after one on, and, of those whose job has
-- failed, since when and how many wait behind it.
-- name: stuck_keys
-- params: @namespace text, @queue text, @after text, @look int, @most int
SELECT k.ordering_key, k.id, f.finished_at, f.reason, w.n FROM (
  SELECT h.queue, h.ordering_key, h.id FROM {schema}.key_holder h
  WHERE h.queue = (SELECT q.id FROM {schema}.queue q WHERE q.namespace = @namespace AND q.name = @queue) AND h.ordering_key > @after
  ORDER BY h.ordering_key LIMIT @look
) k LEFT JOIN LATERAL (
  SELECT a.finished_at, a.reason FROM {schema}.finished a WHERE a.id = k.id AND a.state = {failed} OFFSET 0
) f ON true LEFT JOIN LATERAL (
  SELECT count(*) AS n FROM (
    SELECT 1 FROM {schema}.keyed d WHERE f.finished_at IS NOT NULL AND d.queue = k.queue AND d.ordering_key = k.ordering_key LIMIT @most
  ) d
) w ON true
ORDER BY k.ordering_key;
