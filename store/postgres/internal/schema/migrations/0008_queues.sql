-- Queues that people have deleted: they are listed only while they have jobs that are not finished.
ALTER TABLE {schema}.queue ADD COLUMN deleted_at bigint;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (8, 'queues', {schema}.clock(NULL));
