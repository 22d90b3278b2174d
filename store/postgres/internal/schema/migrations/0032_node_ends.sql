-- How a node has ended: 1 it left, 2 it was declared dead; NULL: it lives, or ended before this migration.
ALTER TABLE {schema}.node ADD COLUMN ended smallint;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (32, 'node_ends', {schema}.clock(NULL));
