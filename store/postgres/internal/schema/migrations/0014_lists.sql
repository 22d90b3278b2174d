-- Lists. What completes pays for none of this but a look at the last of these indexes, which has an entry for 32 pages. On ten million finished
-- jobs this reads the tables finished and attempt four times, and what is deferred once.

-- The lane of jobs that failed or were cancelled. NULL for those that did so before, and for one that completed: nothing reads its body then.
ALTER TABLE {schema}.finished ADD COLUMN lane int;
CREATE INDEX finished_lane ON {schema}.finished (lane) WHERE state <> 6;

-- What did not complete by its time, and all that finished, whose times grow as the table does.
CREATE INDEX finished_by_time ON {schema}.finished (state, finished_at, id) WHERE state <> 6;
CREATE INDEX finished_times ON {schema}.finished USING brin (finished_at) WITH (pages_per_range = 32, autosummarize = on);

-- What is deferred, by its time within a lane.
DROP INDEX {schema}.deferred_lane;
CREATE INDEX deferred_lane ON {schema}.deferred (lane, state, due);

-- Runs that were lost with their node, which died or gave them up.
ALTER TABLE {schema}.attempt ADD COLUMN lost boolean;
CREATE INDEX attempt_lost ON {schema}.attempt (node, id) WHERE NOT reported;

-- The job was removed by a person: what was done to it is not told of another one with its id.
ALTER TABLE {schema}.audit ADD COLUMN gone boolean;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (14, 'lists', {schema}.clock(NULL));
