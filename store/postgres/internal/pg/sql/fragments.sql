-- Pieces that several statements share. A claim record is k, and a job in it s: its id, and its
-- place from 1 on. The numbers of records, @records, are k.seq, and Claim of a store.Lease.

-- The jobs of a record.
-- fragment: slots
unnest(k.ids) WITH ORDINALITY AS s (id, place)

-- Whether the run of a slot has not ended.
-- fragment: slot_open
(k.done >> (s.place - 1)::int) & 1 = 0

-- The same of a record that has the job of a request q.
-- fragment: runs_asked
k.ids @> ARRAY[q.id]
    AND (k.done >> (array_position(k.ids, q.id) - 1)) & 1 = 0

-- Whether a lease, t, lives: its slot is open, and holds that job under that number. Numbers are
-- only kept in records of which one is not 1.
-- fragment: lease_lives
k.node = t.node AND k.seq = t.seq AND (k.done >> t.slot) & 1 = 0 AND k.ids[t.slot + 1] = t.id
  AND coalesce(k.leases[t.slot + 1], 1) = t.lease

-- Whether all leases of a group live. The runs of a batch come in groups, g, one for each claim
-- record: the mask of its slots, and the first and the last of its runs among the arrays of slots,
-- jobs and leases. So a group is one look at one row, and a run's group an array subscript instead
-- of a join.
-- fragment: group_lives
k.node = g.node AND k.seq = g.seq AND k.done & g.mask = 0 AND g.mask & ~k.all_slots = 0 AND NOT EXISTS (
  SELECT 1 FROM generate_series(g.first, g.last) i
  WHERE k.ids[(@slots)[i] + 1] IS DISTINCT FROM (@jobs)[i] OR coalesce(k.leases[(@slots)[i] + 1], 1) <> (@leases)[i]
)

-- Locks the records of groups, which come in the order of records. One row for each group: of one
-- that is not wholly live claimed_at is 0. done is what it will be.
-- fragment: locked_records
SELECT g.node, g.seq, g.mask, g.place, coalesce(c.claimed_at, 0) AS claimed_at, c.done | g.mask AS done, c.all_slots
FROM unnest(@nodes, @records, @masks, @first, @last) WITH ORDINALITY AS g (node, seq, mask, first, last, place)
LEFT JOIN LATERAL (
  SELECT k.claimed_at, k.done, k.all_slots FROM {schema}.claim k WHERE {{group_lives}} FOR UPDATE
) c ON true

-- Removes those of locked_records that are done. They are found between the first and the last
-- number of the batch as well as by a join: the planner may read the whole index for a join, which
-- is small when the plan is made, and large while a long transaction keeps what died.
-- fragment: emptied
DELETE FROM {schema}.claim k USING locked_records l
WHERE k.node = l.node AND k.seq = l.seq AND l.done = l.all_slots AND k.node = ANY (@nodes)
  AND k.seq >= (SELECT min(seq) FROM locked_records) AND k.seq <= (SELECT max(seq) FROM locked_records)

-- Sets the bits of the others, found in the same way.
-- fragment: marked
UPDATE {schema}.claim k SET done = l.done FROM locked_records l
WHERE k.node = l.node AND k.seq = l.seq AND l.done <> l.all_slots AND k.node = ANY (@nodes)
  AND k.seq >= (SELECT min(seq) FROM locked_records) AND k.seq <= (SELECT max(seq) FROM locked_records)

-- The slots of claim records that were locked, with their leases.
-- fragment: open_slots
SELECT k.node, k.seq, s.place - 1, s.id, coalesce(k.leases[s.place], 1)
FROM records k CROSS JOIN LATERAL {{slots}}

-- Whether a dead node holds something.
-- fragment: to_rescue
EXISTS (
  SELECT 1 FROM {schema}.node n WHERE n.dead_at IS NOT NULL AND EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = n.id OFFSET 0)
)

