package work

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/gating"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/keys"
)

// head is a lane with something to claim, and how far a merge has read it.
type head struct {
	lane   *core.Lane
	demand *demand
	rows   []pointerKey // read and not yet taken
	last   pointerKey   // the last that was read
	ended  bool         // nothing comes after last
	chunk  int          // how many rows to read next
	take   int          // how many jobs to take
}

// demand is what may still be taken of what counts in one.
type demand struct{ left int }

// merge is a heap of lanes, the one with the best job first.
type merge struct {
	heads []*head
	now   int64
	aging int64
}

// pointerKey is a job's place in its lane.
type pointerKey struct {
	runAt int64
	id    store.ID
}

// Claim implements store.Claims.
func (v Verbs) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	err := v.d.WriteIf(ctx, "claim",
		func(t *core.Tx) (bool, error) {
			claimed = nil
			if _, err := t.NodeAlive(params.Node); err != nil {
				return false, err
			}
			lanes, err := heads(t, params)
			return params.Repeat || len(lanes) > 0, err
		},
		func(t *core.Tx) (err error) {
			claimed, err = claim(t, params)
			return err
		})
	return claimed, err
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
	found, err := heads(t, params)
	for _, h := range found {
		lanes = append(lanes, h.lane)
	}
	if len(found) == 1 {
		claimed, err = takeOne(t, found[0], found[0].demand.atMost(params.Limit))
	} else if len(found) > 1 {
		claimed, err = takeMerged(t, found, params)
	}
	return claimed, lanes, err
}

func (a pointerKey) isBefore(b pointerKey) bool {
	return a.runAt < b.runAt || a.runAt == b.runAt && bytes.Compare(a.id[:], b.id[:]) < 0
}

func (d *demand) atMost(n int) int { return min(d.left, n) }

// heads returns the lanes that the claim may take from, each with its first job. What is in ready
// was found to be due, even if the clock was set back since.
func heads(t *core.Tx, params store.ClaimParams) ([]*head, error) {
	if params.Limit <= 0 || len(params.Kinds) == 0 || params.Queues != nil && len(params.Queues) == 0 {
		return nil, nil
	}
	paused, err := t.PausedQueues()
	if err != nil {
		return nil, err
	}
	var found []*head
	demands := store.NewDemands(params.Queues)
	left := map[int]*demand{}
	s := t.Stmt("next_head")
	for after := int64(math.MinInt64); ; {
		s.BindInt(after)
		more, err := s.Next()
		if err != nil || !more {
			return found, err
		}
		first := pointerKey{}
		after, first.runAt, first.id = s.ReadInt(), s.ReadInt(), db.ReadID(s)
		s.Done()
		l, err := t.LaneOf(after)
		if err != nil {
			return nil, err
		}
		if l.Namespace != params.Namespace || !slices.Contains(params.Kinds, l.Claims) || slices.Contains(paused, l.Queue) {
			continue
		}
		place, most := -1, params.Limit // without demands one is for all
		if params.Queues != nil {
			if place = demands.For(l.QueueName, l.Claims); place < 0 {
				continue
			}
			most = params.Queues[place].Limit
		}
		d := left[place]
		if d == nil {
			d = &demand{left: most}
			left[place] = d
		}
		if d.left > 0 {
			found = append(found, &head{lane: l, demand: d, rows: []pointerKey{first}, last: first, chunk: 16})
		}
	}
}

