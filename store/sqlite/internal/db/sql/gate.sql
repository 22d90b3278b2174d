-- Limits per key: jobs that wait because as many run of their key as its limit lets.

-- Who runs, of all gates.
-- name: gates_live
SELECT done, all_slots, gates FROM holdfast_claim INDEXED BY holdfast_claim_gates WHERE gates IS NOT NULL;

-- name: gates_live_ids
SELECT done, all_slots, gates, ids FROM holdfast_claim INDEXED BY holdfast_claim_gates WHERE gates IS NOT NULL;

-- name: gated_insert
INSERT INTO holdfast_gated (gate, lane, run_at, id) VALUES (?, ?, ?, ?);

-- name: gated_delete
DELETE FROM holdfast_gated WHERE lane = ? AND run_at = ? AND id = ?;

-- name: gated_has
SELECT 1 FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane = ? AND run_at = ? AND id = ?;

-- name: gated_any
SELECT 1 FROM holdfast_gated LIMIT 1;

-- The next gate at which jobs wait, and the lane of one of them.
-- name: gated_next
SELECT gate, lane FROM holdfast_gated WHERE gate > ? ORDER BY gate LIMIT 1;

-- The next lane of which jobs wait at a gate.
-- name: gated_lane
SELECT lane FROM holdfast_gated WHERE gate = ? AND lane > ? ORDER BY lane LIMIT 1;

-- The next lane of which jobs wait at any gate.
-- name: gated_lanes
SELECT lane FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane > ? ORDER BY lane LIMIT 1;

-- The first jobs of a lane that wait at a gate.
-- name: gated_heads
SELECT run_at, id FROM holdfast_gated WHERE gate = ? AND lane = ? ORDER BY run_at, id LIMIT ? + 0;

-- Asks that all gates at which jobs wait are looked at.
-- name: gates_wanted
UPDATE holdfast_gate_sweep SET wanted = wanted + 1 WHERE id = 1;

-- How often that was asked, and when the first of the queues that rest goes on, NULL if none rests.
-- name: gates_asked
SELECT wanted, (SELECT min(rest_until) FROM holdfast_queue INDEXED BY holdfast_queue_halted
  WHERE (paused_at IS NOT NULL OR rest_until IS NOT NULL) AND rest_until > ?)
FROM holdfast_gate_sweep WHERE id = 1;

-- name: gated_count
SELECT count(*) FROM (SELECT 1 FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane = ? LIMIT ? + 0);

-- name: gated_oldest
SELECT run_at FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane = ? ORDER BY run_at LIMIT 1;

-- name: gated_in_lane
SELECT run_at, id FROM holdfast_gated INDEXED BY holdfast_gated_lane WHERE lane = ? LIMIT ? + 0;

-- What a limit lets each key do: how many run, and their rate, NULL without one.
-- name: gate_rule
SELECT capacity, updated_at, key_period, key_burst FROM holdfast_limit_rule WHERE namespace = ? AND name = ? AND settings ->> 'per_key';

-- Rates of keys: a row for each that has taken permits lately.

-- name: key_rate
SELECT tat, period, look_at FROM holdfast_key_rate WHERE gate = ?;

-- name: key_rate_put
INSERT INTO holdfast_key_rate (gate, tat, period, look_at) VALUES (?, ?, ?, ?)
ON CONFLICT (gate) DO UPDATE SET tat = excluded.tat, period = excluded.period, look_at = excluded.look_at;

-- name: key_rate_next
SELECT look_at FROM holdfast_key_rate INDEXED BY holdfast_key_rate_look WHERE look_at IS NOT NULL ORDER BY look_at LIMIT 1;

-- The keys whose time has come.
-- name: key_rates_due
SELECT gate FROM holdfast_key_rate INDEXED BY holdfast_key_rate_look WHERE look_at <= ? ORDER BY look_at LIMIT ? + 0;

-- name: key_rate_looked
UPDATE holdfast_key_rate SET look_at = NULL WHERE gate = ?;

-- Keys of which nothing has to be kept: their burst is whole, and no job waits for them.
-- name: key_rates_idle
SELECT gate FROM holdfast_key_rate WHERE look_at IS NULL AND tat <= ? LIMIT ? + 0;

-- name: key_rate_delete
DELETE FROM holdfast_key_rate WHERE gate = ?;
