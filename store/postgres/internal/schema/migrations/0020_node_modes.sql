-- What people want of a node (mode: 1 quiet, 2 draining), since when and who; and what it says is wrong with it, a JSON array of texts.
ALTER TABLE {schema}.node ADD COLUMN mode_at bigint, ADD COLUMN mode smallint, ADD COLUMN mode_by text, ADD COLUMN unwell text;

-- The node that people did something to.
ALTER TABLE {schema}.audit ADD COLUMN node bigint;

INSERT INTO {schema}.migration (version, name, applied_at) VALUES (20, 'node_modes', {schema}.clock(NULL));
