-- Claims where jobs may have fair keys, which take turns; see store.FairShards. They are statements
-- of their own, as what they do is dearer: a process uses them once it has seen such a job.

-- The shard of the fair keys of a lane, l; '' if its jobs have none.
-- fragment: lane_shard
split_part(split_part(l.kind, '@', 1), chr(31), 3)

-- The order in which the rows of what follows, up to turns_end, take turns within their teams: a
-- row that is the third of its shard has the place 3.
-- fragment: turns
SELECT range, demand, most, team, effective, run_at, id, row_number() OVER (PARTITION BY team ORDER BY place, rank) AS turn
FROM (
  SELECT *, row_number() OVER (PARTITION BY team, rank ORDER BY run_at, id) AS place FROM (

-- fragment: turns_end
  ) a WHERE team IS NOT NULL AND most > 0
) a

-- What a claim takes, as claim_taking, but that jobs with fair keys are looked at and taken in
-- turn.
-- fragment: fair_taking
-- walk: ranges: as in claim_taking, with the team of those whose jobs have fair keys, the ranges of
-- walk:   a queue and a priority that count in one demand; and with the rank of their shards in the
-- walk:   turn, from 0 on.
-- walk: shape, heads: as there. There may be more ranges of which several rows are read, as the
-- walk:   keys of one kind may have 64.
-- walk: field: of plain ranges all heads; of each team as many as may be taken, in turn.
-- walk: best, worst: those merged in the order of the whole, with their places in it, and the last
-- walk:   of a full measure.
-- walk: deep, more: as in claim_taking; ranges of teams, if all their rows are in the field,
-- walk:   whatever the run time of what else they have.
-- walk: wider, line: the field of both, if there is more; and the one that counts.
-- walk: places: the best of it, with their places in the order of the whole.
-- walk: chosen: what takes them: plain rows their own, and those of a team in turn.
-- walk: quotas: how many rows of each range that is, and their places, in order.
-- walk: locked, gone, ordered, jobs: as in claim_taking. If a range gives less than it was to, the
-- walk:   places of those that are missing are left out.
{{claim_given}}
), ranges AS MATERIALIZED (
  SELECT *, (ranked - 1 - ((@turn * max(ranked) OVER (PARTITION BY team)) >> 32) + max(ranked) OVER (PARTITION BY team))
    % max(ranked) OVER (PARTITION BY team) AS rank
  FROM (
    SELECT *, CASE WHEN shard <> '' THEN dense_rank() OVER (PARTITION BY demand, queue, priority, shard = '' ORDER BY shard) END AS ranked,
      CASE WHEN shard <> '' THEN min(range) OVER (PARTITION BY demand, queue, priority, shard = '') END AS team
    FROM (
      SELECT row_number() OVER () AS range, g.lane, l.queue, l.priority, l.shard, d.place AS demand,
        CASE WHEN l.hidden THEN 0 ELSE least(coalesce((@demand_limits)[d.place], @limit), @limit) END AS most, l.hidden,
        g.from_at, g.from_id, g.until_at
      FROM given g
      CROSS JOIN LATERAL (
        SELECT a.queue, a.kind, a.priority, a.shard, a.hidden FROM (
          SELECT l.queue, l.priority, {{claimed_kind}} AS kind, {{lane_shard}} AS shard, {{lane_limit}} <> '' AND NOT @gates AS hidden
          FROM {schema}.lane l WHERE l.id = g.lane OFFSET 0
        ) a WHERE a.kind = ANY (@kinds) OFFSET 0
      ) l
      CROSS JOIN LATERAL (
        SELECT a.name FROM {schema}.queue a WHERE a.id = l.queue AND a.namespace = @namespace
          AND a.paused_at IS NULL AND coalesce(a.rest_until, 0) <= @now OFFSET 0
      ) q
      CROSS JOIN LATERAL (
        SELECT coalesce(@demands -> q.name -> l.kind, @demands -> q.name -> '', @demands -> '' -> l.kind, @demands -> '' -> '')::int AS place
        OFFSET 0
      ) d
      WHERE @demands IS NULL OR d.place IS NOT NULL
    ) r
  ) r
), shape AS MATERIALIZED (
  SELECT count(*) AS n,
    CASE WHEN count(*) > {claim_fair_ranges} THEN 1 ELSE least(@limit, @limit / greatest(count(*), 1) * 5 / 4 + 8) END AS depth
  FROM ranges
), heads AS MATERIALIZED (
  SELECT r.range, r.lane, r.demand, r.most, r.team, r.rank, h.run_at, h.id,
    {{effective_priority}} AS effective
  FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at
    ORDER BY a.run_at, a.id LIMIT least((SELECT depth FROM shape), greatest(r.most, 1))
  ) h WHERE ((SELECT n > 1 FROM shape) OR r.hidden) AND (@lanes IS NOT NULL OR (SELECT n <= {claim_fair_ranges} FROM shape))
  UNION ALL
  SELECT r.range, r.lane, r.demand, r.most, r.team, r.rank, r.from_at, r.from_id,
    {{effective_priority}}
  FROM ranges r CROSS JOIN LATERAL (SELECT r.from_at AS run_at) h WHERE @lanes IS NULL AND (SELECT n > {claim_fair_ranges} FROM shape)
), field AS MATERIALIZED (
  SELECT range, demand, most, team, effective, run_at, id, NULL::bigint AS turn FROM heads WHERE team IS NULL AND most > 0
  UNION ALL
  SELECT * FROM (
    {{turns}} SELECT * FROM heads {{turns_end}}
  ) t WHERE turn <= most
), best AS MATERIALIZED (
  SELECT range, team, effective, run_at, row_number() OVER (ORDER BY effective, run_at, id) AS place FROM (
    SELECT *, row_number() OVER (PARTITION BY demand ORDER BY effective, run_at, id) AS of_demand FROM field
  ) f WHERE of_demand <= most ORDER BY effective, run_at, id LIMIT @limit
), worst AS MATERIALIZED (
  SELECT effective, run_at FROM best WHERE (SELECT count(*) >= @limit FROM best) ORDER BY effective DESC, run_at DESC LIMIT 1
), deep AS MATERIALIZED (
  SELECT range FROM (
    SELECT range FROM best WHERE team IS NULL UNION ALL SELECT range FROM field WHERE team IS NOT NULL
  ) f GROUP BY range HAVING count(*) >= (SELECT depth FROM shape) AND (SELECT depth < @limit FROM shape)
), more AS MATERIALIZED (
  SELECT r.range, r.lane, r.demand, r.most, r.team, r.rank, h.run_at, h.id,
    {{effective_priority}} AS effective
  FROM deep d CROSS JOIN LATERAL (
    SELECT a.*, least(a.until_at, coalesce((
      SELECT CASE
        WHEN a.team IS NOT NULL OR a.priority < w.effective THEN {never}
        ELSE greatest(w.run_at, CASE WHEN @aging > 0 THEN @now - (a.priority - w.effective + 1) * @aging ELSE w.run_at END)
      END FROM worst w
    ), {never})) AS last_at
    FROM ranges a WHERE a.range = d.range OFFSET 0
  ) r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.last_at
    ORDER BY a.run_at, a.id
    LIMIT CASE WHEN (SELECT n > {claim_fair_ranges} FROM shape) THEN least(@limit, {claim_more}) ELSE @limit END
    OFFSET (SELECT depth FROM shape)
  ) h
), wider AS MATERIALIZED (
  SELECT range, demand, most, team, effective, run_at, id, NULL::bigint AS turn FROM (
    SELECT * FROM heads WHERE EXISTS (SELECT 1 FROM deep) UNION ALL SELECT * FROM more
  ) a WHERE team IS NULL AND most > 0
  UNION ALL
  SELECT * FROM (
    {{turns}} SELECT * FROM heads WHERE EXISTS (SELECT 1 FROM deep) UNION ALL SELECT * FROM more {{turns_end}}
  ) t WHERE turn <= most
), line AS MATERIALIZED (
  SELECT * FROM field WHERE NOT EXISTS (SELECT 1 FROM deep) UNION ALL SELECT * FROM wider
), places AS MATERIALIZED (
  SELECT range, team, run_at, place FROM best WHERE NOT EXISTS (SELECT 1 FROM deep)
  UNION ALL (
    SELECT range, team, run_at, row_number() OVER (ORDER BY effective, run_at, id) FROM (
      SELECT *, row_number() OVER (PARTITION BY demand ORDER BY effective, run_at, id) AS of_demand FROM wider
    ) w WHERE of_demand <= most ORDER BY effective, run_at, id LIMIT @limit
  )
), chosen AS MATERIALIZED (
  SELECT range, run_at, place FROM places WHERE team IS NULL
  UNION ALL
  SELECT max(range), max(run_at), max(place) FROM (
    SELECT team, row_number() OVER (PARTITION BY team ORDER BY place) AS turn, place, NULL AS range, NULL AS run_at
    FROM places WHERE team IS NOT NULL
    UNION ALL SELECT team, turn, NULL, range, run_at FROM line WHERE team IS NOT NULL
  ) t GROUP BY team, turn HAVING max(place) IS NOT NULL
), quotas AS MATERIALIZED (
  SELECT c.range, r.lane, c.most, r.until_at, c.from_at, c.places,
    CASE WHEN c.from_at = r.from_at THEN r.from_id ELSE '00000000-0000-0000-0000-000000000000' END AS from_id
  FROM (
    SELECT range, count(*) AS most, min(run_at) AS from_at, array_agg(place ORDER BY place) AS places FROM chosen GROUP BY range
  ) c
  CROSS JOIN LATERAL (SELECT a.lane, a.until_at, a.from_at, a.from_id FROM ranges a WHERE a.range = c.range OFFSET 0) r
  UNION ALL
  SELECT r.range, r.lane, r.most, r.until_at, h.run_at, NULL, h.id FROM ranges r CROSS JOIN LATERAL (
    SELECT a.run_at, a.id FROM {schema}.ready a
    WHERE a.lane = r.lane AND (a.run_at, a.id) >= (r.from_at, r.from_id) AND a.run_at <= r.until_at ORDER BY a.run_at, a.id LIMIT 1
  ) h WHERE (SELECT n = 1 FROM shape) AND r.most > 0
), {{claim_alive}}
), locked AS MATERIALIZED (
  SELECT t.lane, t.tid, t.run_at, t.id, q.places[(row_number() OVER (PARTITION BY q.range ORDER BY t.run_at, t.id))::int] AS place
  FROM quotas q CROSS JOIN LATERAL (
    SELECT r.lane, r.run_at, r.id, r.ctid AS tid FROM {schema}.ready r
    WHERE r.lane = q.lane AND (r.run_at, r.id) >= (q.from_at, q.from_id) AND r.run_at <= q.until_at
    ORDER BY r.run_at, r.id LIMIT q.most FOR UPDATE SKIP LOCKED
  ) t WHERE EXISTS (SELECT 1 FROM alive) LIMIT 1000
), gone AS (
  DELETE FROM {schema}.ready WHERE ctid = ANY (ARRAY(SELECT tid FROM locked))
), ordered AS MATERIALIZED (
  SELECT lane, run_at, id, row_number() OVER (ORDER BY place, run_at, id) - 1 AS n FROM locked
), jobs AS MATERIALIZED (
  SELECT o.n, o.lane, o.run_at, o.id, {{body}}, b.remembers
  FROM ordered o LEFT JOIN LATERAL (SELECT * FROM {schema}.job j WHERE j.id = o.id OFFSET 0) b ON true

-- What it answers, as claim_answer: lanes whose jobs take turns come first, as a claim that goes on
-- from what this one has seen needs all of them.
-- fragment: fair_answer
{{claim_columns}}, CASE WHEN b.n IS NULL OR b.n = 0 THEN ARRAY(
    SELECT ARRAY[lane, first] FROM (
      SELECT lane, max(team) AS team, min(run_at) AS first, min(ARRAY[effective, run_at]) AS best FROM heads GROUP BY lane
    ) h ORDER BY team IS NULL, best LIMIT {claim_seen}
  ) END, {{claim_short}}

-- As claim, where jobs may have fair keys. @turn is the number by which turns are taken.
-- name: claim_fair
-- params: @node bigint, @record bigint, @namespace text, @demands jsonb, @demand_limits int[]
-- params: @kinds text[], @limit int, @now bigint, @aging bigint, @repeated boolean, @lanes int[]
-- params: @from_run_at bigint[], @from_ids uuid[], @until_run_at bigint[], @gates boolean, @turn bigint
WITH RECURSIVE {{fair_taking}}
), {{claim_written}}
{{fair_answer}};

-- As claim_gated, where jobs may have fair keys.
-- name: claim_fair_gated
-- params: @node bigint, @record bigint, @namespace text, @demands jsonb, @demand_limits int[]
-- params: @kinds text[], @limit int, @now bigint, @aging bigint, @repeated boolean, @lanes int[]
-- params: @from_run_at bigint[], @from_ids uuid[], @until_run_at bigint[], @gates boolean, @turn bigint
WITH RECURSIVE {{fair_taking}}
)
{{fair_answer}};
