-- Until when nothing of a queue is claimed, and how many rests have followed each other.
ALTER TABLE {schema}.queue ADD COLUMN rest_until bigint, ADD COLUMN rest_level int NOT NULL DEFAULT 0;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (22, 'rests', {schema}.clock(NULL));
