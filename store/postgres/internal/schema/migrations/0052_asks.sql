-- A schedule that is paused is looked at, too, if a job is to be asked to stop that a trigger has replaced.
DROP INDEX {schema}.schedule_due;
CREATE INDEX schedule_due ON {schema}.schedule (next_at) WHERE next_at IS NOT NULL AND (paused_at IS NULL OR cancels IS NOT NULL);

INSERT INTO {schema}.migration (version, name, applied_at, serves) VALUES (52, 'asks', {schema}.clock(NULL), 36);
