-- Limits, and how many slots of them nodes hold.

-- fragment: limit_columns
l.id, l.namespace, l.name, l.settings, l.declared, l.version, l.created_at, l.updated_at, l.wanted_at, l.period, l.burst, l.tat, l.move, l.drained_until

-- With those who hold slots of them, or have wished for more since: a row for each.
-- name: limits
-- params: @namespace text, @name text, @since bigint
SELECT {{limit_columns}}, g.node, g.held, g.want FROM {schema}.limit_rule l
LEFT JOIN LATERAL (
  SELECT a.node, a.held, CASE WHEN l.unit IS NOT NULL AND a.want_at > @since THEN a.want ELSE 0 END AS want
  FROM {schema}.limit_grant a WHERE a.rule = l.id OFFSET 0
) g ON g.held > 0 OR g.want > 0
WHERE (@namespace IS NULL OR l.namespace = @namespace) AND (@name IS NULL OR l.name = @name)
ORDER BY l.namespace, l.name, g.node;

-- name: limit_insert
-- params: @namespace text, @name text, @settings text, @declared text, @capacity bigint, @unit bigint, @now bigint
-- params: @key_period bigint, @key_burst bigint, @period bigint, @burst bigint
INSERT INTO {schema}.limit_rule AS l
  (namespace, name, settings, declared, capacity, unit, version, created_at, updated_at, key_period, key_burst, period, burst)
VALUES (@namespace, @name, @settings, @declared, @capacity, @unit, @now, @now, @now, @key_period, @key_burst, @period, @burst)
ON CONFLICT DO NOTHING RETURNING l.id;

-- name: limit_update
-- params: @namespace text, @name text, @settings text, @declared text, @capacity bigint, @unit bigint, @now bigint
-- params: @key_period bigint, @key_burst bigint, @expected bigint
UPDATE {schema}.limit_rule l SET settings = @settings, declared = @declared, capacity = @capacity, unit = @unit, updated_at = @now, version = l.version + 1,
  key_period = @key_period, key_burst = @key_burst
WHERE l.namespace = @namespace AND l.name = @name AND l.version = @expected RETURNING l.id;

-- Whether a limit is per key.
-- fragment: is_per_key
coalesce((l.settings::json ->> 'per_key')::boolean, false)

-- Rates.

-- fragment: rate_columns
l.id, l.version, l.period, l.burst, l.tat, l.seen, l.move, l.drained_until

-- Locks the rate of a limit, and reads it, and whether the limit is per key; rate_now tells the
-- time then.
-- name: rate_lock
-- params: @namespace text, @name text
SELECT {{rate_columns}}, {{is_per_key}} FROM {schema}.limit_rule l WHERE l.namespace = @namespace AND l.name = @name FOR NO KEY UPDATE;

-- name: rate_now
-- params: @injected bigint
SELECT {schema}.clock(@injected);

-- name: rate_put
-- params: @id bigint, @period bigint, @burst bigint, @tat bigint, @seen bigint, @move bigint, @drained bigint
UPDATE {schema}.limit_rule l SET period = @period, burst = @burst, tat = @tat, seen = @seen, move = @move, drained_until = @drained
WHERE l.id = @id;

-- Locks the limits whose permits are asked for. It may wait; permits, a statement of its own, sees
-- what others have committed until then, and a later time than they did.
-- name: permits_lock
-- params: @limits bigint[]
SELECT l.id FROM {schema}.limit_rule l WHERE l.id = ANY (@limits) ORDER BY l.id FOR NO KEY UPDATE;

