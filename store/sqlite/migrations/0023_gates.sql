-- Limits per key. The limit in which jobs count is a part of the name of their lane; a gate is a number made of the limit and the key.

-- Available jobs that wait because as many run of their key as its limit lets.
CREATE TABLE holdfast_gated (
  gate     INTEGER NOT NULL,
  priority INTEGER NOT NULL,
  run_at   INTEGER NOT NULL,
  id       BLOB NOT NULL,
  lane     INTEGER NOT NULL,
  PRIMARY KEY (gate, priority, run_at, id)
) WITHOUT ROWID;
CREATE INDEX holdfast_gated_lane ON holdfast_gated (lane, run_at, id);

-- The gates of the slots of a claim record, 8 bytes each; NULL if none has one, as nearly always.
ALTER TABLE holdfast_claim ADD COLUMN gates BLOB;
CREATE INDEX holdfast_claim_gates ON holdfast_claim (node) WHERE gates IS NOT NULL;

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (23, 'gates', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
