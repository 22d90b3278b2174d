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
-- all jobs of the claim may run, as nearly always: @wants are how many it has of each gate. Those
-- whose keys have a rate have a row, which tells that, what is kept of it, and the time. @limits
-- are the limits of the gates, each once, and @places where among them that of a gate is.
-- name: gates_look
-- params: @gates bigint[], @wants int[], @places int[], @limits text[], @namespace text
-- params: @kinds text[], @now bigint, @injected bigint
--
-- walk: rules, time: the limits that are per key, and by what clock their rates are counted.
-- walk: looked, live: the gates, and how many run. quiet: no job waits at any of them, and no key
-- walk:   has a rate: then nothing has to be looked at but gates that may be full, often none.
-- walk: asked: those, with what they let each key do. keys: where their rates stand.
-- walk: room: how many more may run. It is one union instead of a join, which would compare each
-- walk:   with each.
-- walk: lanes, fitting: of which lanes jobs wait there, and of those the ones that the claim takes.
-- walk: heads: the first jobs of each, of which as many count as may run. Of gates that nothing
-- walk:   bounds there are no more than a portion in all, and one of each at least.
WITH RECURSIVE rules AS MATERIALIZED (
  SELECT l.name, l.capacity, l.key_period, l.key_burst, l.updated_at FROM {schema}.limit_rule l
  WHERE l.namespace = @namespace AND l.name = ANY (@limits) AND (l.settings::json ->> 'per_key')::boolean
), time AS MATERIALIZED (
  SELECT {schema}.clock(@injected) AS now
), looked AS MATERIALIZED (
  SELECT t.gate, t.wants, t.place FROM unnest(@gates, @wants, @places) AS t (gate, wants, place)
), live AS MATERIALIZED (
  {{live_gates}}
), quiet AS MATERIALIZED (
  SELECT min(capacity) AS capacity, min(capacity) - (SELECT max(wants) FROM looked) AS spare FROM rules
  HAVING count(*) = cardinality(@limits) AND count(key_period) = 0 AND NOT CASE WHEN {{any_gated}} THEN EXISTS (
    SELECT 1 FROM looked t CROSS JOIN LATERAL (SELECT 1 FROM {schema}.gated g WHERE g.gate = t.gate LIMIT 1) g
  ) ELSE false END
), asked AS MATERIALIZED (
  SELECT t.gate, t.wants, r.capacity, r.key_period, r.key_burst, r.updated_at
  FROM looked t LEFT JOIN LATERAL (
    SELECT a.capacity, a.key_period, a.key_burst, a.updated_at FROM rules a WHERE a.name = (@limits)[t.place]
  ) r ON true
  WHERE NOT EXISTS (SELECT 1 FROM quiet) OR t.wants > (SELECT capacity FROM quiet)
    OR (t.gate IN (SELECT l.gate FROM live l WHERE l.n > (SELECT spare FROM quiet))) IS TRUE
), {{gate_keys}}
), room AS MATERIALIZED (
  {{gate_room}}
), {{gate_lanes}}
), fitting AS MATERIALIZED (
  SELECT x.gate, x.free, x.lane, l.priority, coalesce(x.free, greatest(1, {gate_portion} / cardinality(@gates))) AS most
  FROM lanes x CROSS JOIN LATERAL (
    SELECT l.queue, l.priority, {{claimed_kind}} AS kind FROM {schema}.lane l WHERE l.id = x.lane OFFSET 0
  ) l CROSS JOIN LATERAL (
    SELECT 1 FROM {schema}.queue q WHERE q.id = l.queue AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now OFFSET 0
  ) q WHERE l.kind = ANY (@kinds)
), heads AS MATERIALIZED (
  SELECT f.*, w.run_at, w.id, row_number() OVER (PARTITION BY f.gate ORDER BY f.priority, w.run_at, w.id) AS place
  FROM fitting f CROSS JOIN LATERAL (
    SELECT g.run_at, g.id FROM {schema}.gated g WHERE g.gate = f.gate AND g.lane = f.lane
    ORDER BY g.run_at, g.id LIMIT least(f.most, {gate_portion}) FOR UPDATE SKIP LOCKED
  ) w
)
SELECT r.gate, r.free, NULL::int AS priority, NULL::bigint AS run_at, NULL::uuid AS id, NULL::int AS lane,
  r.period, r.burst, r.since, r.tat, r.was, r.look_at, (SELECT now FROM time)
