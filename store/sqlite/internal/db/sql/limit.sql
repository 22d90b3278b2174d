-- Limits, and how many slots of them nodes hold.

-- fragment: limit_columns
id, namespace, name, settings, declared, version, created_at, updated_at, wanted_at, period, burst, tat, move, drained_until

-- fragment: rate_columns
id, version, period, burst, tat, seen, move, drained_until

-- name: limit
SELECT {{limit_columns}} FROM holdfast_limit_rule WHERE namespace = ? AND name = ?;

-- name: limits
-- params: @any_namespace, @namespace, @any_name, @name
SELECT {{limit_columns}} FROM holdfast_limit_rule INDEXED BY holdfast_limit_rule_name
WHERE (@any_namespace OR namespace = @namespace) AND (@any_name OR name = @name)
ORDER BY namespace, name;

-- What nodes hold of a limit, and what they wish for if it is a fair one.
-- name: limit_wishes
SELECT node, held, want, want_at FROM holdfast_limit_grant WHERE rule = ? ORDER BY node;

-- The same of all limits.
-- name: limits_wishes
SELECT rule, node, held, want, want_at FROM holdfast_limit_grant ORDER BY rule, node;

-- name: limit_insert
-- params: @namespace, @name, @settings, @declared, @capacity, @unit, @version, @created_at, @updated_at, @key_period, @key_burst
INSERT INTO holdfast_limit_rule (namespace, name, settings, declared, capacity, unit, version, created_at, updated_at, key_period, key_burst)
VALUES (@namespace, @name, @settings, @declared, @capacity, @unit, @version, @created_at, @updated_at, @key_period, @key_burst);

-- name: limit_update
-- params: @settings, @declared, @capacity, @unit, @now, @key_period, @key_burst, @id
UPDATE holdfast_limit_rule SET settings = @settings, declared = @declared, capacity = @capacity, unit = @unit, updated_at = @now, version = version + 1,
  key_period = @key_period, key_burst = @key_burst WHERE id = @id;

-- Notes that slots of limits are wanted, unless that was noted a moment ago. The clock may have
-- been set back since then.
-- name: limits_wanted
-- params: @now, @ids, @before, @ahead
UPDATE holdfast_limit_rule SET wanted_at = @now
WHERE id IN (SELECT value FROM json_each(@ids)) AND (wanted_at IS NULL OR wanted_at <= @before OR wanted_at > @ahead);

-- name: limit_delete
DELETE FROM holdfast_limit_rule WHERE id = ?;

-- name: limit_grants_delete
DELETE FROM holdfast_limit_grant WHERE rule = ?;

-- What nodes hold of the limits with these ids: the others, and one of them, with the number of its
-- last call, NULL if it made none.
-- name: grants
-- params: @limits, @node
SELECT r.id, r.version, r.capacity, r.unit, coalesce(sum(g.held) FILTER (WHERE g.node <> n.node), 0),
  coalesce(sum(g.held) FILTER (WHERE g.node = n.node), 0), max(g.call) FILTER (WHERE g.node = n.node)
FROM json_each(@limits) i CROSS JOIN (SELECT @node AS node) n
CROSS JOIN holdfast_limit_rule r ON r.id = i.value
LEFT JOIN holdfast_limit_grant g ON g.rule = r.id
GROUP BY r.id;

-- How many slots of a limit no node holds.
-- name: limit_free
SELECT r.capacity - coalesce((SELECT sum(g.held) FROM holdfast_limit_grant g WHERE g.rule = r.id), 0)
FROM holdfast_limit_rule r WHERE r.namespace = ? AND r.name = ?;

-- @grants are limits, how many slots of each the node holds, and how many it wishes for.
-- name: grants_put
-- params: @node, @call, @now, @grants
INSERT INTO holdfast_limit_grant (rule, node, held, call, want, want_at)
SELECT i.value ->> 0, @node, i.value ->> 1, @call, i.value ->> 2, @now FROM json_each(@grants) i WHERE true
ON CONFLICT (rule, node) DO UPDATE SET held = excluded.held, call = excluded.call, want = excluded.want, want_at = excluded.want_at;

-- Whether there is something to sweep.
-- name: grants_left
SELECT 1 FROM (SELECT DISTINCT node FROM holdfast_limit_grant) g
WHERE NOT EXISTS (SELECT 1 FROM holdfast_node n WHERE n.id = g.node AND n.dead_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM holdfast_claim c WHERE c.node = g.node) LIMIT 1;

-- Removes what nodes hold that do not live and have no claim record.
-- name: grants_sweep
DELETE FROM holdfast_limit_grant AS g
WHERE NOT EXISTS (SELECT 1 FROM holdfast_node n WHERE n.id = g.node AND n.dead_at IS NULL)
  AND NOT EXISTS (SELECT 1 FROM holdfast_claim c WHERE c.node = g.node)
RETURNING rule, held;

-- Rates.

-- name: rate
SELECT {{rate_columns}} FROM holdfast_limit_rule WHERE id = ?;

-- name: rate_named
SELECT {{rate_columns}} FROM holdfast_limit_rule WHERE namespace = ? AND name = ?;

-- What limits say counts, of those with these ids.
-- name: limit_counts
SELECT namespace, settings FROM holdfast_limit_rule WHERE id = ?;

-- Whether a job of these queues and kinds is available. A lane's kind may be followed by a limit
-- per key and by a version.
-- name: waiting
-- params: @namespace, @now, @any_queue, @queues, @any_kind, @kinds
SELECT 1 FROM holdfast_queue q CROSS JOIN holdfast_lane l ON l.queue = q.id
WHERE q.namespace = @namespace AND q.paused_at IS NULL AND coalesce(q.rest_until, 0) <= @now AND (@any_queue OR q.name IN (SELECT value FROM json_each(@queues)))
  AND (@any_kind OR substr(l.kind, 1, min(instr(l.kind || '@', '@'), instr(l.kind || char(31), char(31))) - 1) IN (SELECT value FROM json_each(@kinds)))
  AND EXISTS (SELECT 1 FROM holdfast_ready r WHERE r.lane = l.id) LIMIT 1;

-- name: rate_put
-- params: @period, @burst, @tat, @seen, @move, @drained_until, @id
UPDATE holdfast_limit_rule SET period = @period, burst = @burst, tat = @tat, seen = @seen, move = @move, drained_until = @drained_until WHERE id = @id;

-- name: limit_name
SELECT namespace, name FROM holdfast_limit_rule WHERE id = ?;

-- For a copy into another database.

-- name: copy_limit_put
INSERT INTO holdfast_limit_rule (namespace, name, settings, declared, capacity, unit, version, created_at, updated_at, period, burst, tat, move, drained_until,
  key_period, key_burst)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (namespace, name) DO UPDATE SET settings = excluded.settings, declared = excluded.declared, capacity = excluded.capacity, unit = excluded.unit, version = excluded.version,
  created_at = excluded.created_at, updated_at = excluded.updated_at, period = excluded.period, burst = excluded.burst, tat = excluded.tat,
  drained_until = excluded.drained_until, move = max(move + 1, excluded.move), key_period = excluded.key_period, key_burst = excluded.key_burst;

-- Leaves those that are named by these pairs of a namespace and a name.
-- name: copy_limits_keep
DELETE FROM holdfast_limit_rule WHERE (namespace, name) NOT IN (SELECT value ->> 0, value ->> 1 FROM json_each(?));