-- Takes permits, and gives some back, as store.RateState does: a row for each limit that has a rate
-- and the version that is known. The times are from now on.
-- name: permits
-- params: @limits bigint[], @versions bigint[], @wants bigint[], @aheads bigint[], @backs bigint[], @moves bigint[], @injected bigint
WITH clock AS MATERIALIZED (
  SELECT {schema}.clock(@injected) AS now
), asked AS MATERIALIZED (
  SELECT c.now, t.id, t.want, t.ahead, l.period, l.burst, l.seen, l.move, l.tat - greatest(l.seen - c.now, 0) - b.back AS tat, b.back
  FROM clock c CROSS JOIN unnest(@limits, @versions, @wants, @aheads, @backs, @moves) AS t (id, version, want, ahead, back, move)
  CROSS JOIN LATERAL (
    SELECT r.period, r.burst, r.seen, r.move, r.tat FROM {schema}.limit_rule r WHERE r.id = t.id AND r.version = t.version AND r.period IS NOT NULL OFFSET 0
  ) l
  CROSS JOIN LATERAL (SELECT CASE WHEN t.move = l.move THEN t.back * l.period ELSE 0 END AS back) b
), given AS MATERIALIZED (
  SELECT a.*, greatest(a.tat, a.now) AS base, CASE WHEN a.period > 0 THEN
    greatest(0, least(a.want, a.burst + floor((a.now + a.ahead - greatest(a.tat, a.now))::numeric / a.period)::bigint)) ELSE 0 END AS n
  FROM asked a
), result AS MATERIALIZED (
  SELECT g.*, CASE WHEN g.n > 0 THEN g.base + g.n * g.period ELSE g.tat END AS after, g.n > 0 OR g.back > 0 OR g.seen > g.now AS changed FROM given g
), changed AS (
  UPDATE {schema}.limit_rule u SET tat = g.after, seen = g.now, move = u.move + 1 FROM result g WHERE u.id = g.id AND g.changed
)
SELECT g.id, g.n, g.base - g.now, g.period, g.burst, greatest(greatest(g.after, g.now) - (g.burst - 1) * g.period - g.now, 0),
  g.move + CASE WHEN g.changed THEN 1 ELSE 0 END
FROM result g;

-- So that no node is given slots of it any more. Answers whether it is per key, too.
-- name: limit_lock
-- params: @namespace text, @name text
SELECT l.id, {{is_per_key}} FROM {schema}.limit_rule l WHERE l.namespace = @namespace AND l.name = @name FOR UPDATE;

-- name: limit_holders
-- params: @id bigint
SELECT g.node, g.held FROM {schema}.limit_grant g WHERE g.rule = @id AND g.held > 0 ORDER BY g.node;

-- Notes that slots of it are wanted.
-- name: limit_wanted
-- params: @id bigint, @now bigint, @before bigint
UPDATE {schema}.limit_rule l SET wanted_at = @now WHERE l.id = @id AND (l.wanted_at IS NULL OR l.wanted_at <= @before OR l.wanted_at > @now);

-- name: limit_delete
-- params: @id bigint
WITH grants AS (DELETE FROM {schema}.limit_grant g WHERE g.rule = @id)
DELETE FROM {schema}.limit_rule l WHERE l.id = @id;

-- Locks the node, if it is alive, and then the limits that are asked about. It may wait for both;
-- what others have committed until it has them is seen by grant, a statement of its own.
-- name: limits_lock
-- params: @node bigint, @limits bigint[]
WITH alive AS MATERIALIZED (
  SELECT n.id FROM {schema}.node n WHERE n.id = @node AND n.dead_at IS NULL FOR KEY SHARE
)
SELECT l.id FROM {schema}.limit_rule l WHERE l.id = ANY (@limits) AND EXISTS (SELECT 1 FROM alive)
ORDER BY l.id FOR NO KEY UPDATE;

