-- Ends of runs, and what else is written under a lease.
--
-- The leases of a batch come in groups, one for each claim record; see {{group_lives}} and
-- {{locked_records}}.

-- Plain completions, the fast path. All or nothing.
-- name: complete
-- params: @nodes bigint[], @records bigint[], @masks bigint[], @first int[], @last int[]
-- params: @slots int[], @jobs uuid[], @leases bigint[], @results bytea[], @codecs int[]
-- params: @started_at bigint[], @groups int[], @now bigint
WITH locked_records AS MATERIALIZED (
  {{locked_records}}
), emptied AS (
  {{emptied}}
), marked AS (
  {{marked}}
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, started_at, result, codec)
  SELECT r.id, {completed}, @now, r.lease, a.nodes[r.place], a.claimed_at[r.place], r.started_at, r.result, r.codec
  FROM unnest(@jobs, @leases, @results, @codecs, @started_at, @groups) AS r (id, lease, result, codec, started_at, place),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM locked_records) a
)
SELECT CASE WHEN min(claimed_at) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM locked_records;

-- Every other end: by its run, by the leave of its node, by a rescue, or by a person. All or
-- nothing. Answers with what became of each run.
--
-- What a run asks for is its state and run time; of one that parks the run time is when it is woken
-- at the latest. Traits are bits, which sql.go explains. Of runs that park there is also: the
-- last message that they know (@seen), the kinds that wake them, the message that is enough, their
-- time limit, and what they wait for.
-- name: conclude
-- params: @nodes bigint[], @records bigint[], @masks bigint[], @first int[], @last int[]
-- params: @slots int[], @jobs uuid[], @leases bigint[], @groups int[], @states int[]
-- params: @run_at bigint[], @reasons text[], @errors text[], @traces text[], @results bytea[]
-- params: @codecs int[], @fingerprints bigint[], @started_at bigint[], @reported boolean, @now bigint
-- params: @traits int[], @versions text[]
-- params: @seen bigint[], @kinds int[], @enough bigint[], @until bigint[], @waits_for text[]
--
-- walk: Decides what becomes of each run, and then writes it everywhere at once.
-- walk: locked_records, emptied, marked: the claim records, in their order. If bodies are changed
-- walk:   lock_claims and lock_bodies have locked both before, in this order, so that only
-- walk:   requests, unique keys and turns are locked after the bodies. If a lease is lost the last
-- walk:   lines fail the whole.
-- walk: runs: the runs as Go sent them, each with the node and the claim time of its group.
-- walk: judged: what is known of each job, and its final state. A request to pause is locked, so
-- walk:   that it is either forgotten or applied; none is looked for if there are none.
-- walk: fates: what is to be written of each run, by the ids of the jobs: in that order bodies
-- walk:   change.
-- walk: ended: the finished row, if that is the end of the job; with its lane, if it did not
-- walk:   complete.
-- walk: recorded: the attempt, of everything but a completion, a park, and a job that starts over.
-- walk: put_back: the body, if the job goes on.
-- walk: at_once, later: its pointer. What goes on keeps the turn of its ordering key, so never in
-- walk:   keyed. A held job is deferred for ever, and remembers what it was: was_state, was_due,
-- walk:   was_run_at.
-- walk: released: its unique key, unless it has it in its new state; one that waits counts as
-- walk:   running.
-- walk: freed, checks: the turn of its ordering key, if it has finished, with a note for who hands
-- walk:   it on.
-- walk: gate_checks: notes of gates at which jobs wait, and of which runs have ended.
-- walk: succeeded: a note of a job that has finished, if others come after it.
-- walk: answered, forgotten, noted: requests. A cancel is done with the job, a pause with the run;
-- walk:   of a cancel that goes on it is noted that a run has seen it.
WITH locked_records AS MATERIALIZED (
  {{locked_records}}
), emptied AS (
  {{emptied}}
), marked AS (
  {{marked}}
), runs AS MATERIALIZED (
  SELECT r.*, r.traits & {durable} <> 0 AS durable, a.nodes[r.place] AS node, a.claimed_at[r.place] AS claimed_at
  FROM unnest(@jobs, @leases, @groups, @states, @run_at, @reasons, @errors, @traces, @results, @codecs, @fingerprints, @started_at,
      @traits, @versions, @seen, @kinds, @enough, @until, @waits_for)
    WITH ORDINALITY AS r (id, lease, place, state, run_at, reason, error, trace, result, codec, fingerprint, started_at,
      traits, version, seen, kinds, enough, until, waits_for, run),
    (SELECT array_agg(node ORDER BY place) AS nodes, array_agg(claimed_at ORDER BY place) AS claimed_at FROM locked_records) a
), judged AS MATERIALIZED (
  SELECT r.*, b.lane AS own_lane, b.attempt, b.ordering_key, b.unique_key, b.unique_states, b.due, b.deadline, b.has_successors, b.keeps_turn, l.queue,
    c.cancel_applies, c.cancel_words, p.pause_requested, p.pause_words,
    p.pause_requested AND c.cancel_requested IS NULL AND NOT (r.state = {waiting} AND r.traits & {held} <> 0) AS pause_applies,
    CASE WHEN r.version IS NULL THEN b.lane ELSE coalesce((
      SELECT v.id FROM {schema}.lane v
      WHERE v.queue = l.queue AND v.kind = split_part(l.kind, '@', 1) || '@' || r.version AND v.priority = l.priority
    ), b.lane) END AS lane, -- that of the version, if the job is to be bound to one
    -- A copy of the rule of store.Ending.Meet in store/verdict.go, which SQLite and the model use;
    -- but for NOT @reported: that a requested cancel also comes before the failure of a run that
    -- was lost and is not retried. They see to that before they ask Meet, which is told of a retry
    -- then (rescueJob in store/sqlite/internal/tend/rescue.go). The times of the rule are in fates.
    -- TestConformance holds all of them to tables of all combinations, of reported ends and of lost
    -- runs: in store/storetest/durable, ending_table.go and ending_lost.go.
    CASE -- the first that is true
      -- A job with a journal is given the chance to end itself, once: not if the run knew, or if it
      -- cannot be replayed.
      WHEN c.cancel_applies AND r.durable AND r.state < {finished} AND r.traits & {cancel_seen|contradicts} = 0 THEN {available}
      -- All others are cancelled, but for an end that the run itself reports.
      WHEN c.cancel_applies AND NOT r.durable AND (r.state < {finished} OR NOT @reported) THEN {cancelled}
      WHEN r.state >= {finished} THEN r.state
      -- The next run would be too late. Durable ones are woken for it.
      WHEN r.state IN ({scheduled}, {retryable}) AND NOT r.durable AND b.deadline <= r.run_at THEN {failed}
      WHEN p.pause_requested AND c.cancel_requested IS NULL THEN {waiting}
      ELSE r.state
    END AS final
  FROM runs r
  CROSS JOIN LATERAL (
    SELECT j.lane, j.attempt, j.ordering_key, j.unique_key, j.unique_states, j.run_at AS due, j.closing,
      j.link & {successors} <> 0 AS has_successors,
      CASE WHEN j.ordering_key IS NOT NULL THEN j.options ->> 'keep_turn' END IS NOT NULL AS keeps_turn,
      CASE WHEN j.closing IS NULL THEN (extract(epoch FROM (j.options ->> 'deadline')::timestamptz) * 1000000)::bigint END AS deadline
    FROM {schema}.job j WHERE j.id = r.id OFFSET 0
  ) b
  CROSS JOIN LATERAL (SELECT a.queue, a.kind, a.priority FROM {schema}.lane a WHERE a.id = b.lane OFFSET 0) l
  LEFT JOIN LATERAL (
    SELECT true AS cancel_requested, b.closing IS NULL AS cancel_applies, q.reason AS cancel_words
    FROM {schema}.cancel_request q WHERE q.id = r.id OFFSET 0
  ) c ON true
  LEFT JOIN LATERAL (
    SELECT true AS pause_requested, q.reason AS pause_words FROM {schema}.pause_request q
    WHERE q.id = r.id AND (SELECT EXISTS (SELECT 1 FROM {schema}.pause_request)) FOR UPDATE
  ) p ON true
), fates AS MATERIALIZED (
  SELECT id, lease, run, node, claimed_at, started_at, trace, result, codec, lane, own_lane, queue, ordering_key, unique_key, unique_states,
    final, due, has_successors, keeps_turn, pause_requested, pause_applies, pause_words, state, traits, seen, kinds, enough, until, waits_for,
    cancel_applies AND final < {finished} AND traits & {cancel_seen} <> 0 AS note_cancel_seen,
    final = {waiting} AND (pause_applies OR traits & {held} <> 0) IS TRUE AS is_held,
    CASE
      WHEN final = {available} AND traits & {keeps_place} <> 0 THEN due
      WHEN final = {available} THEN @now
      WHEN final = {waiting} AND (pause_applies OR traits & {held} <> 0) THEN {never}
      WHEN final IN ({scheduled}, {retryable}) AND durable AND (cancel_applies AND traits & {cancel_seen|contradicts} <> 0) IS NOT TRUE
        OR final = {waiting} THEN least(run_at, deadline)
      WHEN final < {finished} THEN run_at
    END AS run_at,
    CASE WHEN state IN ({scheduled}, {retryable}) THEN CASE WHEN durable THEN least(run_at, deadline) ELSE run_at END END AS was_due,
    attempt + 1 AS number,
    attempt + CASE WHEN final >= {finished} OR state IN ({retryable}, {failed}) AND traits & {free} = 0 THEN 1 ELSE 0 END AS attempt,
    CASE
      WHEN final = {cancelled} AND state <> {cancelled} THEN 'cancelled'
      WHEN final = {failed} AND state <> {failed} THEN 'deadline'
      ELSE reason
    END AS reason,
    CASE WHEN final = {cancelled} AND state <> {cancelled} THEN cancel_words ELSE error END AS error,
    CASE WHEN final = {failed} AND state = {failed} THEN fingerprint END AS fingerprint
  FROM judged ORDER BY id
), ended AS (
  INSERT INTO {schema}.finished (id, state, finished_at, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec,
    lane)
  SELECT id, final, @now, lease, node, claimed_at, started_at, reason, error, fingerprint, result, codec,
    CASE WHEN final <> {completed} THEN own_lane END
  FROM fates WHERE final >= {finished}
), recorded AS (
  INSERT INTO {schema}.attempt (id, lease, node, claimed_at, started_at, ended_at, attempt, outcome, reported, reason, error, trace, lost)
  SELECT id, lease, node, claimed_at, started_at, @now, number, final, @reported, reason, error, trace,
    CASE WHEN traits & {lost} <> 0 THEN true END
  FROM fates WHERE final > {completed} OR final < {finished} AND state <> {waiting} AND traits & {continues} = 0
), put_back AS (
  UPDATE {schema}.job j SET run_at = f.run_at, lease = f.lease, attempt = f.attempt, lane = f.lane,
    remembers = CASE WHEN f.traits & {durable} <> 0 THEN true END,
    claimed_at = CASE WHEN f.state = {waiting} OR f.traits & {continues} <> 0 THEN f.claimed_at ELSE j.claimed_at END
  FROM fates f WHERE j.id = f.id AND f.final < {finished}
), at_once AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM fates WHERE final = {available}
), later AS (
  INSERT INTO {schema}.deferred (due, id, lane, state, ordering_key, since, held, was_state, was_due, was_run_at, reason, error, waits_for,
    seen, enough, until, kinds, failures, handed_over)
  SELECT run_at, id, lane, final, ordering_key, CASE WHEN final = {waiting} THEN @now END, CASE WHEN final = {waiting} THEN is_held END,
    CASE WHEN is_held THEN state END, CASE WHEN is_held THEN was_due END, CASE WHEN is_held THEN due END,
    CASE WHEN pause_applies THEN 'paused' WHEN final = {waiting} THEN nullif(reason, '') END,
    CASE WHEN pause_applies THEN pause_words WHEN final = {waiting} THEN nullif(error, '') END,
    CASE WHEN pause_applies IS NOT TRUE THEN waits_for END, CASE WHEN NOT is_held THEN seen END, CASE WHEN NOT is_held THEN enough END,
    CASE WHEN NOT is_held THEN until END, CASE WHEN NOT is_held THEN kinds END,
    CASE WHEN final = {waiting} AND NOT is_held THEN traits & {failures} <> 0 END,
    CASE WHEN final = {waiting} AND traits & {hands_over} <> 0 THEN CASE WHEN traits & {undoes} <> 0 THEN {handed_over_undo} ELSE {handed_over} END END
  FROM fates WHERE final IN ({scheduled}, {retryable}, {waiting})
), released AS (
  DELETE FROM {schema}.unique_key u USING fates f
  WHERE f.unique_key IS NOT NULL AND (f.unique_states >> CASE WHEN f.final = {waiting} THEN {running} ELSE f.final END) & 1 = 0
    AND u.key = f.unique_key AND u.id = f.id
), freed AS (
  DELETE FROM {schema}.key_holder k USING fates f
  WHERE f.final >= {finished} AND NOT (f.keeps_turn AND f.final = {failed}) AND f.ordering_key IS NOT NULL AND k.queue = f.queue AND k.ordering_key = f.ordering_key AND k.id = f.id
  RETURNING k.queue, k.ordering_key
), checks AS (
  INSERT INTO {schema}.key_check (queue, ordering_key) SELECT queue, ordering_key FROM freed
), gate_checks AS (
  INSERT INTO {schema}.gate_check (gate) SELECT DISTINCT g.gate FROM locked_records l
  CROSS JOIN LATERAL (
    SELECT s.gate FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.gates) WITH ORDINALITY AS s (gate, place)
    WHERE k.node = l.node AND k.seq = l.seq AND k.gates IS NOT NULL AND (l.mask >> (s.place - 1)::int) & 1 = 1 AND s.gate IS NOT NULL OFFSET 0
  ) g WHERE EXISTS (SELECT 1 FROM {schema}.gated w WHERE w.gate = g.gate OFFSET 0)
), succeeded AS (
  INSERT INTO {schema}.edge_check (predecessor) SELECT id FROM fates WHERE final >= {finished} AND has_successors
), answered AS (
  DELETE FROM {schema}.cancel_request q USING fates f WHERE f.final >= {finished} AND q.id = f.id
), forgotten AS (
  DELETE FROM {schema}.pause_request q USING fates f WHERE f.pause_requested AND q.id = f.id
), noted AS (
  UPDATE {schema}.cancel_request q SET seen = true FROM fates f WHERE f.note_cancel_seen AND q.id = f.id
)
SELECT f.run, f.final, f.reason, coalesce(f.run_at, f.due), f.lane
FROM (SELECT CASE WHEN min(claimed_at) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END AS fine FROM locked_records) l
JOIN fates f ON l.fine = 0;

