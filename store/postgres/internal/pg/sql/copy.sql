-- Jobs as wholes, for a copy. Rows come and go as JSON, in which bytes are text in the hexadecimal
-- form of bytea: what there is of a job differs from job to job.

-- The next jobs, and how large they are.
-- name: copy_next
-- params: @job uuid, @within boolean, @limit int
SELECT j.id, octet_length(j.args) + coalesce(octet_length(f.result), 0) + 500
FROM (SELECT a.id, a.args FROM {schema}.job a WHERE a.id >= @job AND (@within OR a.id > @job) ORDER BY a.id LIMIT @limit) j
LEFT JOIN LATERAL (SELECT a.result FROM {schema}.finished a WHERE a.id = j.id OFFSET 0) f ON true
ORDER BY j.id;

-- Those of the jobs that run.
-- name: copy_running
-- params: @jobs uuid[]
SELECT s.id FROM {schema}.claim k CROSS JOIN LATERAL {{slots}} WHERE k.ids && @jobs AND {{slot_open}} AND s.id = ANY (@jobs);

-- All of them but their memories.
-- name: copy_jobs
-- params: @jobs uuid[]
SELECT t.place, b.lane, b.run_at, {{body}}, f.result, json_build_object(
  'closing', b.closing, 'ran_at', b.claimed_at,
  'durable', EXISTS (SELECT 1 FROM {schema}.journal a WHERE a.id = t.id OFFSET 0),
  'has_turn', EXISTS (
    SELECT 1 FROM {schema}.key_holder a WHERE a.queue = l.queue AND a.ordering_key = b.ordering_key AND a.id = t.id OFFSET 0),
  'holds_key', EXISTS (SELECT 1 FROM {schema}.unique_key a WHERE a.key = b.unique_key AND a.id = t.id OFFSET 0),
  'closes', EXISTS (SELECT 1 FROM {schema}.closed_parent a WHERE a.id = t.id OFFSET 0),
  'finished', CASE WHEN f.id IS NOT NULL THEN json_build_object('state', f.state, 'finished_at', f.finished_at, 'lease', f.lease,
    'node', f.node, 'claimed_at', f.claimed_at, 'started_at', f.started_at, 'reason', f.reason, 'error', f.error,
    'codec', f.codec, 'fingerprint', f.fingerprint) END,
  'deferred', (SELECT row_to_json(a) FROM {schema}.deferred a WHERE a.due = b.run_at AND a.id = t.id OFFSET 0),
  'checkpoint', (SELECT json_build_object('lease', a.lease, 'percent', a.percent, 'updated_at', a.updated_at, 'message', a.message,
    'value', a.value::text) FROM {schema}.checkpoint a WHERE a.id = t.id OFFSET 0),
  'cancel', (SELECT row_to_json(a) FROM {schema}.cancel_request a WHERE a.id = t.id OFFSET 0),
  'pause', (SELECT row_to_json(a) FROM {schema}.pause_request a WHERE a.id = t.id OFFSET 0),
  'edges', (SELECT json_agg(a ORDER BY a.predecessor) FROM {schema}.edge a WHERE a.successor = t.id),
  'updates', (SELECT json_agg(a ORDER BY a.seq) FROM {schema}.job_update a WHERE a.id = t.id),
  'attributes', searched.list::json,
  'logs', (SELECT json_agg(a ORDER BY a.lease, a.first) FROM {schema}.job_log a WHERE a.id = t.id),
  'attempts', (SELECT json_agg(json_build_object('lease', a.lease, 'node', a.node, 'claimed_at', a.claimed_at,
    'started_at', a.started_at, 'ended_at', a.ended_at, 'attempt', a.attempt, 'outcome', a.outcome, 'reason', a.reason,
    'error', a.error, 'trace', a.trace, 'lost', NOT a.reported AND {{lost}}) ORDER BY a.lease)
    FROM {schema}.attempt a WHERE a.id = t.id),
  'actions', (SELECT json_agg(json_build_object('at', a.at, 'actor', a.actor, 'action', a.action, 'detail', a.detail) ORDER BY a.seq)
    FROM {schema}.audit a WHERE a.job = t.id AND a.gone IS NOT TRUE)
)::text
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = t.id OFFSET 0) b
CROSS JOIN LATERAL (SELECT a.queue FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
LEFT JOIN LATERAL (SELECT * FROM {schema}.finished a WHERE a.id = t.id OFFSET 0) f ON true
{{attributes_of_job}}
ORDER BY t.place;

-- The sums of the halves of the ids of all jobs, as text: they are larger than their numbers.
-- name: copy_ids
SELECT coalesce(sum(('x' || left(t.hex, 16))::bit(64)::bigint), 0)::text, coalesce(sum(('x' || right(t.hex, 16))::bit(64)::bigint), 0)::text
FROM (SELECT replace(id::text, '-', '') AS hex FROM {schema}.job) t;

-- The next entries of a job, at most so many, and those that begin within so many bytes. Each row
-- tells whether there are more. Of what was before the job last continued as new only values and
-- items of streams are its own still.
-- name: copy_entries
-- params: @job uuid, @after bigint, @limit int, @bytes bigint
SELECT {{entry}}, number <> last FROM (
  SELECT e.*, row_number() OVER by_seq AS number, count(*) OVER () AS last,
    sum(100 + coalesce(octet_length(e.data), 0)) OVER by_seq - 100 - coalesce(octet_length(e.data), 0) AS before
  FROM (
    SELECT * FROM {schema}.journal a WHERE a.id = @job AND a.seq > @after
      AND (a.seq >= coalesce({{generation}}, 0) OR a.kind IN ({kept_entries})) ORDER BY a.seq LIMIT @limit + 1
  ) e WINDOW by_seq AS (ORDER BY e.seq)
) t WHERE before < @bytes AND number <= @limit ORDER BY seq;

-- The same of messages.
-- name: copy_messages
-- params: @job uuid, @after bigint, @limit int, @bytes bigint
SELECT seq, at, kind, codec, name, data, from_id, state, reason, error, key, trace, number <> last FROM (
  SELECT m.*, row_number() OVER by_seq AS number, count(*) OVER () AS last,
    sum(100 + coalesce(octet_length(m.data), 0)) OVER by_seq - 100 - coalesce(octet_length(m.data), 0) AS before
  FROM (SELECT * FROM {schema}.inbox a WHERE a.id = @job AND a.seq > @after ORDER BY a.seq LIMIT @limit + 1) m
  WINDOW by_seq AS (ORDER BY m.seq)
) t WHERE before < @bytes AND number <= @limit ORDER BY seq;

-- name: copy_has_messages
-- params: @jobs uuid[]
SELECT t.id FROM unnest(@jobs) AS t (id) WHERE EXISTS (SELECT 1 FROM {schema}.inbox a WHERE a.id = t.id OFFSET 0);

-- Requests keep their numbers, which journals name, and later ones get greater ones.
-- name: copy_updates_put
-- params: @rows text
INSERT INTO {schema}.job_update (id, seq, at, answered_at, codec, answer_codec, verdict, key, name, error, data, answer)
OVERRIDING SYSTEM VALUE
SELECT id, seq, at, answered_at, codec, answer_codec, verdict, key, name, error, data, answer FROM json_to_recordset(@rows::json)
  AS t (id uuid, seq bigint, at bigint, answered_at bigint, codec int, answer_codec int, verdict smallint, key text, name text, error text,
    data bytea, answer bytea);

-- name: copy_updates_begin
-- params: @last bigint
SELECT setval(s.name, greatest(@last, coalesce(pg_sequence_last_value(s.name), 0)))
FROM (SELECT pg_get_serial_sequence(quote_ident({schema_name}) || '.job_update', 'seq')::regclass AS name) s;

-- name: copy_keys
-- params: @namespace text, @kind text, @key text, @limit int
SELECT namespace, kind, key, id, keep, until, args FROM {schema}.job_key
WHERE (namespace, kind, key) > (@namespace, @kind, @key) ORDER BY namespace, kind, key LIMIT @limit;

-- name: copy_keys_put
-- params: @rows text
INSERT INTO {schema}.job_key (namespace, kind, key, id, keep, until, taken, args)
SELECT namespace, kind, key, id, keep, until, 1, args FROM json_to_recordset(@rows::json)
  AS t (namespace text, kind text, key text, id uuid, keep bigint, until bigint, args bytea)
ON CONFLICT (namespace, kind, key) DO NOTHING;

-- Signals that were sent along with enqueues.
-- name: copy_signals
-- params: @id uuid, @namespace text, @limit int
SELECT id, namespace, job, seq, differs, at FROM {schema}.key_sent
WHERE (id, namespace) > (@id, @namespace) ORDER BY id, namespace LIMIT @limit;

-- name: copy_signals_put
-- params: @rows text
INSERT INTO {schema}.key_sent (id, namespace, job, seq, differs, at)
SELECT id, namespace, job, seq, differs, at FROM json_to_recordset(@rows::json)
  AS t (id uuid, namespace text, job uuid, seq bigint, differs boolean, at bigint)
ON CONFLICT (id, namespace) DO NOTHING;

-- name: copy_queues
SELECT namespace, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at FROM {schema}.queue
WHERE created_at IS NOT NULL ORDER BY namespace, name;

-- name: copy_counts
SELECT {available}, (SELECT count(*) FROM {schema}.ready) + (SELECT count(*) FROM {schema}.keyed) + (SELECT count(*) FROM {schema}.gated)
UNION ALL SELECT {running}, count(*) FROM {schema}.claim k CROSS JOIN LATERAL {{slots}} WHERE {{slot_open}}
UNION ALL SELECT state, count(*) FROM {schema}.deferred GROUP BY state
UNION ALL SELECT state, count(*) FROM {schema}.finished GROUP BY state;

-- The last numbers of nodes and of what people did, but for settings that each part of a copy has.
-- name: copy_origin
SELECT (SELECT value FROM {schema}.meta WHERE name = 'database_id'),
  coalesce(pg_sequence_last_value(pg_get_serial_sequence(quote_ident({schema_name}) || '.node', 'id')::regclass), 0),
  coalesce((
    SELECT seq FROM {schema}.audit WHERE kind IS NULL OR kind NOT IN ('limit', 'schedule', 'retention', 'attribute') ORDER BY seq DESC LIMIT 1
  ), 0),
  coalesce((SELECT value FROM {schema}.meta WHERE name = 'copied_from'), '');

-- All that was sent to jobs. Without a node it only grows.
-- name: copy_messages_count
SELECT (SELECT count(*) FROM {schema}.inbox) + (SELECT count(*) FROM {schema}.job_update);

-- Copies into the database take turns.
-- name: copy_lock
SELECT value FROM {schema}.meta WHERE name = 'database_id' FOR UPDATE;

-- name: copy_busy
SELECT coalesce((SELECT min(n.id) FROM {schema}.node n WHERE n.dead_at IS NULL), 0), EXISTS (SELECT 1 FROM {schema}.job) OR EXISTS (SELECT 1 FROM {schema}.schedule)
  OR EXISTS (SELECT 1 FROM {schema}.limit_rule) OR EXISTS (SELECT 1 FROM {schema}.batch);

-- name: copy_nodes_begin
-- params: @last bigint
SELECT setval(pg_get_serial_sequence(quote_ident({schema_name}) || '.node', 'id')::regclass, @last) WHERE @last > 0;

-- name: copy_note_put
-- params: @note text
INSERT INTO {schema}.meta (name, value) VALUES ('copied_from', @note) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: copy_queues_put
-- params: @rows text
INSERT INTO {schema}.queue (namespace, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at)
SELECT t.namespace, t.name, t.created_at, t.paused_at, t.paused_by, t.rest_until, t.rest_level, t.attempts, t.deleted_at
FROM json_to_recordset(@rows::json) AS t (namespace text, name text, created_at bigint, paused_at bigint, paused_by text,
  rest_until bigint, rest_level int, attempts text, deleted_at bigint)
ON CONFLICT (namespace, name) DO UPDATE SET created_at = excluded.created_at, paused_at = excluded.paused_at,
  paused_by = excluded.paused_by, rest_until = excluded.rest_until, rest_level = excluded.rest_level,
  attempts = excluded.attempts, deleted_at = excluded.deleted_at;

-- Those of the jobs that are there already.
-- name: copy_known
-- params: @jobs uuid[]
SELECT j.id FROM {schema}.job j WHERE j.id = ANY (@jobs);

-- name: copy_bodies_put
-- params: @rows text
INSERT INTO {schema}.job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options, tags, metadata,
  ordering_key, unique_key, unique_states, parent, link, closing, claimed_at, remembers)
