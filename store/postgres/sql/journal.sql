-- Journals: what runs remember.

-- Appends do not lock the claim records of their leases, which the ends of other runs are updating. Instead whoever writes a journal
-- holds a lock on the name of the node, shared, from before it looks whether its leases live; and whoever takes leases from a node holds
-- it alone while it does. Advisory locks belong to one database, so the name is the schema's and the node's. $1 nodes, in order.
-- name: fence
SELECT pg_advisory_xact_lock_shared({fence}) FROM unnest($1::bigint[]) AS t (id);

-- The other side of it.
-- name: fence_out
SELECT pg_advisory_xact_lock({fence}) FROM unnest($1::bigint[]) AS t (id);

-- The leases of a batch come in groups, as in finish.sql: $1 to $8. Then the entries: $9 ids, $10 seqs, $11 lease numbers, $12 kinds, $13
-- paths, $14 names, $15 messages, $16 codecs, $17 data, $18 now. All or nothing. Comes after fence. A seq that is there fails the whole.
-- name: append
WITH held AS MATERIALIZED (
  SELECT coalesce(c.live, 0) AS live
  FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::int[], $5::int[]) AS g (node, seq, mask, first, last)
  LEFT JOIN LATERAL (
    SELECT 1 AS live FROM {schema}.claim k
    WHERE k.node = g.node AND k.seq = g.seq AND k.done & g.mask = 0 AND g.mask & ~k.all_slots = 0 AND NOT EXISTS (
      SELECT 1 FROM generate_series(g.first, g.last) i
      WHERE k.ids[($6::int[])[i] + 1] IS DISTINCT FROM ($7::uuid[])[i] OR coalesce(k.leases[($6::int[])[i] + 1], 1) <> ($8::bigint[])[i]
    ) AND EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = g.node AND n.dead_at IS NULL OFFSET 0)
  ) c ON true
), written AS (
  INSERT INTO {schema}.journal (id, seq, at, lease, ref, codec, kind, path, name, data)
  SELECT id, seq, $18::bigint, lease, ref, codec, kind, path, name, data
  FROM unnest($9::uuid[], $10::bigint[], $11::bigint[], $12::int[], $13::text[], $14::text[], $15::bigint[], $16::int[], $17::bytea[])
    AS e (id, seq, lease, kind, path, name, ref, codec, data)
)
SELECT CASE WHEN min(live) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM held;

-- Locks the body of a job, $1, in the transaction of a step, of which only the commit is to follow: the server does not wait for that longer
-- than $2, or a machine that vanishes before it would keep the job. Answers with the transaction's isolation level, too.
-- name: lock_body_of_step
SELECT set_config('idle_in_transaction_session_timeout', $2::text, true), current_setting('transaction_isolation')
FROM (SELECT 1 FROM {schema}.job j WHERE j.id = $1::uuid FOR NO KEY UPDATE) b;

-- name: isolation
SELECT current_setting('transaction_isolation');

-- The end of jobs is decided: $1 ids, $2 the Seqs with which. Their bodies are locked.
-- name: append_closing
UPDATE {schema}.job j SET closing = t.seq FROM unnest($1::uuid[], $2::bigint[]) AS t (id, seq) WHERE j.id = t.id AND j.closing IS NULL;

-- Which of those leases live, asked one by one: $1 nodes, $2 numbers, $3 slots, $4 ids, $5 lease numbers. Comes after fence too.
-- name: append_live
SELECT t.place FROM unnest($1::bigint[], $2::bigint[], $3::int[], $4::uuid[], $5::bigint[]) WITH ORDINALITY AS t (node, seq, slot, id, lease, place)
CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE k.node = t.node AND k.seq = t.seq AND (k.done >> t.slot) & 1 = 0 AND k.ids[t.slot + 1] = t.id AND coalesce(k.leases[t.slot + 1], 1) = t.lease OFFSET 0
) c
WHERE EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = t.node AND n.dead_at IS NULL OFFSET 0);

