-- Batches. Who adds to one locks its row FOR KEY SHARE, while it is not closed, until its
-- transaction ends. Closing does not conflict with that, and so waits for no such transaction;
-- sealing does. A closed batch takes no members, so once one is sealed all of its members are
-- visible. Who retries a member takes the same lock (retry_finished), and counts and calls take
-- the row FOR UPDATE: so the cursor and the members that were retried are as they are until then.
-- A batch is not through while a member that was counted has a note that it was retried since.

-- fragment: batch_columns
b.id, b.namespace, b.settings, b.created_at, b.closed_at, b.done_at, b.completed, b.failed, b.cancelled, b.cursor, b.sealed,
  b.through AND NOT EXISTS (SELECT 1 FROM {schema}.batch_retried r WHERE r.batch = b.id OFFSET 0), b.version

-- Batches of which one is in the way are not made: the second column is the namespace of that one.
-- name: batch_insert
-- params: @batch uuid, @namespace text, @settings text, @now bigint
WITH made AS (
  INSERT INTO {schema}.batch (id, namespace, settings, created_at) VALUES (@batch, @namespace, @settings, @now)
  ON CONFLICT (id) DO NOTHING RETURNING id
)
SELECT 1 FROM made;

-- name: batch_namespace_of
-- params: @batch uuid
SELECT b.namespace FROM {schema}.batch b WHERE b.id = @batch;

-- name: batch_close
-- params: @batch uuid, @namespace text, @now bigint
UPDATE {schema}.batch b SET closed_at = coalesce(b.closed_at, @now), version = b.version + (b.closed_at IS NULL)::int
WHERE b.id = @batch AND b.namespace = @namespace RETURNING true;

-- name: batch
-- params: @batch uuid
SELECT {{batch_columns}} FROM {schema}.batch b WHERE b.id = @batch;

-- name: batches
-- params: @before uuid, @undone boolean, @limit int
SELECT {{batch_columns}} FROM {schema}.batch b WHERE b.id < @before AND NOT (@undone AND b.done_at IS NOT NULL) ORDER BY b.id DESC LIMIT @limit;

-- name: batches_of
-- params: @namespace text, @before uuid, @undone boolean, @limit int
SELECT {{batch_columns}} FROM {schema}.batch b
WHERE b.namespace = @namespace AND b.id < @before AND NOT (@undone AND b.done_at IS NOT NULL) ORDER BY b.id DESC LIMIT @limit;

-- Which of these batches are there, with their namespaces. Those that are open are locked, so that
-- they are not sealed before the transaction ends; of one that is closed meanwhile nothing is told.
-- name: batches_keep
-- params: @batches uuid[]
SELECT b.id, b.namespace FROM {schema}.batch b WHERE b.id = ANY (@batches) AND b.closed_at IS NULL ORDER BY b.id FOR KEY SHARE;

-- name: batches_there
-- params: @batches uuid[]
SELECT b.id, b.namespace FROM {schema}.batch b WHERE b.id = ANY (@batches);

-- Closed batches that were not called back, behind one.
-- name: batches_look
-- params: @after uuid, @limit int
SELECT {{batch_columns}} FROM {schema}.batch b
WHERE b.done_at IS NULL AND b.closed_at IS NOT NULL AND b.id > @after ORDER BY b.id LIMIT @limit;

-- Of each batch whether something is to be counted: the first member behind the cursor has
-- finished; or if there is none, the first that was retried since it was counted has, or is gone;
-- or there is none of these either.
-- name: batch_heads
-- params: @batches uuid[], @cursors uuid[]
SELECT t.place, j.id IS NULL AND r.id IS NULL OR r.gone IS TRUE OR f.state IS NOT NULL
FROM unnest(@batches, @cursors) WITH ORDINALITY AS t (id, cursor, place)
LEFT JOIN LATERAL (
  SELECT a.id FROM {schema}.job a WHERE a.parent = t.id AND a.id > t.cursor ORDER BY a.id LIMIT 1
) j ON true
LEFT JOIN LATERAL (
  SELECT a.id, NOT EXISTS (SELECT 1 FROM {schema}.job m WHERE m.id = a.id AND m.parent = a.batch OFFSET 0) AS gone
  FROM {schema}.batch_retried a WHERE j.id IS NULL AND a.batch = t.id ORDER BY a.id LIMIT 1
) r ON true
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = coalesce(j.id, r.id) OFFSET 0) f ON true;

-- Seals batches, but for those to which an open transaction has added. The lock is FOR UPDATE, so
-- the change conflicts with FOR KEY SHARE also of what reads an older snapshot: it looks again, or
-- fails, and adds nothing.
-- name: batches_seal
-- params: @batches uuid[]
UPDATE {schema}.batch SET sealed = true WHERE id = ANY (ARRAY(
  SELECT b.id FROM {schema}.batch b
  WHERE b.id = ANY (@batches) AND b.closed_at IS NOT NULL AND NOT b.sealed ORDER BY b.id FOR UPDATE SKIP LOCKED
));

-- Locks batches, but for those of which an open transaction has retried a member.
-- name: batches_lock
-- params: @batches uuid[]
SELECT {{batch_columns}} FROM {schema}.batch b
WHERE b.id = ANY (@batches) AND b.sealed AND b.done_at IS NULL ORDER BY b.id FOR UPDATE SKIP LOCKED;