SELECT id, lane, run_at, created_at, lease, attempt, max_attempts, codec, args, options::json, tags::jsonb, metadata::json,
  ordering_key, unique_key, unique_states, parent, link, closing, claimed_at, remembers
FROM json_to_recordset(@rows::json) AS t (id uuid, lane int, run_at bigint, created_at bigint, lease bigint, attempt int,
  max_attempts int, codec int, args bytea, options text, tags text, metadata text, ordering_key text, unique_key bytea, unique_states int,
  parent uuid, link int, closing bigint, claimed_at bigint, remembers boolean);

-- Their pointers. Who waits for the turn of an ordering key is looked at by who hands on turns.
-- name: copy_available_put
-- params: @rows text
WITH rows AS MATERIALIZED (
  SELECT * FROM json_to_recordset(@rows::json) AS t (id uuid, lane int, run_at bigint, queue int, priority int, ordering_key text, keyed boolean)
), in_line AS (
  INSERT INTO {schema}.keyed (run_at, id, queue, priority, lane, ordering_key)
  SELECT run_at, id, queue, priority, lane, ordering_key FROM rows WHERE keyed
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT DISTINCT queue, ordering_key FROM rows WHERE keyed
)
INSERT INTO {schema}.ready (run_at, id, lane) SELECT run_at, id, lane FROM rows WHERE keyed IS NOT TRUE;

