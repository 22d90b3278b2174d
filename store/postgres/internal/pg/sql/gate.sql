-- Limits per key: jobs that wait because as many run of their key as its limit lets.
--
-- A claim locks the rules of the limits that it needs, in one order, and looks at gates in a
-- statement after that, whose snapshot sees all that others have claimed who had the lock before.
-- Nothing else makes jobs run that count.

-- name: gate_rules_lock
-- params: @namespace text, @names text[]
SELECT l.id FROM {schema}.limit_rule l WHERE l.namespace = @namespace AND l.name = ANY (@names) ORDER BY l.id FOR NO KEY UPDATE;

-- What gates have: how many more may run, NULL if nothing bounds that, and as many of those that
-- wait there and that the claim may take, which are locked: a row for each, or one. Without a row
-- all jobs of the claim may run, as nearly always: @wants are how many it has of each gate. @names
-- are the limits of the gates, and @limits those names, each once.
-- name: gates_look
-- params: @gates bigint[], @wants int[], @names text[], @limits text[], @namespace text
-- params: @kinds text[], @now bigint
--
-- walk: rules: the limits that are per key. asked: the gates, with their capacities.
-- walk: live, room: how many run, and how many more may. It is one union instead of a join, which
-- walk:   would compare each with each.
WITH rules AS MATERIALIZED (
  SELECT l.name, l.capacity FROM {schema}.limit_rule l
  WHERE l.namespace = @namespace AND l.name = ANY (@limits) AND (l.settings::json ->> 'per_key')::boolean
), asked AS MATERIALIZED (
  SELECT t.gate, t.wants, r.capacity FROM unnest(@gates, @wants, @names) AS t (gate, wants, name) LEFT JOIN LATERAL (
    SELECT a.capacity FROM rules a WHERE a.name = t.name
  ) r ON true
), live AS MATERIALIZED (
  {{live_gates}}
), room AS MATERIALIZED (
  SELECT gate, (max(capacity) - sum(n))::bigint AS free, max(wants) AS wants FROM (
    SELECT gate, capacity, wants, 0 AS n FROM asked UNION ALL SELECT gate, NULL, NULL, n FROM live
  ) t GROUP BY gate
)
SELECT r.gate, r.free, h.priority, h.run_at, h.id, h.lane FROM room r LEFT JOIN LATERAL (
  SELECT w.priority, w.run_at, w.id, w.lane FROM {schema}.gated w
  WHERE (SELECT EXISTS (SELECT 1 FROM {schema}.gated)) AND w.gate = r.gate AND EXISTS (
    SELECT 1 FROM {schema}.lane l CROSS JOIN LATERAL (
      SELECT 1 FROM {schema}.queue q WHERE q.id = l.queue AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now OFFSET 0
    ) q WHERE l.id = w.lane AND {{claimed_kind}} = ANY (@kinds) OFFSET 0
  )
  ORDER BY w.priority, w.run_at, w.id LIMIT greatest(0, least(coalesce(r.free, {gate_portion}), {gate_portion})) FOR UPDATE OF w SKIP LOCKED
) h ON true
WHERE h.id IS NOT NULL OR r.free < r.wants;

-- Jobs that are to wait at their gates.
-- name: gated_put
-- params: @gates bigint[], @priorities int[], @run_at bigint[], @ids uuid[], @lanes int[]
INSERT INTO {schema}.gated (gate, priority, run_at, id, lane)
SELECT gate, priority, run_at, id, lane FROM unnest(@gates, @priorities, @run_at, @ids, @lanes) AS t (gate, priority, run_at, id, lane);

-- Jobs that wait no more. They are locked.
-- name: gated_out
-- params: @run_at bigint[], @ids uuid[], @lanes int[]
WITH gone AS (
  DELETE FROM {schema}.gated g USING unnest(@run_at, @ids, @lanes) AS t (run_at, id, lane)
  WHERE g.lane = t.lane AND g.run_at = t.run_at AND g.id = t.id RETURNING g.lane, g.run_at, g.id
)
INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM gone;

-- Jobs that a claim took and had no room for.
-- name: ready_again
-- params: @run_at bigint[], @ids uuid[], @lanes int[]
INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM unnest(@run_at, @ids, @lanes) AS t (run_at, id, lane);

-- Notes of gates that runs of theirs have ended, if jobs wait there. Answers with a row for each.
-- name: gates_freed
-- params: @gates bigint[]
INSERT INTO {schema}.gate_check (gate) SELECT t.gate FROM unnest(@gates) AS t (gate)
WHERE EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.gate = t.gate OFFSET 0) RETURNING 1;

