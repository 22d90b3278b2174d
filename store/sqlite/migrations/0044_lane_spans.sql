-- Where the jobs of a lane are among all jobs, for lists of a few in a large history: that a lane has bodies whose ids were
-- made in a bucket, which is 16 milliseconds of the time in their ids, and is named by the first 11 digits of these. A busy
-- lane has at most 62 rows for a second, a lane with little to do at most one for each job. Triggers keep it, so that
-- programs that do not know it do so as well. There may be rows without bodies; retention removes them.
--
-- Bodies that were there before have none. While holdfast_meta has a row named spans_from, only those from the id that it
-- says on have theirs, in hexadecimal digits; retention adds the others, the newest first. So this costs nothing on a large
-- table.
CREATE TABLE holdfast_lane_span (
  lane   INTEGER NOT NULL,
  bucket TEXT NOT NULL,
  PRIMARY KEY (lane, bucket)
) WITHOUT ROWID;

CREATE TRIGGER holdfast_job_span AFTER INSERT ON holdfast_job
WHEN NOT EXISTS (SELECT 1 FROM holdfast_lane_span WHERE lane = NEW.lane AND bucket = substr(hex(substr(NEW.id, 1, 6)), 1, 11))
BEGIN
  INSERT INTO holdfast_lane_span (lane, bucket) VALUES (NEW.lane, substr(hex(substr(NEW.id, 1, 6)), 1, 11));
END;

CREATE TRIGGER holdfast_job_span_moved AFTER UPDATE OF lane ON holdfast_job
WHEN NEW.lane <> OLD.lane
  AND NOT EXISTS (SELECT 1 FROM holdfast_lane_span WHERE lane = NEW.lane AND bucket = substr(hex(substr(NEW.id, 1, 6)), 1, 11))
BEGIN
  INSERT INTO holdfast_lane_span (lane, bucket) VALUES (NEW.lane, substr(hex(substr(NEW.id, 1, 6)), 1, 11));
END;

INSERT INTO holdfast_meta (name, value)
SELECT 'spans_from', 'ffffffffffffffffffffffffffffffff' WHERE EXISTS (SELECT 1 FROM holdfast_job);

INSERT INTO holdfast_migration (version, name, applied_at, serves)
VALUES (44, 'lane_spans', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER), 36);