// takeOne claims the first limit jobs of a lane.
func takeOne(t *core.Tx, h *head, limit int) ([]store.Claimed, error) {
	claimed := make([]store.Claimed, 0, min(limit, 100)) // often there are few
	last := pointerKey{runAt: math.MinInt64}             // that is taken
	s := t.Stmt("claim_bodies")
	s.BindInt(h.lane.ID)
	s.BindInt(int64(limit))
	err := db.Each(s, func() error {
		b := core.Body{Job: store.Job{ID: db.ReadID(s)}}
		if s.ReadNull() { // the lane is NULL: it is a pointer without a body
			last = pointerKey{s.ReadInt(), b.ID}
			return nil
		}
		if _, err := b.Scan(s); err != nil {
			return err
		}
		last = pointerKey{b.RunMicros, b.ID}
		h.lane.Describe(&b.Job)
		b.Attempt++
		b.LeaseNumber++
		claimed = append(claimed, store.Claimed{Job: b.Job, ClaimedAt: db.TimeOf(t.Now), Durable: b.Forked, HasSuccessors: b.Successors})
		return nil
	})
	if err != nil {
		return nil, err
	}
	s = t.Stmt("claim_take")
	s.BindInt(h.lane.ID)
	s.BindInt(last.runAt)
	db.BindID(s, last.id)
	return claimed, db.Exec(s)
}

// takeMerged claims the best jobs of several lanes: it merges their pointers, which says how many
// to take of each and in which order, and then takes them lane by lane. Within a lane older jobs
// are never less urgent than newer ones, so that what it takes of a lane is always its beginning.
func takeMerged(t *core.Tx, lanes []*head, params store.ClaimParams) ([]store.Claimed, error) {
	m := &merge{heads: slices.Clone(lanes), now: t.Now, aging: params.Aging.Microseconds()}
	heap.Init(m)
	var order []*head
	for len(order) < params.Limit && len(m.heads) > 0 {
		best := m.heads[0]
		if best.demand.left == 0 {
			heap.Pop(m)
			continue
		}
		best.demand.left--
		best.take++
		order = append(order, best)
		best.rows = best.rows[1:]
		if len(best.rows) == 0 {
			if err := readOn(t, best, params.Limit-len(order)); err != nil {
				return nil, err
			}
		}
		if len(best.rows) == 0 {
			heap.Pop(m)
		} else {
			heap.Fix(m, 0)
		}
	}
	taken := make(map[*head][]store.Claimed, len(lanes))
	for _, h := range lanes {
		if h.take > 0 {
			jobs, err := takeOne(t, h, h.take)
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

// readOn reads the next pointers of a lane: few at first, as most lanes of a merge give few.
func readOn(t *core.Tx, h *head, limit int) error {
	limit = min(limit, h.chunk)
	if h.ended || limit <= 0 {
		return nil
	}
	h.chunk *= 4
	s := t.Stmt("lane_pointers")
	s.BindInt(h.lane.ID)
	s.BindInt(h.last.runAt)
	db.BindID(s, h.last.id)
	s.BindInt(int64(limit))
	h.rows = h.rows[:0]
	err := db.Each(s, func() error {
		h.rows = append(h.rows, pointerKey{s.ReadInt(), db.ReadID(s)})
		return nil
	})
	h.ended = len(h.rows) < limit
	if len(h.rows) > 0 {
		h.last = h.rows[len(h.rows)-1]
	}
	return err
}

// effectivePriority is that of a lane's first job: one better for each Aging that it has waited, if
// the clock says so.
func (m *merge) effectivePriority(h *head) int64 {
	priority := int64(h.lane.Priority)
	if m.aging > 0 {
		priority = max(1, priority-max(0, m.now-h.rows[0].runAt)/m.aging)
	}
	return priority
}

func (m *merge) Len() int { return len(m.heads) }

func (m *merge) Less(i, j int) bool {
	a, b := m.heads[i], m.heads[j]
	if p, q := m.effectivePriority(a), m.effectivePriority(b); p != q {
		return p < q
	}
	return a.rows[0].isBefore(b.rows[0])
}

func (m *merge) Swap(i, j int) { m.heads[i], m.heads[j] = m.heads[j], m.heads[i] }

// Push is never called: lanes only leave the heap.
func (m *merge) Push(any) {}

func (m *merge) Pop() any {
	last := m.heads[len(m.heads)-1]
	m.heads = m.heads[:len(m.heads)-1]
	return last
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
