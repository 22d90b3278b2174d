package work

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/choosing"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/gating"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// Claim implements store.Claims.
func (v Verbs) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	err := v.d.WriteIf(ctx, "claim",
		func(t *core.Tx) (bool, error) {
			claimed = nil
			if _, err := t.NodeAlive(params.Node); err != nil {
				return false, err
			}
			lanes, err := choosing.Heads(t, params)
			return params.Repeat || len(lanes) > 0, err
		},
		func(t *core.Tx) (err error) {
			claimed, err = claim(t, params)
			return err
		})
	if err != nil {
		return nil, err // nothing of what was chosen is claimed
	}
	return claimed, nil
}

// claim takes jobs. It looks at the lanes again, which Claim has done already: that was without the
// write lock, so that a node that finds nothing does not keep others from writing. Until the lock
// is taken another process may claim what was seen, or pause a queue, and the node may be declared
// dead.
func claim(t *core.Tx, params store.ClaimParams) ([]store.Claimed, error) {
	lastSeq, err := t.NodeAlive(params.Node)
	if err != nil {
		return nil, err
	}
	if params.Repeat && (params.Seq <= lastSeq || params.After.Claim != 0) {
		return claimedBefore(t, params)
	}
	claimed, lanes, err := take(t, params)
	if err == nil && slices.ContainsFunc(lanes, gating.IsGated) {
		claimed, err = gating.Judge(t, params, claimed, lanes, take)
	}
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	return claimed, writeClaims(t, params, claimed)
}

// take takes the best jobs. Their pointers are gone then.
func take(t *core.Tx, params store.ClaimParams) (claimed []store.Claimed, lanes []*core.Lane, err error) {
	found, err := choosing.Heads(t, params)
	for _, h := range found {
		lanes = append(lanes, h.Lane)
	}
	if len(found) == 1 {
		claimed, err = takeOne(t, found[0], found[0].AtMost(params.Limit))
	} else if len(found) > 1 {
		claimed, err = takeMerged(t, found, params)
	}
	return claimed, lanes, err
}

// takeOne claims the first limit jobs of a lane.
func takeOne(t *core.Tx, h *choosing.Head, limit int) ([]store.Claimed, error) {
	expected := t.Database.Taken*5/4 + 1                      // they are large, and it is dear to move them to a larger place
	claimed := make([]store.Claimed, 0, min(limit, expected)) // often there are few
	last, lastID := int64(math.MinInt64), store.ID{}          // that is taken
	s := t.Stmt("claim_bodies")
	s.BindInt(h.Lane.ID)
	s.BindInt(int64(limit))
	err := db.Each(s, func() error {
		b := core.Body{Job: store.Job{ID: db.ReadID(s)}}
		if s.ReadNull() { // the lane is NULL: it is a pointer without a body
			last, lastID = s.ReadInt(), b.ID
			return nil
		}
		if _, err := b.Scan(s); err != nil {
			return err
		}
		last, lastID = b.RunMicros, b.ID
		h.Lane.Describe(&b.Job)
		b.Attempt++
		b.LeaseNumber++
		claimed = append(claimed, store.Claimed{Job: b.Job, ClaimedAt: db.TimeOf(t.Now), Durable: b.Forked, HasSuccessors: b.Successors})
		return nil
	})
	if err != nil {
		return nil, err
	}
	t.Database.Taken = max(len(claimed), t.Database.Taken*3/4)
	s = t.Stmt("claim_take")
	s.BindInt(h.Lane.ID)
	s.BindInt(last)
	db.BindID(s, lastID)
	return claimed, db.Exec(s)
}

// takeMerged claims the best jobs of several lanes, lane by lane.
func takeMerged(t *core.Tx, lanes []*choosing.Head, params store.ClaimParams) ([]store.Claimed, error) {
	order, err := choosing.Merge(t, lanes, params)
	if err != nil {
		return nil, err
	}
	taken := make(map[*choosing.Head][]store.Claimed, len(lanes))
	for _, h := range lanes {
		if h.Take > 0 {
			jobs, err := takeOne(t, h, h.Take)
			if err != nil {
				return nil, err
			}
			taken[h] = jobs
		}
	}
	claimed := make([]store.Claimed, 0, len(order))
	for _, h := range order {
		if jobs := taken[h]; len(jobs) > 0 {
			claimed = append(claimed, jobs[0])
			taken[h] = jobs[1:]
		}
	}
	return claimed, nil
}