-- Which leases live. Their records are locked, in order.
-- name: live_leases
-- params: @nodes bigint[], @records bigint[], @slots int[], @jobs uuid[], @leases bigint[]
SELECT t.place FROM (
  SELECT * FROM unnest(@nodes, @records, @slots, @jobs, @leases) WITH ORDINALITY AS t (node, seq, slot, id, lease, place)
  ORDER BY node, seq, slot
) t CROSS JOIN LATERAL (
  SELECT 1 FROM {schema}.claim k
  WHERE {{lease_lives}}
  FOR UPDATE
) c;

-- Locks claim records in order, for a batch that touches them in several statements.
-- name: lock_claims
-- params: @nodes bigint[], @records bigint[]
SELECT count(*) FROM (SELECT * FROM unnest(@nodes, @records) AS t (node, seq) ORDER BY node, seq) t
CROSS JOIN LATERAL (SELECT 1 FROM {schema}.claim k WHERE k.node = t.node AND k.seq = t.seq FOR UPDATE) c;

-- Outcomes that were applied before: by their finished row, by the attempt that they recorded, or,
-- if they leave neither, by a lease that the body knows of and that nothing else has ended. @states
-- are those of outcomes that leave neither, 0 of others.
-- name: outcomes_applied
-- params: @jobs uuid[], @leases bigint[], @nodes bigint[], @states int[]
SELECT t.place, coalesce(a.outcome, f.state, t.state)
FROM unnest(@jobs, @leases, @nodes, @states) WITH ORDINALITY AS t (id, lease, node, state, place)
LEFT JOIN LATERAL (
  SELECT b.outcome FROM {schema}.attempt b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.reported OFFSET 0
) a ON true
LEFT JOIN LATERAL (
  SELECT b.state FROM {schema}.finished b WHERE b.id = t.id AND b.lease = t.lease AND b.node = t.node AND b.state = {completed} OFFSET 0
) f ON true
WHERE a.outcome IS NOT NULL OR f.state IS NOT NULL OR t.state > 0
  AND EXISTS (SELECT 1 FROM {schema}.job j WHERE j.id = t.id AND j.lease >= t.lease OFFSET 0)
  AND NOT EXISTS (SELECT 1 FROM {schema}.attempt b WHERE b.id = t.id AND b.lease = t.lease OFFSET 0);

