-- Journals: what runs remember.

-- Appends do not lock the claim records of their leases, which the ends of other runs are updating.
-- Instead an append holds a lock on the name of the node, shared, from before it looks whether its
-- leases live; and what takes leases from a node holds it exclusively while it does.
-- Advisory locks belong to one database, so the name is the schema's and the node's. Nodes come in
-- order.
-- name: fence
-- params: @nodes bigint[]
SELECT pg_advisory_xact_lock_shared({fence}) FROM unnest(@nodes) AS t (id);

-- The other side of it.
-- name: fence_out
-- params: @nodes bigint[]
SELECT pg_advisory_xact_lock({fence}) FROM unnest(@nodes) AS t (id);

-- Entries, under leases in groups as in finish.sql. Comes after fence. All or nothing; a seq that
-- is there fails the whole. @seqs are of entries, @records of claim records.
-- name: append
-- params: @nodes bigint[], @records bigint[], @masks bigint[], @first int[], @last int[]
-- params: @slots int[], @jobs uuid[], @leases bigint[], @entry_jobs uuid[], @seqs bigint[]
-- params: @entry_leases bigint[], @kinds int[], @paths text[], @names text[], @refs bigint[]
-- params: @codecs int[], @data bytea[], @took bigint[], @now bigint
WITH leases AS MATERIALIZED (
  SELECT coalesce(c.live, 0) AS live
  FROM unnest(@nodes, @records, @masks, @first, @last) AS g (node, seq, mask, first, last)
  LEFT JOIN LATERAL (
    SELECT 1 AS live FROM {schema}.claim k
    WHERE {{group_lives}} AND EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = g.node AND n.dead_at IS NULL OFFSET 0)
  ) c ON true
), written AS (
  INSERT INTO {schema}.journal (id, seq, at, lease, ref, codec, kind, path, name, data, took)
  SELECT id, seq, @now, lease, ref, codec, kind, path, name, data, took
  FROM unnest(@entry_jobs, @seqs, @entry_leases, @kinds, @paths, @names, @refs, @codecs, @data, @took)
    AS e (id, seq, lease, kind, path, name, ref, codec, data, took)
)
SELECT CASE WHEN min(live) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM leases;

-- Locks the body of a job in the transaction of a step, of which only the commit is to follow: the
-- server does not wait for that longer than @idle_timeout, or a machine that vanishes before it
-- would keep the job. Answers with the transaction's isolation level, too.
-- name: lock_body_of_step
-- params: @job uuid, @idle_timeout text
SELECT set_config('idle_in_transaction_session_timeout', @idle_timeout, true), current_setting('transaction_isolation')
FROM (SELECT 1 FROM {schema}.job j WHERE j.id = @job FOR NO KEY UPDATE) b;

-- name: isolation
SELECT current_setting('transaction_isolation');

-- The end of jobs is decided, by those entries. Their bodies are locked.
-- name: append_closing
-- params: @jobs uuid[], @seqs bigint[]
UPDATE {schema}.job j SET closing = t.seq FROM unnest(@jobs, @seqs) AS t (id, seq) WHERE j.id = t.id AND j.closing IS NULL;

-- Which of the leases of appends live, asked one by one. Comes after fence too.
-- name: append_live
-- params: @nodes bigint[], @records bigint[], @slots int[], @jobs uuid[], @leases bigint[]
SELECT t.place FROM unnest(@nodes, @records, @slots, @jobs, @leases) WITH ORDINALITY AS t (node, seq, slot, id, lease, place)
CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE {{lease_lives}} OFFSET 0
) c
WHERE EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = t.node AND n.dead_at IS NULL OFFSET 0);

-- Who wrote entries.
-- name: append_written
-- params: @jobs uuid[], @seqs bigint[]
SELECT t.place, j.lease FROM unnest(@jobs, @seqs) WITH ORDINALITY AS t (id, seq, place)
CROSS JOIN LATERAL (SELECT a.lease FROM {schema}.journal a WHERE a.id = t.id AND a.seq = t.seq OFFSET 0) j;

-- A journal begins with the entry with which its job last continued as new, if there is a
-- generation of it. What it published and streamed before that (entry_published, entry_streamed) is
-- there still, for those who ask for it, and nothing else.

-- What jobs remember and what was sent to them, in one snapshot.
-- name: journals
-- params: @jobs uuid[]
SELECT t.place, false, m.seq, m.at, m.kind, m.codec, m.name, m.data, m.path, m.lease, m.ref, m.took,
  NULL::uuid, NULL::smallint, NULL::text, NULL::text, NULL::text
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.journal a WHERE a.id = t.id AND a.seq >= coalesce(
  (SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) ORDER BY a.seq) m
UNION ALL
SELECT t.place, true, m.seq, m.at, m.kind, m.codec, m.name, m.data, NULL, NULL, NULL, NULL, m.from_id, m.state, m.reason, m.error, m.trace
FROM unnest(@jobs) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox a WHERE a.id = t.id ORDER BY a.seq) m;

-- How many entries and messages a job has.
-- name: journal_sizes
-- params: @job uuid
SELECT coalesce((SELECT j.seq FROM {schema}.journal j WHERE j.id = @job ORDER BY j.seq DESC LIMIT 1)
  - coalesce({{generation}}, 1) + 1, 0),
  (SELECT count(*) FROM {schema}.inbox m WHERE m.id = @job);

-- A page of entries. @kinds and @name are NULL if they do not matter. @earlier asks for what was
-- before the job last continued as new, too: that is nothing but values and items of streams.
-- name: entries
-- params: @job uuid, @kinds int[], @name text, @from bigint, @limit int, @earlier boolean
SELECT {{entry}} FROM {schema}.journal
WHERE id = @job AND (@kinds IS NULL OR kind = ANY (@kinds)) AND (@name IS NULL OR name = @name)
  AND seq > greatest(@from, CASE WHEN @earlier THEN 0 ELSE
    {{generation}} - 1 END)
ORDER BY seq LIMIT @limit;

-- name: entries_newest
-- params: @job uuid, @kinds int[], @name text, @from bigint, @limit int, @earlier boolean
SELECT {{entry}} FROM {schema}.journal
WHERE id = @job AND (@kinds IS NULL OR kind = ANY (@kinds)) AND (@name IS NULL OR name = @name) AND seq < @from
  AND seq > coalesce(CASE WHEN @earlier THEN 0 ELSE
    {{generation}} - 1 END, 0)
ORDER BY seq DESC LIMIT @limit;

-- The same of one kind, which has an index by name.
-- name: entries_named
-- params: @job uuid, @kind int, @name text, @from bigint, @limit int, @earlier boolean
SELECT {{entry}} FROM {schema}.journal
WHERE id = @job AND kind = @kind AND kind IN ({named_entries}) AND name = @name
  AND seq > greatest(@from, CASE WHEN @earlier THEN 0 ELSE
    {{generation}} - 1 END)
ORDER BY seq LIMIT @limit;

-- name: entries_named_newest
-- params: @job uuid, @kind int, @name text, @from bigint, @limit int, @earlier boolean
SELECT {{entry}} FROM {schema}.journal
WHERE id = @job AND kind = @kind AND kind IN ({named_entries}) AND name = @name AND seq < @from
  AND seq > coalesce(CASE WHEN @earlier THEN 0 ELSE
    {{generation}} - 1 END, 0)
ORDER BY seq DESC LIMIT @limit;