// writeClaims writes the claim records of jobs whose pointers are gone, and completes their leases.
func writeClaims(t *core.Tx, params store.ClaimParams, claimed []store.Claimed) error {
	seq := params.Seq
	for start := 0; start < len(claimed); start += store.MaxClaimSlots {
		batch := claimed[start:min(start+store.MaxClaimSlots, len(claimed))]
		ids := make([]byte, 0, len(batch)*len(store.ID{}))
		var leases []byte
		for slot := range batch {
			c := &batch[slot]
			ids = append(ids, c.Job.ID[:]...)
			t.Tell(c.Job.ID, store.Running)
			c.Lease = store.Lease{Job: c.Job.ID, Number: c.Job.LeaseNumber, Node: params.Node, Claim: seq, Slot: slot}
			if err := startRun(t, c); err != nil {
				return err
			}
			if c.Job.LeaseNumber != 1 && leases == nil {
				leases = make([]byte, 8*len(batch))
			}
		}
		if leases != nil {
			for slot, c := range batch {
				binary.BigEndian.PutUint64(leases[8*slot:], uint64(c.Job.LeaseNumber))
			}
		}
		s := t.Stmt("claim_insert")
		s.BindInt(params.Node)
		s.BindInt(seq)
		s.BindInt(t.Now)
		s.BindInt(1<<len(batch) - 1)
		s.BindBlob(ids)
		db.BindOptBlob(s, leases)
		db.BindOptBlob(s, core.GatesOf(batch))
		if err := db.Exec(s); err != nil {
			return fmt.Errorf("claim record %d of node %d, which a node may use once: %w", seq, params.Node, err)
		}
		seq++
	}
	s := t.Stmt("node_claims")
	s.BindInt(seq - 1)
	s.BindInt(params.Node)
	return db.Exec(s)
}

// startRun releases a unique key that is not held while its job runs, and reads what earlier runs
// left. The first run of a job finds nothing, unless it is a fork.
func startRun(t *core.Tx, c *store.Claimed) error {
	if err := keys.ReleaseUnique(t, &c.Job, store.Running); err != nil || c.Lease.Number == 1 && !c.Durable {
		return err
	}
	return readTraces(t, c)
}

// readTraces tells what earlier runs left of a job and what people asked of it.
func readTraces(t *core.Tx, c *store.Claimed) error {
	s := t.Stmt("traces")
	db.BindID(s, c.Job.ID)
	found, err := s.Next()
	if err != nil || !found {
		return db.Unexpected("traces", err)
	}
	defer s.Done()
	c.Durable = s.ReadInt() != 0
	c.CancelRequested, c.CancelReason = db.ReadOptInt(s) != 0, db.ReadOptText(s)
	if s.ReadNull() {
		c.Checkpoint = nil
		return nil
	}
	c.Checkpoint = scanCheckpoint(s)
	return nil
}

// claimedBefore returns the jobs that an earlier claim with the same number took and that still
// run.
func claimedBefore(t *core.Tx, params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	for seq := params.Seq; seq < params.Seq+int64(params.Records()); seq++ {
		r, err := t.Record(core.RecordName{Node: params.Node, Seq: seq})
		if err != nil {
			return nil, err
		}
		for slot := range r.Slots() {
			if !r.Runs(slot) || !params.After.Before(r.Lease(slot)) {
				continue
			}
			if params.Sent > params.Limit && len(claimed) >= params.Limit {
				return claimed, nil
			}
			b, found, err := t.Body(r.Job(slot))
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
			c := store.Claimed{Job: b.Job, Lease: r.Lease(slot), ClaimedAt: db.TimeOf(r.ClaimedAt), HasSuccessors: b.Successors}
			c.Job.Attempt++
			c.Job.LeaseNumber = c.Lease.Number
			if err := readTraces(t, &c); err != nil {
				return nil, err
			}
			claimed = append(claimed, c)
		}
	}
	return claimed, nil
}