-- name: copy_deferred_put
-- params: @rows text
INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, seen, enough, since, until, was_due, was_run_at, was_state, kinds,
  failures, held, reason, error, waits_for, handed_over)
SELECT due, id, lane, state, ordering_key, seen, enough, since, until, was_due, was_run_at, was_state, kinds,
  failures, held, reason, error, waits_for, handed_over
FROM json_to_recordset(@rows::json) AS t (due bigint, id uuid, lane int, state int, ordering_key text, seen bigint, enough bigint,
  since bigint, until bigint, was_due bigint, was_run_at bigint, was_state int, kinds int, failures boolean, held boolean, reason text,
  error text, waits_for text, handed_over smallint);

-- name: copy_finished_put
-- params: @rows text
INSERT INTO {schema}.finished (id, finished_at, lease, node, claimed_at, state, reason, error, result, started_at, codec, fingerprint, lane)
SELECT id, finished_at, lease, node, claimed_at, state, reason, error, result, started_at, codec, fingerprint, lane
FROM json_to_recordset(@rows::json) AS t (id uuid, finished_at bigint, lease bigint, node bigint, claimed_at bigint, state int,
  reason text, error text, result bytea, started_at bigint, codec int, fingerprint bigint, lane int);

-- name: copy_attempts_put
-- params: @rows text
INSERT INTO {schema}.attempt (id, lease, node, claimed_at, started_at, ended_at, attempt, outcome, reported, reason, error, trace, lost)
SELECT id, lease, node, claimed_at, started_at, ended_at, attempt, outcome, false, reason, error, trace, lost
FROM json_to_recordset(@rows::json) AS t (id uuid, lease bigint, node bigint, claimed_at bigint, started_at bigint, ended_at bigint,
  attempt int, outcome int, reason text, error text, trace text, lost boolean);

