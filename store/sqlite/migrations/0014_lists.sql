-- The jobs of which a run was lost with a node. Only what did not end by itself is in it, so most jobs cost nothing. Making it reads all
-- attempts once, of which jobs that complete at once have none.
CREATE INDEX holdfast_attempt_lost ON holdfast_attempt (node, id) WHERE taken <> 0;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (14, 'lists', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