-- Who wrote entries: $1 ids, $2 seqs.
-- name: append_written
SELECT t.place, j.lease FROM unnest($1::uuid[], $2::bigint[]) WITH ORDINALITY AS t (id, seq, place)
CROSS JOIN LATERAL (SELECT a.lease FROM {schema}.journal a WHERE a.id = t.id AND a.seq = t.seq OFFSET 0) j;

-- A journal begins with the entry with which its job last continued as new, if there is a generation of it. What it published and
-- streamed before that (kinds 12 and 13) is there still, for those who ask for it, and nothing else.

-- What jobs remember and what was sent to them, $1, in one snapshot.
-- name: journals
SELECT t.place, false, m.seq, m.at, m.kind, m.codec, m.name, m.data, m.path, m.lease, m.ref, NULL::uuid, NULL::smallint, NULL::text, NULL::text
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.journal a WHERE a.id = t.id AND a.seq >= coalesce(
  (SELECT g.first FROM {schema}.generation g WHERE g.id = t.id), 0) ORDER BY a.seq) m
UNION ALL
SELECT t.place, true, m.seq, m.at, m.kind, m.codec, m.name, m.data, NULL, NULL, NULL, m.from_id, m.state, m.reason, m.error
FROM unnest($1::uuid[]) WITH ORDINALITY AS t (id, place)
CROSS JOIN LATERAL (SELECT * FROM {schema}.inbox a WHERE a.id = t.id ORDER BY a.seq) m;

-- How many entries and messages a job has: $1.
-- name: journal_sizes
SELECT coalesce((SELECT j.seq FROM {schema}.journal j WHERE j.id = $1::uuid ORDER BY j.seq DESC LIMIT 1)
  - coalesce((SELECT g.first FROM {schema}.generation g WHERE g.id = $1::uuid), 1) + 1, 0),
  (SELECT count(*) FROM {schema}.inbox m WHERE m.id = $1::uuid);

-- A page of entries: $1 job, $2 kinds or NULL, $3 name or NULL, $4 the seq to go on from, $5 limit, $6 whether what was before the job
-- last continued as new is asked for too, which is nothing but values and items of streams.
-- name: entries
SELECT seq, at, kind, codec, name, data, path, lease, ref FROM {schema}.journal
WHERE id = $1::uuid AND ($2::int[] IS NULL OR kind = ANY ($2::int[])) AND ($3::text IS NULL OR name = $3::text)
  AND seq > greatest($4::bigint, CASE WHEN $6::boolean THEN 0 ELSE
    (SELECT g.first FROM {schema}.generation g WHERE g.id = $1::uuid) - 1 END)
ORDER BY seq LIMIT $5::int;

-- name: entries_newest
SELECT seq, at, kind, codec, name, data, path, lease, ref FROM {schema}.journal
WHERE id = $1::uuid AND ($2::int[] IS NULL OR kind = ANY ($2::int[])) AND ($3::text IS NULL OR name = $3::text) AND seq < $4::bigint
  AND seq > coalesce(CASE WHEN $6::boolean THEN 0 ELSE
    (SELECT g.first FROM {schema}.generation g WHERE g.id = $1::uuid) - 1 END, 0)
ORDER BY seq DESC LIMIT $5::int;

-- The same of one kind, $2, that has an index by name.
-- name: entries_named
SELECT seq, at, kind, codec, name, data, path, lease, ref FROM {schema}.journal
WHERE id = $1::uuid AND kind = $2::int AND kind IN (8, 12, 13) AND name = $3::text
  AND seq > greatest($4::bigint, CASE WHEN $6::boolean THEN 0 ELSE
    (SELECT g.first FROM {schema}.generation g WHERE g.id = $1::uuid) - 1 END)
ORDER BY seq LIMIT $5::int;

-- name: entries_named_newest
SELECT seq, at, kind, codec, name, data, path, lease, ref FROM {schema}.journal
WHERE id = $1::uuid AND kind = $2::int AND kind IN (8, 12, 13) AND name = $3::text AND seq < $4::bigint
  AND seq > coalesce(CASE WHEN $6::boolean THEN 0 ELSE
    (SELECT g.first FROM {schema}.generation g WHERE g.id = $1::uuid) - 1 END, 0)
ORDER BY seq DESC LIMIT $5::int;