-- The part of a node, @node, in the fair limit t, as store.Part says it: the rounds that all get
-- which want more, and what is left then for those whose ids come first.
-- fragment: fair_part
(
  SELECT least(t.capacity, e.even + greatest(0, least(t.unit,
      t.capacity - sum(least(e.want, e.even))
      - coalesce(sum(least(t.unit, greatest(e.want - e.even, 0))) FILTER (WHERE e.node < @node), 0)
    ))::bigint)
  FROM (
    SELECT s.node, s.want,
      max(greatest(t.capacity - s.before, 0) / (s.others * t.unit)) OVER () * t.unit AS even
    FROM (
      SELECT w.node, w.want, count(*) OVER (ORDER BY w.want DESC, w.node DESC) AS others,
        (sum(w.want) OVER (ORDER BY w.want, w.node) - w.want)::bigint AS before
      FROM (
        SELECT @node AS node, t.capacity AS want
        UNION ALL
        SELECT b.node, greatest(b.held, CASE WHEN b.want_at > @since THEN b.want ELSE 0 END)
        FROM {schema}.limit_grant b WHERE b.rule = t.id AND b.node <> @node
      ) w WHERE w.want > 0 OR w.node = @node
    ) s
  ) e
  GROUP BY e.even
)

-- Gives the node slots: what it wants as far as others leave any, and what it keeps in any case. Of
-- a fair limit no more than its part, and notes what it wishes for. Answers a row for each limit
-- that has the version which the node knows, unless it has made a later call; and one with NULLs if
-- there is none. No row: the node is not alive. Limits of which it gets less than it wants are
-- noted as wanted, unless they were a moment ago.
--
-- The commit waits for the disk only if the node gets slots of some limit. Who takes what another
-- one has given back commits after that one, and the log is in the order of the commits. Of what it
-- gives back the same commit tells the others, if there is a channel.
-- name: grant
-- params: @node bigint, @call bigint, @limits bigint[], @versions bigint[], @keeps bigint[], @wants bigint[]
-- params: @now bigint, @before bigint, @since bigint, @channel text, @origin text
WITH alive AS MATERIALIZED (
  SELECT n.id FROM {schema}.node n WHERE n.id = @node AND n.dead_at IS NULL
), asked AS MATERIALIZED (
  SELECT t.id, t.keep, t.want, l.capacity, l.unit, l.namespace, l.name, coalesce(o.held, 0) AS others, h.held AS had, h.call
  FROM alive a CROSS JOIN unnest(@limits, @versions, @keeps, @wants) AS t (id, version, keep, want)
  CROSS JOIN LATERAL (
    SELECT b.capacity, b.unit, b.namespace, b.name FROM {schema}.limit_rule b WHERE b.id = t.id AND b.version = t.version OFFSET 0
  ) l
  CROSS JOIN LATERAL (
    SELECT sum(b.held)::bigint AS held FROM {schema}.limit_grant b WHERE b.rule = t.id AND b.node <> @node
  ) o
  LEFT JOIN LATERAL (
    SELECT b.held, b.call FROM {schema}.limit_grant b WHERE b.rule = t.id AND b.node = @node OFFSET 0
  ) h ON true
), parted AS MATERIALIZED (
  SELECT t.*, CASE WHEN t.unit IS NOT NULL THEN {{fair_part}} END AS part FROM asked t
), given AS (
  INSERT INTO {schema}.limit_grant AS g (rule, node, held, call, want, want_at)
  SELECT t.id, @node, greatest(t.keep, least(t.want, t.part, t.capacity - t.others), 0), @call,
    CASE WHEN t.unit IS NULL THEN 0 ELSE t.want END, @now
  FROM parted t WHERE t.call IS NULL OR t.call < @call ORDER BY t.id
  ON CONFLICT (rule, node) DO UPDATE SET held = excluded.held, call = excluded.call, want = excluded.want, want_at = excluded.want_at
  WHERE g.call < excluded.call
  RETURNING g.rule, g.held
), wanted AS (
  UPDATE {schema}.limit_rule r SET wanted_at = @now
  WHERE r.id = ANY (ARRAY(
    SELECT t.id FROM parted t CROSS JOIN LATERAL (SELECT b.held FROM given b WHERE b.rule = t.id) g WHERE g.held < t.want
  )) AND (r.wanted_at IS NULL OR r.wanted_at <= @before OR r.wanted_at > @now)
), lightly AS MATERIALIZED (
  SELECT CASE WHEN NOT EXISTS (
    SELECT 1 FROM given g CROSS JOIN LATERAL (SELECT b.had FROM parted b WHERE b.id = g.rule) h WHERE g.held > coalesce(h.had, 0)
  ) THEN set_config('synchronous_commit', 'off', true) END AS setting
), told AS MATERIALIZED (
  SELECT t.id, pg_notify(@channel, json_build_object('o', @origin, 'k', {wake_slots_free}, 'n', t.namespace, 'q', t.name)::text) AS at
  FROM parted t CROSS JOIN LATERAL (SELECT b.held FROM given b WHERE b.rule = t.id) g WHERE @channel <> '' AND g.held < t.had
)
SELECT t.id, t.capacity, t.others, t.held, t.part, t.told FROM alive a CROSS JOIN lightly LEFT JOIN (
  SELECT t.id, t.capacity, t.others, g.held, t.part, (SELECT true FROM told b WHERE b.id = t.id) AS told
  FROM parted t CROSS JOIN LATERAL (SELECT b.held FROM given b WHERE b.rule = t.id) g
  UNION ALL
  SELECT t.id, t.capacity, t.others, t.had, t.part, NULL FROM parted t WHERE t.call = @call
) t ON true;

