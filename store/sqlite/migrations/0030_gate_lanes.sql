-- What waits at a gate is told apart by its lane: who puts it back into ready passes over lanes whose queues are paused, however many wait there.
CREATE TABLE holdfast_gated_by_lane (
  gate     INTEGER NOT NULL,
  lane     INTEGER NOT NULL,
  run_at   INTEGER NOT NULL,
  id       BLOB NOT NULL,
  PRIMARY KEY (gate, lane, run_at, id)
) WITHOUT ROWID;
INSERT INTO holdfast_gated_by_lane (gate, lane, run_at, id) SELECT gate, lane, run_at, id FROM holdfast_gated ORDER BY gate, lane, run_at, id;
DROP TABLE holdfast_gated;
ALTER TABLE holdfast_gated_by_lane RENAME TO holdfast_gated;
CREATE INDEX holdfast_gated_lane ON holdfast_gated (lane, run_at, id);

-- How often it was asked that all gates at which jobs wait are looked at. One row.
CREATE TABLE holdfast_gate_sweep (
  id     INTEGER PRIMARY KEY,
  wanted INTEGER NOT NULL
);
INSERT INTO holdfast_gate_sweep (id, wanted) VALUES (1, 0);

INSERT INTO holdfast_migration (version, name, applied_at)
VALUES (30, 'gate_lanes', CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER));