-- name: copy_checkpoints_put
-- params: @rows text
INSERT INTO {schema}.checkpoint (id, lease, percent, updated_at, message, value)
SELECT id, lease, percent, updated_at, message, value::json FROM json_to_recordset(@rows::json)
  AS t (id uuid, lease bigint, percent double precision, updated_at bigint, message text, value text);

-- name: copy_unique_put
-- params: @rows text
INSERT INTO {schema}.unique_key (key, id) SELECT key, id FROM json_to_recordset(@rows::json) AS t (key bytea, id uuid);

-- name: copy_turns_put
-- params: @rows text
INSERT INTO {schema}.key_holder (id, queue, ordering_key)
SELECT id, queue, ordering_key FROM json_to_recordset(@rows::json) AS t (id uuid, queue int, ordering_key text);

-- name: copy_cancels_put
-- params: @rows text
INSERT INTO {schema}.cancel_request (id, at, reason, actor, seen)
SELECT id, at, reason, actor, coalesce(seen, false) FROM json_to_recordset(@rows::json)
  AS t (id uuid, at bigint, reason text, actor text, seen boolean);

-- name: copy_pauses_put
-- params: @rows text
INSERT INTO {schema}.pause_request (id, at, reason, actor)
SELECT id, at, reason, actor FROM json_to_recordset(@rows::json) AS t (id uuid, at bigint, reason text, actor text);