-- Whether nodes hold slots that are not alive and have no claim record.
-- fragment: grants_left
EXISTS (
  SELECT 1 FROM (SELECT DISTINCT a.node FROM {schema}.limit_grant a) g
  WHERE NOT EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = g.node AND n.dead_at IS NULL OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = g.node OFFSET 0)
)

-- The kind of the jobs of a lane, l, without the limit per key in which they count and the version
-- that they are bound to; the same of a; and the kind as nodes claim it, without the limit alone.
-- See store.LaneName.
-- fragment: kind_name
split_part(split_part(l.kind, '@', 1), chr(31), 1)

-- fragment: kind_name_of_a
split_part(split_part(a.kind, '@', 1), chr(31), 1)

-- fragment: claimed_kind
CASE WHEN strpos(l.kind, chr(31)) = 0 THEN l.kind ELSE regexp_replace(l.kind, chr(31) || '[^@]*', '') END

-- The limit per key in which the jobs of a lane, l, count; '' if there is none.
-- fragment: lane_limit
split_part(split_part(l.kind, '@', 1), chr(31), 2)

-- What runs of gates, those of asked: a row for each with how many they are. All records are
-- looked at that have gates.
-- fragment: live_gates
SELECT s.gate, count(*) AS n FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.gates) WITH ORDINALITY AS s (gate, place)
WHERE k.gates IS NOT NULL AND {{slot_open}} AND (s.gate IN (SELECT gate FROM looked)) IS TRUE
GROUP BY s.gate

-- The columns of a body that every answer with jobs has, in the order in which Go scans them.
-- fragment: body
b.created_at, b.lease, b.attempt, b.max_attempts, b.codec, b.args, b.options, b.tags, b.metadata,
  b.ordering_key, b.unique_key, b.unique_states, b.parent, b.link, b.closing

-- The effective priority of a row, h, of a range, r: its priority, one better for every @aging that
-- it has waited.
-- fragment: effective_priority
greatest(1, r.priority - coalesce(greatest(0, @now - h.run_at) / nullif(@aging, 0), 0))

-- New jobs that have no unique keys.
-- fragment: new_jobs
SELECT * FROM unnest(@ids, @lanes, @run_at, @max_attempts, @codecs, @args, @options, @tags,
  @metadata, @ordering_keys, @queues, @priorities, @parents, @links)
  AS t (id, lane, run_at, max_attempts, codec, args, options, tags, metadata, ordering_key, queue, priority, parent, link)

-- The run time and the namespace of the job with the id of t.
-- fragment: known_job
SELECT b.run_at, (
    SELECT q.namespace FROM {schema}.lane l, {schema}.queue q WHERE l.id = b.lane AND q.id = l.queue
  ) AS namespace
  FROM {schema}.job b WHERE b.id = t.id OFFSET 0

-- The entry with which a job last continued as new, and its journal begins; NULL if it never did.
-- fragment: generation
(SELECT g.first FROM {schema}.generation g WHERE g.id = @job)

-- The columns of an entry, in the order in which Go scans them.
-- fragment: entry
seq, at, kind, codec, name, data, path, lease, ref, took

-- What the audit says of the state of a job, as store/internal/audited does: of the number was, of
-- the number becomes, and of a job that waits, and whether for a person, which is for_person.
-- fragment: said_was
'{"state":"' || (ARRAY['scheduled', 'available', 'running', 'retryable', 'waiting', 'completed', 'failed', 'cancelled'])[was] || '"}'

-- fragment: said_becomes
'{"state":"' || (ARRAY['scheduled', 'available', 'running', 'retryable', 'waiting', 'completed', 'failed', 'cancelled'])[becomes] || '"}'

-- fragment: said_waits
CASE WHEN for_person THEN '{"state":"waiting","held":true}' ELSE '{"state":"waiting"}' END

-- The same of a job that was paused, or asked to if it runs.
-- fragment: said_paused
CASE WHEN was = {running} THEN '{"state":"running","asked":"pause"}' ELSE '{"state":"waiting","held":true}' END
