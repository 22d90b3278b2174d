-- Where the jobs of a lane are among all jobs, for lists of a few in a large history: that a lane has bodies whose ids were made in a
-- bucket, which is 16 milliseconds of the time in their ids: its number is the first 44 bits of these. A busy lane has about 62 rows
-- for a second, a lane with little to do one for each job. Triggers keep it, so that programs that do not know it do so as well, and
-- SQL does. It is not unique, as nobody is to wait for the open transaction of a caller: the same row may be there several times, and
-- there may be rows without bodies. Retention removes what is too much.
--
-- Bodies that were there before have none. While meta has a row named spans_from, only those from the id that it says on have
-- theirs; retention adds the others, the newest first. So this costs nothing on a large table. Making the triggers waits until
-- nobody writes jobs, and lets nobody write them meanwhile.
CREATE TABLE {schema}.lane_span (
  bucket bigint NOT NULL,
  lane   int NOT NULL
);
CREATE INDEX lane_span_lane ON {schema}.lane_span (lane, bucket);

-- What is there is enough, unless it is so old that retention may be removing it at this moment: that removes nothing before a day
-- has gone by. The functions run with the rights of the owner: who only enqueues needs none on the table. A session that was there
-- when the table was small must not go on to read all of it.
CREATE FUNCTION {schema}.span_of_new() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp SET enable_seqscan = off SET enable_bitmapscan = off AS $$
BEGIN
  INSERT INTO lane_span (lane, bucket)
  SELECT a.lane, a.bucket FROM (
    SELECT DISTINCT m.lane, ('x' || left(encode(m.made, 'hex'), 11))::bit(44)::bigint AS bucket
    FROM (SELECT DISTINCT lane, substring(uuid_send(id) FOR 6) AS made FROM arrived) m
  ) a
  WHERE a.bucket < (extract(epoch FROM clock_timestamp()) * 1000)::bigint / 16 - 3600000 / 16
    OR NOT EXISTS (SELECT 1 FROM lane_span s WHERE s.lane = a.lane AND s.bucket = a.bucket OFFSET 0);
  RETURN NULL;
END $$;

CREATE FUNCTION {schema}.span_of_moved() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = {schema}, pg_temp AS $$
BEGIN
  INSERT INTO lane_span (lane, bucket) VALUES (NEW.lane, ('x' || left(encode(uuid_send(NEW.id), 'hex'), 11))::bit(44)::bigint);
  RETURN NULL;
END $$;

-- Who may call one could hang it on a table of his own.
REVOKE EXECUTE ON FUNCTION {schema}.span_of_new(), {schema}.span_of_moved() FROM PUBLIC;

CREATE TRIGGER span_of_new AFTER INSERT ON {schema}.job
REFERENCING NEW TABLE AS arrived FOR EACH STATEMENT EXECUTE FUNCTION {schema}.span_of_new();
CREATE TRIGGER span_of_moved AFTER UPDATE OF lane ON {schema}.job
FOR EACH ROW WHEN (OLD.lane IS DISTINCT FROM NEW.lane) EXECUTE FUNCTION {schema}.span_of_moved();

INSERT INTO {schema}.meta (name, value)
SELECT 'spans_from', 'ffffffff-ffff-ffff-ffff-ffffffffffff' WHERE EXISTS (SELECT 1 FROM {schema}.job);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (44, 'lane_spans', {schema}.clock(NULL), 36);
