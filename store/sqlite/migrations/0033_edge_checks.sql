-- Here notes of predecessors are in the order of the predecessors already.

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (33, 'edge_checks', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