-- name: copy_closing_put
-- params: @rows text
INSERT INTO {schema}.closed_parent (id, at) SELECT id, at FROM json_to_recordset(@rows::json) AS t (id uuid, at bigint);

-- For what jobs wait. It is to be looked at whether their predecessors know of it.
-- name: copy_edges_put
-- params: @rows text
WITH rows AS MATERIALIZED (
  SELECT * FROM json_to_recordset(@rows::json) AS t (predecessor uuid, successor uuid, policy smallint, told smallint)
), checks AS (
  INSERT INTO {schema}.edge_check (predecessor) SELECT DISTINCT predecessor FROM rows
)
INSERT INTO {schema}.edge (predecessor, successor, policy, told) SELECT predecessor, successor, policy, told FROM rows;

-- name: copy_actions_put
-- params: @rows text
INSERT INTO {schema}.audit (at, actor, action, job, detail)
SELECT at, actor, action, id, detail FROM ROWS FROM (
  json_to_recordset(@rows::json) AS (at bigint, actor text, action text, id uuid, detail text)
) WITH ORDINALITY AS t (at, actor, action, id, detail, place) ORDER BY place;

-- name: copy_logs_put
-- params: @rows text
INSERT INTO {schema}.job_log (id, lease, first, attempt, count, lines)
SELECT id, lease, first, attempt, count, lines FROM json_to_recordset(@rows::json)
  AS t (id uuid, lease bigint, first bigint, attempt int, count int, lines bytea);

-- Memories, but for what is there: a page may be imported again.
-- name: copy_entries_put
-- params: @rows text
WITH rows AS MATERIALIZED (
  SELECT * FROM json_to_recordset(@rows::json) AS t (id uuid, seq bigint, at bigint, lease bigint, ref bigint, codec int, kind smallint,
    path text, name text, data bytea, took bigint)
), generations AS (
  INSERT INTO {schema}.generation AS g (id, first) SELECT id, max(seq) FROM rows WHERE kind = {entry_continued} GROUP BY id
  ON CONFLICT (id) DO UPDATE SET first = greatest(g.first, excluded.first)
)
INSERT INTO {schema}.journal (id, seq, at, lease, ref, codec, kind, path, name, data, took)
SELECT id, seq, at, lease, ref, codec, kind, coalesce(path, ''), name, data, took FROM rows
ON CONFLICT (id, seq) DO NOTHING;

-- name: copy_messages_put
-- params: @rows text
INSERT INTO {schema}.inbox (id, seq, at, from_id, codec, kind, state, name, key, reason, error, data, trace)
SELECT id, seq, at, from_id, codec, kind, state, name, key, reason, error, data, trace FROM json_to_recordset(@rows::json)
  AS t (id uuid, seq bigint, at bigint, from_id uuid, codec int, kind smallint, state smallint, name text, key text, reason text, error text,
    data bytea, trace text)
ON CONFLICT (id, seq) DO NOTHING;
