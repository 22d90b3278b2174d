-- Jobs that failed, by what their failures have in common, and by when they did within that. What completes has no entry. This reads the table
-- finished once, in which no job can finish: a few seconds for ten million jobs. The lane was not known of jobs that failed before migration 14.
UPDATE {schema}.finished f SET lane = j.lane FROM {schema}.job j WHERE f.state = 7 AND f.lane IS NULL AND j.id = f.id;
CREATE INDEX finished_dead ON {schema}.finished (lane, fingerprint, finished_at, id) WHERE state = 7;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (36, 'dead_letters', {schema}.clock(NULL));
