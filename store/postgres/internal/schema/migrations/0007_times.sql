-- What cannot be invented later: when the handler of the last run was called, how long steps took, how a result is encoded, and what a
-- failure is like. Columns that are NULL cost nothing, and adding them rewrites no table.
ALTER TABLE {schema}.finished ADD COLUMN started_at bigint, ADD COLUMN codec integer, ADD COLUMN fingerprint bigint;
ALTER TABLE {schema}.journal ADD COLUMN took bigint;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (7, 'times', {schema}.clock(NULL));
