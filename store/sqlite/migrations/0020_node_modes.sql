-- What people want of a node (mode: 1 quiet, 2 draining), since when and who; and what it says is wrong with it, a JSON array of texts.
ALTER TABLE holdfast_node ADD COLUMN mode INTEGER;
ALTER TABLE holdfast_node ADD COLUMN mode_at INTEGER;
ALTER TABLE holdfast_node ADD COLUMN mode_by TEXT;
ALTER TABLE holdfast_node ADD COLUMN unwell TEXT;

-- The node that people did something to.
ALTER TABLE holdfast_audit ADD COLUMN node INTEGER;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (20, 'node_modes', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
