-- Claims. There is one writer, so what a transaction reads at the head of a lane is still there
-- when it deletes it.

-- The first row of each lane is its head: with the lane of the row before this walks from lane to
-- lane, and an empty lane costs nothing.
-- name: next_head
SELECT lane, run_at, id FROM holdfast_ready WHERE lane > ? ORDER BY lane, run_at, id LIMIT 1;

-- name: lane_pointers
SELECT run_at, id FROM holdfast_ready
WHERE lane = ? AND (run_at, id) > (?, ?) ORDER BY run_at, id LIMIT ? + 0;

-- A pointer without a body would be a bug; the outer join lets it be dropped instead of standing at
-- the head for ever. Nearly all jobs have no marks, and then no parent, which is not looked for.
-- name: claim_bodies
SELECT r.id, j.lane, r.run_at, j.created_at, j.lease, j.attempt, j.max_attempts, j.codec, j.ordering_key, j.unique_key,
  j.unique_states, j.options, j.tags, j.metadata, j.args, j.marks, CASE WHEN j.marks IS NOT NULL THEN j.parent END
FROM holdfast_ready r LEFT JOIN holdfast_job j ON j.id = r.id
WHERE r.lane = ? ORDER BY r.run_at, r.id LIMIT ? + 0;

-- name: claim_take
DELETE FROM holdfast_ready WHERE lane = ? AND (run_at, id) <= (?, ?);

-- name: claim_insert
INSERT INTO holdfast_claim (node, seq, claimed_at, done, all_slots, ids, leases, gates) VALUES (?, ?, ?, 0, ?, ?, ?, ?);

-- name: claim
SELECT claimed_at, done, all_slots, ids, leases, gates FROM holdfast_claim WHERE node = ? AND seq = ?;

-- name: claim_update
UPDATE holdfast_claim SET done = ? WHERE node = ? AND seq = ?;

-- Takes the write lock and changes nothing.
-- name: claim_lock
UPDATE holdfast_claim SET done = done WHERE node = ? AND seq = ?;

-- name: claim_delete
DELETE FROM holdfast_claim WHERE node = ? AND seq = ?;

-- name: claims_of_node
SELECT seq, claimed_at, done, all_slots, ids, leases, gates FROM holdfast_claim WHERE node = ? ORDER BY seq;

-- name: claims_between
-- params: @node, @from_seq, @to_seq
SELECT seq, claimed_at, done, all_slots, ids, leases, gates FROM holdfast_claim
WHERE node = @node AND seq >= @from_seq AND seq < @to_seq ORDER BY seq;

-- name: claims_all
SELECT node, seq, claimed_at, done, all_slots, ids, leases, gates FROM holdfast_claim ORDER BY node, seq;

-- There is no index from job to claim: what runs at one moment is few, and the hot path would pay
-- for it.
-- name: claims_with
-- params: @job
SELECT node, seq, claimed_at, done, all_slots, ids, leases, gates FROM holdfast_claim WHERE instr(ids, @job) > 0;

-- name: claims_of_dead
SELECT c.node, c.seq FROM holdfast_claim c JOIN holdfast_node n ON n.id = c.node
WHERE n.dead_at IS NOT NULL AND (c.node, c.seq) > (?, ?) ORDER BY c.node, c.seq LIMIT ? + 0;

-- name: claimed_slots
SELECT node, done, all_slots FROM holdfast_claim;
