-- The function enqueue, asked to replace, leaves a job of another kind that holds the unique key as it is: to the handler of that the args mean
-- something else. Only the function replace_job of migration 23 is another.
-- Puts the payload and the run time on the job that holds a unique key, if it is of the same kind and has not started. The body is locked first,
-- so that the statement after it sees where its pointer is. One that has the turn of its ordering key keeps it.
DROP FUNCTION {schema}.replace_job(uuid, {schema}.job);
CREATE FUNCTION {schema}.replace_job(holder uuid, wanted {schema}.job) RETURNS boolean LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
  moved_job record;
BEGIN
  PERFORM 1 FROM job j WHERE j.id = holder AND j.lease = 0 AND EXISTS (
    SELECT 1 FROM lane l, lane k
    WHERE l.id = j.lane AND k.id = wanted.lane AND split_part(split_part(l.kind, '@', 1), chr(31), 1) = k.kind
  ) FOR UPDATE;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  WITH found AS MATERIALIZED (
    SELECT j.id, j.run_at, j.lane, j.ordering_key, l.queue, l.priority, EXISTS (
      SELECT 1 FROM key_holder k WHERE k.queue = l.queue AND k.ordering_key = j.ordering_key AND k.id = j.id
    ) AS has_turn
    FROM job j JOIN lane l ON l.id = j.lane WHERE j.id = holder AND j.lease = 0
  ), ready_gone AS (
    DELETE FROM ready r USING found b WHERE r.lane = b.lane AND r.run_at = b.run_at AND r.id = b.id RETURNING r.id
  ), deferred_gone AS (
    DELETE FROM deferred d USING found b WHERE d.due = b.run_at AND d.id = b.id AND d.state = 1 RETURNING d.id
  ), keyed_gone AS (
    DELETE FROM keyed k USING found b
    WHERE k.queue = b.queue AND k.ordering_key = b.ordering_key AND k.priority = b.priority AND k.run_at = b.run_at AND k.id = b.id
    RETURNING k.id
  ), gated_gone AS (
    DELETE FROM gated g USING found b WHERE g.lane = b.lane AND g.run_at = b.run_at AND g.id = b.id RETURNING g.id
  ), moved AS MATERIALIZED (
    SELECT b.*, wanted.run_at <= wanted.created_at AS due FROM found b
    WHERE EXISTS (
      SELECT 1 FROM ready_gone UNION ALL SELECT 1 FROM deferred_gone UNION ALL SELECT 1 FROM keyed_gone UNION ALL SELECT 1 FROM gated_gone
    )
  ), changed AS (
    UPDATE job j SET run_at = wanted.run_at, args = wanted.args, codec = 0, metadata = wanted.metadata FROM moved m WHERE j.id = m.id
  ), now_ready AS (
    INSERT INTO ready (lane, run_at, id) SELECT lane, wanted.run_at, id FROM moved WHERE due AND (ordering_key IS NULL OR has_turn)
  ), now_keyed AS (
    INSERT INTO keyed (queue, ordering_key, priority, run_at, id, lane)
    SELECT queue, ordering_key, priority, wanted.run_at, id, lane FROM moved WHERE due AND ordering_key IS NOT NULL AND NOT has_turn
  ), now_deferred AS (
    INSERT INTO deferred (due, id, lane, state, ordering_key) SELECT wanted.run_at, id, lane, 1, ordering_key FROM moved WHERE NOT due
  ), checks AS (
    INSERT INTO key_check (queue, ordering_key) SELECT queue, ordering_key FROM moved WHERE ordering_key IS NOT NULL
  )
  SELECT q.namespace, q.name, m.lane, m.due AND (m.ordering_key IS NULL OR m.has_turn) AS is_ready INTO moved_job
  FROM moved m JOIN queue q ON q.id = m.queue;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  PERFORM tell_nodes(moved_job.namespace, moved_job.name, moved_job.lane, wanted.run_at, moved_job.is_ready);
  RETURN true;
END $$;

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (51, 'replace', {schema}.clock(NULL), 36);
