-- The index by which a job's actions are found.
CREATE INDEX audit_job ON {schema}.audit (job, seq) WHERE job IS NOT NULL;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (3, 'actions', {schema}.clock(NULL));
