-- The feed of changes. It is written by triggers, which SetFeed makes and drops: while it is off
-- nothing knows of it. A job has one pointer, so a statement that makes pointers is what changes
-- states, and a trigger for the statement writes one row for all of them.
--
-- A trigger after a statement runs when the statement has waited for all locks that it waits for.
-- So seq is larger than that of anything that the statement has seen: causes before effects.
--
-- Costs nothing on a large table, and locks nothing.

-- A row while the feed is on. life is the microsecond in which it was switched on.
CREATE TABLE {schema}.feed (
  life bigint NOT NULL
);

-- One row for a statement: n jobs that arrived in a state, or each in its own.
CREATE TABLE {schema}.feed_raw (
  seq     bigint GENERATED ALWAYS AS IDENTITY,
  xid     xid8 NOT NULL DEFAULT pg_current_xact_id(),
  at      bigint NOT NULL,
  n       int NOT NULL,
  state   smallint,
  ids     uuid[] NOT NULL,
  states  smallint[],
  reasons text[],
  PRIMARY KEY (xid, seq)
);

ALTER TABLE {schema}.feed_raw ALTER COLUMN ids SET STORAGE EXTERNAL;

-- The order: each row gives positions to rows of feed_raw, first to last, in the order of the
-- arrays. The newest one has the snapshot by which its pass has looked: what that has not seen is
-- new to the next pass. Two passes at once collide in first, so that one of them does nothing.
-- There is always a row while the feed is on.
CREATE TABLE {schema}.feed_order (
  first  bigint PRIMARY KEY,
  last   bigint NOT NULL,
  at     bigint NOT NULL,
  xids   xid8[] NOT NULL,
  seqs   bigint[] NOT NULL,
  counts int[] NOT NULL,
  snap   pg_snapshot
);

-- The triggers run with the rights of the owner: who only enqueues needs none on the feed.
CREATE FUNCTION {schema}.feed_available() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), 2, array_agg(id) FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_deferred() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids, states)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), CASE WHEN min(state) = max(state) THEN min(state) END,
    array_agg(id), CASE WHEN min(state) < max(state) THEN array_agg(state) END
  FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_claimed() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), 3, array_agg(s.id)
  FROM arrived a CROSS JOIN LATERAL unnest(a.ids) AS s (id) HAVING count(*) > 0;
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.feed_finished() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO feed_raw (at, n, state, ids, states, reasons)
  SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, count(*), CASE WHEN min(state) = max(state) THEN min(state) END,
    array_agg(id), CASE WHEN min(state) < max(state) THEN array_agg(state) END, CASE WHEN count(reason) > 0 THEN array_agg(reason) END
  FROM arrived HAVING count(*) > 0;
  RETURN NULL;
END $$;

-- Who may call one could hang it on a table of his own, and tell what never was.
REVOKE EXECUTE ON FUNCTION {schema}.feed_available(), {schema}.feed_deferred(), {schema}.feed_claimed(), {schema}.feed_finished() FROM PUBLIC;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (35, 'feed', {schema}.clock(NULL));