-- Deletes what nodes hold that are not alive and have no claim record: one that this does not see
-- is not there, as they had died before. Answers with the names of the limits.
-- name: grants_sweep
WITH gone AS (
  DELETE FROM {schema}.limit_grant g WHERE NOT EXISTS (SELECT 1 FROM {schema}.node n WHERE n.id = g.node AND n.dead_at IS NULL OFFSET 0)
    AND NOT EXISTS (SELECT 1 FROM {schema}.claim k WHERE k.node = g.node OFFSET 0)
  RETURNING g.rule, g.held
)
SELECT l.namespace, l.name FROM (SELECT DISTINCT rule FROM gone WHERE held > 0) g
CROSS JOIN LATERAL (SELECT a.namespace, a.name FROM {schema}.limit_rule a WHERE a.id = g.rule OFFSET 0) l
ORDER BY 1, 2;

-- For a copy into another database.

-- Leaves the limits that are named, as they are described.
-- name: copy_limits_put
-- params: @rows text
WITH rows AS MATERIALIZED (
  SELECT * FROM json_to_recordset(@rows::json) AS t (namespace text, name text, settings text, declared text, capacity bigint, unit bigint, version bigint,
    created_at bigint, updated_at bigint, period bigint, burst bigint, tat bigint, move bigint, drained bigint, key_period bigint, key_burst bigint)
), others AS (
  DELETE FROM {schema}.limit_rule l WHERE NOT EXISTS (SELECT 1 FROM rows t WHERE t.namespace = l.namespace AND t.name = l.name)
)
INSERT INTO {schema}.limit_rule AS r (namespace, name, settings, declared, capacity, unit, version, created_at, updated_at, period, burst, tat, move, drained_until,
  key_period, key_burst)
SELECT namespace, name, settings, declared, capacity, unit, version, created_at, updated_at, period, burst, tat, move, drained, key_period, key_burst FROM rows
ON CONFLICT (namespace, name) DO UPDATE SET settings = excluded.settings, declared = excluded.declared, capacity = excluded.capacity, unit = excluded.unit, version = excluded.version,
  created_at = excluded.created_at, updated_at = excluded.updated_at, period = excluded.period, burst = excluded.burst, tat = excluded.tat,
  drained_until = excluded.drained_until, move = greatest(r.move + 1, excluded.move), key_period = excluded.key_period, key_burst = excluded.key_burst;