-- The gates at which jobs wait, found by skipping from each to the next.
-- fragment: gates_waiting
waiting AS (
  (SELECT g.gate FROM {schema}.gated g WHERE @sweep ORDER BY g.gate LIMIT 1)
  UNION ALL
  SELECT n.gate FROM waiting w CROSS JOIN LATERAL (
    SELECT g.gate FROM {schema}.gated g WHERE g.gate > w.gate ORDER BY g.gate LIMIT 1
  ) n
)

-- Has all gates looked at, at which jobs wait: a limit was changed.
-- name: gates_changed
-- params: @sweep boolean
WITH RECURSIVE {{gates_waiting}}
INSERT INTO {schema}.gate_check (gate) SELECT gate FROM waiting;

-- Lets jobs go on where a note says that a gate may be free, or, with @sweep, wherever jobs wait.
-- Who ends a job may look for those that wait just before they are there; so there is a sweep. It
-- need not be exact: claims judge again. Answers with what moved, and with a row that counts the
-- notes.
-- name: hand_on_gates
-- params: @limit int, @sweep boolean
--
-- walk: checks, consumed, waiting: the gates to be looked at.
-- walk: asked: those at which jobs wait, with the capacity of their limit, NULL without one.
-- walk: live, room: as in gates_look.
-- walk: heads, gone, now_ready: the first that wait there, but for those that a caller's
-- walk:   transaction has.
WITH RECURSIVE {{gates_waiting}}, checks AS MATERIALIZED (
  SELECT c.ctid AS place, c.gate FROM {schema}.gate_check c ORDER BY c.seq LIMIT @limit FOR UPDATE SKIP LOCKED
), consumed AS (
  DELETE FROM {schema}.gate_check WHERE ctid = ANY (ARRAY(SELECT place FROM checks))
), asked AS MATERIALIZED (
  SELECT t.gate, r.capacity FROM (SELECT gate FROM checks UNION SELECT gate FROM waiting) t
  CROSS JOIN LATERAL (SELECT g.lane FROM {schema}.gated g WHERE g.gate = t.gate ORDER BY g.gate LIMIT 1) w
  CROSS JOIN LATERAL (SELECT l.queue, {{lane_limit}} AS name FROM {schema}.lane l WHERE l.id = w.lane OFFSET 0) l
  CROSS JOIN LATERAL (SELECT q.namespace FROM {schema}.queue q WHERE q.id = l.queue OFFSET 0) q
  LEFT JOIN LATERAL (
    SELECT a.capacity FROM {schema}.limit_rule a
    WHERE a.namespace = q.namespace AND a.name = l.name AND (a.settings::json ->> 'per_key')::boolean OFFSET 0
  ) r ON true
), live AS MATERIALIZED (
  {{live_gates}}
), room AS MATERIALIZED (
  SELECT gate, (max(capacity) - sum(n))::bigint AS free FROM (
    SELECT gate, capacity, 0 AS n FROM asked UNION ALL SELECT gate, NULL, n FROM live
  ) t GROUP BY gate
), heads AS MATERIALIZED (
  SELECT h.* FROM room r CROSS JOIN LATERAL (
    SELECT w.ctid AS place, w.run_at, w.id, w.lane FROM {schema}.gated w WHERE w.gate = r.gate
    ORDER BY w.priority, w.run_at, w.id LIMIT greatest(0, least(coalesce(r.free, {gate_portion}), {gate_portion})) FOR UPDATE SKIP LOCKED
  ) h
), gone AS (
  DELETE FROM {schema}.gated WHERE ctid = ANY (ARRAY(SELECT place FROM heads))
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM heads
)
SELECT c.checks, h.id, h.lane, h.run_at FROM (SELECT count(*) AS checks FROM checks) c LEFT JOIN heads h ON true;

-- Takes the turn to look at all gates, if no process has done so since @before; or the clock was
-- set back.
-- name: gates_turn
-- params: @now bigint, @before bigint, @ahead bigint
INSERT INTO {schema}.gate_sweep AS w (id, at) VALUES (1, @now)
ON CONFLICT (id) DO UPDATE SET at = @now WHERE w.at <= @before OR w.at > @ahead RETURNING 1;

-- The jobs that run of a gate.
-- name: gate_running
-- params: @gate bigint, @most bigint
SELECT k.ids[s.place] AS id FROM {schema}.claim k CROSS JOIN LATERAL unnest(k.gates) WITH ORDINALITY AS s (gate, place)
WHERE k.gates IS NOT NULL AND {{slot_open}} AND s.gate = @gate ORDER BY 1 LIMIT nullif(@most, 0);
