-- Jobs as wholes, for a copy.

-- The next jobs, from one on or after it.
-- name: copy_from
SELECT id FROM holdfast_job WHERE id >= ? ORDER BY id LIMIT ? + 0;

-- name: copy_after
SELECT id FROM holdfast_job WHERE id > ? ORDER BY id LIMIT ? + 0;

-- name: copy_wait
SELECT seen, kinds, awaited, failures, held, before_state, before_due, wait, handed_over FROM holdfast_deferred
WHERE due = ? AND id = ? AND state = {waiting};

-- Of what was before the job last continued as new only values and items of streams are its own
-- still.
-- name: copy_entries
-- params: @job, @after_seq, @begins_at, @limit
SELECT seq, kind, path, name, ref, data, codec, at, lease, took FROM holdfast_journal
WHERE id = @job AND seq > @after_seq AND (seq >= @begins_at OR kind IN ({kept_entries})) ORDER BY seq LIMIT @limit + 0;

-- name: copy_messages
SELECT seq, kind, name, data, codec, error, from_id, state, reason, at, key, trace FROM holdfast_inbox WHERE id = ? AND seq > ?
ORDER BY seq LIMIT ? + 0;

-- name: copy_attempts
SELECT lease, attempt, node, claimed_at, started_at, ended_at, outcome, reason, error, trace, taken <> 0 AND {{lost}}
FROM holdfast_attempt WHERE id = ? ORDER BY lease;

-- name: copy_checkpoint
SELECT percent, updated_at, message, value, lease FROM holdfast_checkpoint WHERE id = ?;

-- name: copy_updates
SELECT seq, key, name, at, codec, data, verdict, answered_at, answer_codec, answer, error
FROM holdfast_job_update INDEXED BY holdfast_job_update_key WHERE id = ? ORDER BY seq;

-- name: copy_update_insert
INSERT INTO holdfast_job_update (id, seq, key, name, at, codec, data, verdict, answered_at, answer_codec, answer, error)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: copy_closes
SELECT 1 FROM holdfast_closed_parent WHERE id = ?;

-- name: copy_job_insert
INSERT INTO holdfast_job (id, lane, run_at, created_at, lease, attempt, max_attempts, codec, ordering_key, unique_key,
  unique_states, options, tags, metadata, args, parent, marks, claimed_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: copy_entry_insert
INSERT OR IGNORE INTO holdfast_journal (id, seq, at, lease, kind, path, name, ref, codec, data, took)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: copy_message_insert
INSERT OR IGNORE INTO holdfast_inbox (id, seq, at, kind, name, key, codec, data, error, from_id, state, reason, trace)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: copy_queues
SELECT namespace, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at FROM holdfast_queue ORDER BY namespace, name;

-- name: copy_queue_put
INSERT INTO holdfast_queue (namespace, name, created_at, paused_at, paused_by, rest_until, rest_level, attempts, deleted_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, name) DO UPDATE SET created_at = excluded.created_at, paused_at = excluded.paused_at,
  paused_by = excluded.paused_by, rest_until = excluded.rest_until, rest_level = excluded.rest_level,
  attempts = excluded.attempts, deleted_at = excluded.deleted_at;

-- How many jobs are in each state.
-- name: copy_counts
SELECT {available}, (SELECT count(*) FROM holdfast_ready) + (SELECT count(*) FROM holdfast_keyed) + (SELECT count(*) FROM holdfast_gated)
UNION ALL SELECT state, count(*) FROM holdfast_deferred GROUP BY state
UNION ALL SELECT state, count(*) FROM holdfast_finished GROUP BY state;

-- name: copy_ids
SELECT id FROM holdfast_job;

-- The last numbers of nodes and of what people did, but for settings that each part of a copy has.
-- name: copy_origin
SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'holdfast_node'), 0), coalesce((
  SELECT seq FROM holdfast_audit WHERE kind IS NULL OR kind NOT IN ('limit', 'schedule', 'retention', 'attribute') ORDER BY seq DESC LIMIT 1
), 0);

-- All that was sent to jobs. Without a node it only grows.
-- name: copy_messages_count
SELECT (SELECT count(*) FROM holdfast_inbox) + (SELECT count(*) FROM holdfast_job_update);

-- name: copy_nodes_forget
DELETE FROM sqlite_sequence WHERE name = 'holdfast_node';

-- name: copy_nodes_begin
INSERT INTO sqlite_sequence (name, seq) VALUES ('holdfast_node', ?);

-- name: copy_note
SELECT value FROM holdfast_meta WHERE name = 'copied_from';

-- name: copy_note_put
INSERT INTO holdfast_meta (name, value) VALUES ('copied_from', ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value;

-- name: copy_keys
-- params: @namespace, @kind, @key, @limit
SELECT namespace, kind, key, id, keep, until, args FROM holdfast_job_key
WHERE (namespace, kind, key) > (@namespace, @kind, @key) ORDER BY namespace, kind, key LIMIT @limit + 0;

-- name: copy_key_insert
INSERT INTO holdfast_job_key (namespace, kind, key, id, keep, until, args) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, kind, key) DO NOTHING;

-- Signals that were sent along with enqueues.
-- name: copy_signals
-- params: @id, @namespace, @limit
SELECT id, namespace, job, seq, differs, at FROM holdfast_key_sent
WHERE (id, namespace) > (@id, @namespace) ORDER BY id, namespace LIMIT @limit + 0;

-- name: copy_signal_insert
INSERT INTO holdfast_key_sent (id, namespace, job, seq, differs, at) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (id, namespace) DO NOTHING;

-- name: copy_any
SELECT 1 FROM holdfast_job UNION ALL SELECT 1 FROM holdfast_schedule UNION ALL SELECT 1 FROM holdfast_limit_rule UNION ALL SELECT 1 FROM holdfast_batch LIMIT 1;

-- Ordering keys for which jobs wait although none has the turn.
-- name: copy_keys_free
SELECT DISTINCT k.queue, k.ordering_key FROM holdfast_keyed k
WHERE NOT EXISTS (SELECT 1 FROM holdfast_key_holder h WHERE h.queue = k.queue AND h.ordering_key = k.ordering_key);

-- name: backup_jobs
SELECT count(*) FROM holdfast_job;