-- Checkpoints, in groups as above. All or nothing.
-- name: checkpoint
-- params: @nodes bigint[], @records bigint[], @masks bigint[], @first int[], @last int[]
-- params: @slots int[], @jobs uuid[], @leases bigint[], @percents float8[], @messages text[]
-- params: @values text[], @now bigint
WITH leases AS MATERIALIZED (
  SELECT g.place, coalesce(c.live, 0) AS live
  FROM unnest(@nodes, @records, @masks, @first, @last) WITH ORDINALITY AS g (node, seq, mask, first, last, place)
  LEFT JOIN LATERAL (
    SELECT 1 AS live FROM {schema}.claim k
    WHERE {{group_lives}} FOR UPDATE
  ) c ON true
), written AS (
  INSERT INTO {schema}.checkpoint (id, lease, percent, message, value, updated_at)
  SELECT id, lease, percent, message, value::json, @now
  FROM unnest(@jobs, @leases, @percents, @messages, @values) AS r (id, lease, percent, message, value)
  ON CONFLICT (id) DO UPDATE SET lease = excluded.lease, percent = excluded.percent, message = excluded.message,
    value = excluded.value, updated_at = excluded.updated_at
)
SELECT CASE WHEN min(live) > 0 THEN 0 ELSE {schema}.refuse('lease lost') END FROM leases;