-- Members behind the cursor, with their states if they have finished.
-- name: batch_members
-- params: @batch uuid, @cursor uuid, @limit int
SELECT j.id, coalesce(f.state, 0)::int FROM (
  SELECT a.id FROM {schema}.job a WHERE a.parent = @batch AND a.id > @cursor ORDER BY a.id LIMIT @limit
) j LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = j.id OFFSET 0) f ON true
ORDER BY j.id;

-- Members that were counted and retried since, with how they have ended again, how they had ended
-- before, and whether they are gone.
-- name: batch_retried
-- params: @batch uuid, @limit int
SELECT r.id, coalesce(f.state, 0)::int, r.state::int,
  NOT EXISTS (SELECT 1 FROM {schema}.job m WHERE m.id = r.id AND m.parent = @batch OFFSET 0)
FROM (SELECT a.id, a.state FROM {schema}.batch_retried a WHERE a.batch = @batch ORDER BY a.id LIMIT @limit) r
LEFT JOIN LATERAL (SELECT a.state FROM {schema}.finished a WHERE a.id = r.id OFFSET 0) f ON true
ORDER BY r.id;

-- Removes the notes about members that were counted again.
-- name: batch_retried_forget
-- params: @batches uuid[], @jobs uuid[]
DELETE FROM {schema}.batch_retried WHERE ctid = ANY (ARRAY(
  SELECT r.place FROM unnest(@batches, @jobs) AS t (batch, id)
  CROSS JOIN LATERAL (SELECT a.ctid AS place FROM {schema}.batch_retried a WHERE a.batch = t.batch AND a.id = t.id OFFSET 0) r
));

-- name: batches_counted
-- params: @batches uuid[], @completed bigint[], @failed bigint[], @cancelled bigint[], @cursors uuid[], @through boolean[]
UPDATE {schema}.batch b SET completed = t.completed, failed = t.failed, cancelled = t.cancelled, cursor = t.cursor, through = t.through,
  version = b.version + 1
FROM unnest(@batches, @completed, @failed, @cancelled, @cursors, @through) AS t (id, completed, failed, cancelled, cursor, through)
WHERE b.id = t.id;

-- Locks batches that are to be called, but for those of which an open transaction has retried a
-- member. What the next statement sees is all that was noted of them.
-- name: batches_call_lock
-- params: @batches uuid[]
SELECT b.id FROM {schema}.batch b WHERE b.id = ANY (@batches) ORDER BY b.id FOR UPDATE SKIP LOCKED;

-- Marks batches, which are locked, as called back that are as they were when that was decided.
-- name: batches_called
-- params: @batches uuid[], @namespaces text[], @versions bigint[], @now bigint
UPDATE {schema}.batch b SET done_at = @now, version = b.version + 1
FROM unnest(@batches, @namespaces, @versions) WITH ORDINALITY AS t (id, namespace, version, place)
WHERE b.id = t.id AND b.namespace = t.namespace AND b.version = t.version AND b.through AND b.done_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM {schema}.batch_retried r WHERE r.batch = b.id OFFSET 0)
RETURNING t.place;

-- Removes batches that were called back before a time.
-- name: batches_forget
-- params: @until bigint, @limit int
DELETE FROM {schema}.batch WHERE id = ANY (ARRAY(
  SELECT b.id FROM {schema}.batch b WHERE b.done_at <= @until ORDER BY b.done_at LIMIT @limit FOR UPDATE SKIP LOCKED
));

-- For a copy into another database.

-- name: copy_batch_sums
SELECT count(*), coalesce(sum(version), 0)::bigint FROM {schema}.batch;

-- One of which members were retried since they were counted is counted from the beginning there.
-- name: copy_batches
-- params: @after uuid, @limit int
SELECT b.id, b.namespace, b.settings, b.created_at, b.closed_at, b.done_at, CASE WHEN r.again THEN 0 ELSE b.completed END,
  CASE WHEN r.again THEN 0 ELSE b.failed END, CASE WHEN r.again THEN 0 ELSE b.cancelled END, CASE WHEN NOT r.again THEN b.cursor END,
  b.sealed, b.through AND NOT r.again, b.version
FROM (SELECT * FROM {schema}.batch a WHERE a.id > @after ORDER BY a.id LIMIT @limit) b
CROSS JOIN LATERAL (SELECT EXISTS (SELECT 1 FROM {schema}.batch_retried a WHERE a.batch = b.id) AS again) r ORDER BY b.id;

-- name: copy_batches_put
-- params: @rows text
INSERT INTO {schema}.batch AS b (id, namespace, settings, created_at, closed_at, done_at, completed, failed, cancelled, cursor, sealed, through,
  version)
SELECT id, namespace, settings, created_at, closed_at, done_at, completed, failed, cancelled, cursor, closed_at IS NOT NULL, through, version
FROM json_to_recordset(@rows::json) AS t (id uuid, namespace text, settings text, created_at bigint, closed_at bigint, done_at bigint,
  completed bigint, failed bigint, cancelled bigint, cursor uuid, through boolean, version bigint)
ON CONFLICT (id) DO UPDATE SET settings = excluded.settings, created_at = excluded.created_at, closed_at = excluded.closed_at,
  done_at = excluded.done_at, completed = excluded.completed, failed = excluded.failed, cancelled = excluded.cancelled,
  cursor = excluded.cursor, sealed = excluded.sealed, through = excluded.through, version = excluded.version;