FROM room r WHERE r.free < r.wants OR r.period IS NOT NULL
UNION ALL
SELECT gate, free, priority, run_at, id, lane, NULL, NULL, NULL, NULL, NULL, NULL, 0 FROM heads WHERE place <= most
ORDER BY gate, priority NULLS FIRST, run_at, id;

-- Whether any job may wait at a gate. It looks at no more than a few pages: where an old snapshot
-- keeps the rows of jobs that have waited, to find out that none does now would read them all.
-- fragment: any_gated
(SELECT CASE WHEN pg_relation_size(format('%I.gated', {schema_name})::regclass) > 65536 THEN true ELSE EXISTS (SELECT 1 FROM {schema}.gated) END)

-- The lanes of the jobs that wait at the gates of room at which one may run, found by skipping from
-- each to the next.
-- fragment: gate_lanes
lanes AS (
  SELECT r.gate, r.free, g.lane FROM room r CROSS JOIN LATERAL (
    SELECT w.lane FROM {schema}.gated w WHERE {{any_gated}} AND w.gate = r.gate ORDER BY w.lane LIMIT 1
  ) g WHERE coalesce(r.free, 1) > 0
  UNION ALL
  SELECT x.gate, x.free, g.lane FROM lanes x CROSS JOIN LATERAL (
    SELECT w.lane FROM {schema}.gated w WHERE w.gate = x.gate AND w.lane > x.lane ORDER BY w.lane LIMIT 1
  ) g

-- Where the rates stand of those gates of asked whose keys have one (Stand in internal/gcra), and
-- how many permits there are by that.
-- fragment: gate_keys
keys AS MATERIALIZED (
  SELECT t.*, CASE WHEN period = 0 THEN 0 ELSE burst - (ahead + period - 1) / nullif(period, 0) END AS permits
  FROM (
    SELECT a.gate, a.key_period AS period, a.key_burst AS burst, a.updated_at AS since, k.tat, k.period AS was, k.look_at,
      CASE WHEN a.key_period = 0 OR coalesce(k.period, 0) = 0 THEN 0 ELSE least(greatest(CASE
        WHEN k.period = a.key_period THEN k.tat
        ELSE a.updated_at + least((greatest(k.tat - a.updated_at, 0) + k.period - 1) / nullif(k.period, 0), a.key_burst) * a.key_period
      END - (SELECT now FROM time), 0), a.key_burst * a.key_period) END AS ahead
    FROM asked a LEFT JOIN LATERAL (SELECT b.tat, b.period, b.look_at FROM {schema}.key_rate b WHERE b.gate = a.gate OFFSET 0) k ON true
    WHERE a.key_period IS NOT NULL
  ) t

-- How many more may run of asked, where so many of what was looked at live, and the keys that have
-- a rate have so many permits. NULL: nothing bounds that.
-- fragment: gate_room
SELECT gate, least((max(capacity) - sum(n))::bigint, max(permits)) AS free, max(period) AS period, max(burst) AS burst, max(since) AS since,
    max(tat) AS tat, max(was) AS was, max(look_at) AS look_at, max(ahead) AS ahead, max(wants) AS wants
  FROM (
    SELECT gate, capacity, 0 AS n, NULL::bigint AS permits, NULL::bigint AS period, NULL::bigint AS burst, NULL::bigint AS since,
      NULL::bigint AS tat, NULL::bigint AS was, NULL::bigint AS look_at, NULL::bigint AS ahead, wants FROM asked
    UNION ALL SELECT gate, NULL, n, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL FROM live WHERE EXISTS (SELECT 1 FROM asked)
    UNION ALL SELECT gate, NULL, 0, permits, period, burst, since, tat, was, look_at, ahead, NULL FROM keys
  ) t GROUP BY gate HAVING count(wants) > 0

-- Writes where the rates of gates stand, and when to look for jobs that wait there, 0: not because
-- of the rate. It is told of those that none does wait at any more.
-- name: key_rates_put
-- params: @gates bigint[], @tats bigint[], @periods bigint[], @look_at bigint[]
INSERT INTO {schema}.key_rate AS k (gate, tat, period, look_at)
SELECT t.gate, t.tat, t.period,
  CASE WHEN t.look_at > 0 AND EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.gate = t.gate OFFSET 0) THEN t.look_at END
FROM unnest(@gates, @tats, @periods, @look_at) AS t (gate, tat, period, look_at) ORDER BY t.gate
ON CONFLICT (gate) DO UPDATE SET tat = excluded.tat, period = excluded.period, look_at = excluded.look_at
RETURNING k.look_at;

-- When jobs are to be looked for that wait for the rate of their key.
-- name: key_rates_next
SELECT k.look_at FROM {schema}.key_rate k WHERE k.look_at IS NOT NULL ORDER BY k.look_at LIMIT 1;

-- The rate of a key, what is kept of it, and the time.
-- name: key_rate
-- params: @namespace text, @name text, @gate bigint, @injected bigint
SELECT l.key_period, l.key_burst, l.updated_at, k.tat, k.period, {schema}.clock(@injected)
FROM {schema}.limit_rule l
LEFT JOIN LATERAL (SELECT b.tat, b.period FROM {schema}.key_rate b WHERE b.gate = @gate OFFSET 0) k ON true
WHERE l.namespace = @namespace AND l.name = @name AND l.key_period IS NOT NULL;

-- Removes keys of which nothing has to be kept: their burst is whole, and no job waits for them.
-- name: key_rates_idle
-- params: @injected bigint, @limit int
DELETE FROM {schema}.key_rate WHERE ctid = ANY (ARRAY(
  SELECT k.ctid FROM {schema}.key_rate k
  WHERE k.look_at IS NULL AND k.tat <= (SELECT {schema}.clock(@injected)) LIMIT @limit FOR UPDATE SKIP LOCKED
)) RETURNING 1;

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
WHERE {{any_gated}} AND EXISTS (SELECT 1 FROM {schema}.gated g WHERE g.gate = t.gate OFFSET 0) RETURNING 1;

-- Asks that all gates at which jobs wait are looked at: a limit was changed, or a queue goes on.
-- name: gates_changed
INSERT INTO {schema}.gate_sweep AS w (id, at) VALUES ({gates_asked}, 1) ON CONFLICT (id) DO UPDATE SET at = w.at + 1;

-- Lets jobs go on, no more than a portion in all, where a note says that a gate may be free, where
-- the time has come at which the rate of a key lets one go, or, with @sweep, at the next gates
-- behind @after at which jobs wait; but none of queues that hand out nothing. Who ends a job may
-- look for those that wait just before they are there; so there is a sweep. It need not be exact:
-- claims judge again. Answers with what moved, and with a row that says whether there was too much,
-- and up to which gate the sweep has come, NULL if to the last one.
--
-- The portion is shared between the limits of which there are notes or keys whose time has come,
-- and the sweep: what one of them does not need the others get. So one that was deleted, of which
-- very many jobs go on, holds up no gate of another one.
-- name: hand_on_gates
-- params: @limit int, @sweep boolean, @after bigint, @now bigint, @injected bigint
--
-- walk: any_lane, open: the lanes of all that wait, and whether the queue of one hands out jobs.
-- walk: waiting: the next gates at which jobs wait.
-- walk: time: by the clock of the database, which the rates are counted by.
-- walk: checks, due: the other gates to be looked at.
-- walk: asked: those at which jobs wait, with what their limit lets each key do, NULL without one.
-- walk: keys, looked, live, room: as in gates_look.
-- walk: lanes, fitting: of which lanes jobs wait there, but for queues that hand out nothing; and
-- walk:   for whom a gate is looked at: its limit, or the sweep, which has no name. Those that
-- walk:   nothing bounds are never the sweep's.
-- walk: parties, shares: their gates, and how many jobs may go on for each of them. level is where
-- walk:   the water stands that fills them all.
-- walk: heads: the first that wait there, but for those that a caller's transaction has; gate by
-- walk:   gate, until there are as many as may go on.
-- walk: ends: up to which gate all has been done for a party. One from which all came that goes on
-- walk:   is done, though it may have more free slots than the party's share: those that went on
-- walk:   are not counted yet, so it would be found free again and again, until none waits. Claims
-- walk:   that take these let others go, as many as there are slots. But where nothing bounds them
-- walk:   all go on, and claims need not look.
-- walk: left_over: the gates behind that. What was noted of them is noted again, behind all other
-- walk:   notes, and keys stay. The sweep goes on with the others, but passes over those that
-- walk:   nothing bounds, of which notes are left instead, as long as there are few.
-- walk: consumed, kept, gone, now_ready: what is done with that.
-- walk: next, held, noted: when to look again at gates whose keys have a rate (Key.LookAt in
-- walk:   internal/gcra), and where that stands if it was counted by another clock or period. A row
-- walk:   that a claim has or had meanwhile is left to it, as it was not seen.
-- walk: over: keys whose time has come, and for which no job waits.
WITH RECURSIVE any_lane AS (
  (SELECT g.lane FROM {schema}.gated g WHERE @sweep ORDER BY g.lane LIMIT 1)
  UNION ALL
  SELECT n.lane FROM any_lane x CROSS JOIN LATERAL (
    SELECT g.lane FROM {schema}.gated g WHERE g.lane > x.lane ORDER BY g.lane LIMIT 1
  ) n
), open AS MATERIALIZED (
  SELECT EXISTS (
    SELECT 1 FROM any_lane x CROSS JOIN LATERAL (SELECT l.queue FROM {schema}.lane l WHERE l.id = x.lane OFFSET 0) l
    CROSS JOIN LATERAL (SELECT 1 FROM {schema}.queue q WHERE q.id = l.queue AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now OFFSET 0) q
  ) AS yes
), waiting AS (
  (SELECT g.gate, 1 AS place FROM {schema}.gated g WHERE (SELECT yes FROM open) AND g.gate > @after ORDER BY g.gate LIMIT 1)
  UNION ALL
  SELECT n.gate, w.place + 1 FROM waiting w CROSS JOIN LATERAL (
    SELECT g.gate FROM {schema}.gated g WHERE g.gate > w.gate ORDER BY g.gate LIMIT 1
  ) n WHERE w.place < {sweep_gates}
), time AS MATERIALIZED (
  SELECT {schema}.clock(@injected) AS now
), checks AS MATERIALIZED (
  SELECT c.ctid AS place, c.gate FROM {schema}.gate_check c ORDER BY c.seq LIMIT @limit FOR UPDATE SKIP LOCKED
), due AS MATERIALIZED (
  SELECT k.ctid AS place, k.gate FROM {schema}.key_rate k WHERE k.look_at <= (SELECT now FROM time)
  ORDER BY k.look_at LIMIT @limit FOR UPDATE SKIP LOCKED
), asked AS MATERIALIZED (
  SELECT t.gate, 0 AS wants, r.capacity, r.key_period, r.key_burst, r.updated_at
  FROM (SELECT gate FROM checks UNION SELECT gate FROM waiting UNION SELECT gate FROM due) t
  CROSS JOIN LATERAL (SELECT g.lane FROM {schema}.gated g WHERE g.gate = t.gate ORDER BY g.lane LIMIT 1) w
  CROSS JOIN LATERAL (SELECT l.queue, {{lane_limit}} AS name FROM {schema}.lane l WHERE l.id = w.lane OFFSET 0) l
  CROSS JOIN LATERAL (SELECT q.namespace FROM {schema}.queue q WHERE q.id = l.queue OFFSET 0) q
  LEFT JOIN LATERAL (
    SELECT a.capacity, a.key_period, a.key_burst, a.updated_at FROM {schema}.limit_rule a
    WHERE a.namespace = q.namespace AND a.name = l.name AND (a.settings::json ->> 'per_key')::boolean OFFSET 0
  ) r ON true
), {{gate_keys}}
), looked AS MATERIALIZED (
  SELECT gate FROM asked
), live AS MATERIALIZED (
  {{live_gates}}
), room AS MATERIALIZED (
  {{gate_room}}
), {{gate_lanes}}
), fitting AS MATERIALIZED (
  SELECT x.gate, min(x.free) AS free, array_agg(x.lane) AS lanes, min(q.namespace) AS namespace, min(l.name) AS name
  FROM (SELECT x.*, x.free IS NULL OR (x.gate IN (SELECT gate FROM checks UNION ALL SELECT gate FROM due)) IS TRUE AS noted FROM lanes x) x
  CROSS JOIN LATERAL (SELECT l.queue, CASE WHEN x.noted THEN {{lane_limit}} END AS name FROM {schema}.lane l WHERE l.id = x.lane OFFSET 0) l
  CROSS JOIN LATERAL (
    SELECT CASE WHEN x.noted THEN q.namespace END AS namespace FROM {schema}.queue q
    WHERE q.id = l.queue AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now OFFSET 0
  ) q GROUP BY x.gate
), parties AS MATERIALIZED (
  SELECT name IS NULL AS sweeps, bool_or(free IS NULL) AS unbounded, array_agg(gate ORDER BY gate) AS gates, array_agg(free ORDER BY gate) AS frees,
    array_agg(lanes::text ORDER BY gate) AS lanes, sum(least(coalesce(free, {gate_portion}), {gate_portion})) AS need
  FROM fitting GROUP BY namespace, name
), shares AS MATERIALIZED (
  SELECT p.*, CASE WHEN p.party <= {gate_portion} THEN greatest(p.level, 1) ELSE 0 END AS share FROM (
    SELECT p.*, max(greatest({gate_portion} - p.before, 0) / p.others) OVER () AS level FROM (
      SELECT p.*, row_number() OVER (ORDER BY need, gates) AS party,
        (sum(need) OVER (ORDER BY need, gates) - need)::bigint AS before,
        count(*) OVER () - row_number() OVER (ORDER BY need, gates) + 1 AS others
      FROM parties p
    ) p
  ) p
), heads AS MATERIALIZED (
  SELECT s.party, h.* FROM shares s CROSS JOIN LATERAL (
    SELECT r.gate, w.* FROM unnest(s.gates, s.frees, s.lanes) AS r (gate, free, lanes) CROSS JOIN LATERAL (
      SELECT w.* FROM unnest(r.lanes::int[]) AS f (lane) CROSS JOIN LATERAL (
        SELECT g.ctid AS place, g.priority, g.run_at, g.id, g.lane FROM {schema}.gated g WHERE g.gate = r.gate AND g.lane = f.lane
        ORDER BY g.run_at, g.id LIMIT least(r.free, s.share) FOR UPDATE SKIP LOCKED
      ) w ORDER BY w.priority, w.run_at, w.id LIMIT least(r.free, s.share)
    ) w LIMIT s.share
  ) h
), ends AS MATERIALIZED (
  SELECT max(gates) AS gates, bool_or(sweeps) AS sweeps, bool_or(unbounded) AS unbounded, count(gate) AS let, max(gate) AS gate,
    CASE WHEN count(gate) < max(share) THEN {never} WHEN max(share) = 0 THEN -{never}
      WHEN min(gate) = max(gate) AND NOT bool_or(unbounded) THEN max(gate) ELSE max(gate) - 1 END AS stop
  FROM (
    SELECT party, share, gates, sweeps, unbounded, NULL::bigint AS gate FROM shares
    UNION ALL SELECT party, NULL, NULL, NULL, NULL, gate FROM heads
  ) t GROUP BY party
), left_over AS MATERIALIZED (
  SELECT l.*, l.noted OR l.unbounded AND NOT l.due AND (SELECT count(*) FROM checks) < @limit / 2 AS kept FROM (
    SELECT g.gate, e.sweeps, e.unbounded, (g.gate IN (SELECT gate FROM checks)) IS TRUE AS noted, (g.gate IN (SELECT gate FROM due)) IS TRUE AS due
    FROM ends e CROSS JOIN LATERAL unnest(e.gates) AS g (gate) WHERE g.gate > e.stop
  ) l
), consumed AS (
  DELETE FROM {schema}.gate_check WHERE ctid = ANY (ARRAY(SELECT place FROM checks))
), kept AS (
  INSERT INTO {schema}.gate_check (gate) SELECT gate FROM left_over WHERE kept
), gone AS (
  DELETE FROM {schema}.gated WHERE ctid = ANY (ARRAY(SELECT place FROM heads))
), now_ready AS (
  INSERT INTO {schema}.ready (lane, run_at, id) SELECT lane, run_at, id FROM heads
), next AS MATERIALIZED (
  SELECT gate, tat, was, look_at, period > 0 AND (was <> period OR tat > now + ahead) AS moved, now + ahead AS stands, period,
    CASE WHEN let < free OR ahead + (let - burst + 1) * period <= 0 OR period = 0 THEN NULL
      ELSE now + greatest(ahead + (let - burst + 1) * period, CASE WHEN let > 0 THEN {sweep_after} ELSE 0 END)
    END AS again
  FROM (
    SELECT t.gate, min(t.free) AS free, max(t.period) AS period, max(t.burst) AS burst, max(t.tat) AS tat, max(t.was) AS was,
      max(t.look_at) AS look_at, max(t.ahead) AS ahead, sum(t.let)::bigint AS let, (SELECT now FROM time) AS now
    FROM (
      SELECT gate, greatest(least(free, {gate_portion}), 0) AS free, period, burst, tat, was, look_at, ahead, 0 AS let
      FROM room WHERE period IS NOT NULL
      UNION ALL SELECT gate, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1 FROM heads WHERE EXISTS (SELECT 1 FROM keys)
      UNION ALL SELECT stop, let, NULL, NULL, NULL, NULL, NULL, NULL, 0 FROM ends WHERE stop = gate
    ) t GROUP BY t.gate HAVING max(t.period) IS NOT NULL
  ) t WHERE tat IS NOT NULL AND (gate IN (SELECT gate FROM left_over)) IS NOT TRUE
), held AS MATERIALIZED (
  SELECT k.gate, n.again, CASE WHEN n.moved THEN n.stands ELSE n.tat END AS tat, CASE WHEN n.moved THEN n.period ELSE n.was END AS period,
    n.tat AS was_tat, n.look_at AS was_look_at
  FROM next n CROSS JOIN LATERAL (
    SELECT b.gate FROM {schema}.key_rate b WHERE b.gate = n.gate AND b.tat = n.tat AND b.look_at IS NOT DISTINCT FROM n.look_at
    FOR UPDATE SKIP LOCKED
  ) k WHERE n.again IS DISTINCT FROM n.look_at OR n.moved
), noted AS (
  UPDATE {schema}.key_rate k SET look_at = h.again, tat = h.tat, period = h.period FROM held h
  WHERE k.gate = h.gate AND k.tat = h.was_tat AND k.look_at IS NOT DISTINCT FROM h.was_look_at
), over AS (
  UPDATE {schema}.key_rate k SET look_at = NULL
  WHERE k.ctid = ANY (ARRAY(
    SELECT d.place FROM due d WHERE (d.gate IN (SELECT gate FROM left_over UNION ALL SELECT gate FROM next)) IS NOT TRUE
  ))
)
SELECT l.cut, CASE WHEN l.gate IS NOT NULL THEN l.gate - 1 WHEN w.places = {sweep_gates} THEN w.last END, h.id, h.lane, h.run_at
FROM (SELECT count(*) > 0 AS cut, min(gate) FILTER (WHERE NOT kept AND NOT due) AS gate FROM left_over) l
CROSS JOIN (SELECT max(gate) AS last, count(*) AS places FROM waiting) w LEFT JOIN heads h ON true;

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
