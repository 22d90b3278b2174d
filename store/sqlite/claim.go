package sqlite

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
)

// head is a lane with something to claim, and how far a merge has read it.
type head struct {
	lane  *lane
	queue *demand
	rows  []pointerKey // read and not yet taken
	last  pointerKey   // the last that was read
	ended bool         // nothing comes after last
	chunk int          // how many rows to read next
	taken int
}

// demand is what may still be taken of a queue.
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
func (v workVerbs) Claim(ctx context.Context, params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	err := v.d.writeIf(ctx, "claim",
		func(t *tx) (bool, error) {
			claimed = nil
			if _, err := t.nodeAlive(params.Node); err != nil {
				return false, err
			}
			heads, err := t.heads(params)
			return params.Repeat || len(heads) > 0, err
		},
		func(t *tx) (err error) {
			claimed, err = t.claim(params)
			return err
		})
	return claimed, err
}

func (t *tx) claim(params store.ClaimParams) ([]store.Claimed, error) {
	lastSeq, err := t.nodeAlive(params.Node)
	if err != nil {
		return nil, err
	}
	if params.Repeat && (params.Seq <= lastSeq || params.After.Claim != 0) {
		return t.claimedBefore(params)
	}
	heads, err := t.heads(params)
	if err != nil || len(heads) == 0 {
		return nil, err
	}
	var claimed []store.Claimed
	if len(heads) == 1 {
		claimed, err = t.takeOne(heads[0], heads[0].queue.atMost(params.Limit))
	} else {
		claimed, err = t.takeMerged(heads, params)
	}
	if err != nil || len(claimed) == 0 {
		return nil, err
	}
	return claimed, t.writeClaims(params, claimed)
}

func (a pointerKey) before(b pointerKey) bool {
	return a.runAt < b.runAt || a.runAt == b.runAt && bytes.Compare(a.id[:], b.id[:]) < 0
}

func (d *demand) atMost(n int) int { return min(d.left, n) }

// heads returns the lanes that the claim may take from, each with its first job. What is in ready
// was found to be due, even if the clock was set back since.
func (t *tx) heads(params store.ClaimParams) ([]*head, error) {
	if params.Limit <= 0 || len(params.Kinds) == 0 || params.Queues != nil && len(params.Queues) == 0 {
		return nil, nil
	}
	paused, err := t.pausedQueues()
	if err != nil {
		return nil, err
	}
	var found []*head
	demands := map[int64]*demand{}
	s := t.stmt("next_head")
	for after := int64(math.MinInt64); ; {
		s.bindInt(after)
		more, err := s.next()
		if err != nil || !more {
			return found, err
		}
		first := pointerKey{}
		after, first.runAt, first.id = s.readInt(), s.readInt(), readID(s)
		s.done()
		l, err := t.laneOf(after)
		if err != nil {
			return nil, err
		}
		if l.namespace != params.Namespace || !slices.Contains(params.Kinds, l.kind) || slices.Contains(paused, l.queue) {
			continue
		}
		d := demands[l.queue]
		if d == nil {
			d = &demand{left: limitOf(params, l.queueName)}
			demands[l.queue] = d
		}
		if d.left > 0 {
			found = append(found, &head{lane: l, queue: d, rows: []pointerKey{first}, last: first, chunk: 16})
		}
	}
}

// limitOf returns how many jobs of a queue may be taken.
func limitOf(params store.ClaimParams, queue string) int {
	if params.Queues == nil {
		return params.Limit
	}
	for _, q := range params.Queues {
		if q.Name == queue {
			return q.Limit
		}
	}
	return 0
}

// pausedQueues returns the queues that hand out nothing.
func (t *tx) pausedQueues() ([]int64, error) {
	var paused []int64
	s := t.stmt("queues_paused")
	return paused, each(s, func() error {
		paused = append(paused, s.readInt())
		return nil
	})
}

// takeOne claims the first limit jobs of a lane.
func (t *tx) takeOne(h *head, limit int) ([]store.Claimed, error) {
	claimed := make([]store.Claimed, 0, min(limit, 100)) // often there are few
	h.last = pointerKey{runAt: math.MinInt64}            // from here on: the last that is taken
	s := t.stmt("claim_bodies")
	s.bindInt(h.lane.id)
	s.bindInt(int64(limit))
	err := each(s, func() error {
		b := body{Job: store.Job{ID: readID(s)}}
		if s.readNull() { // a pointer without a body
			h.last = pointerKey{s.readInt(), b.ID}
			return nil
		}
		if _, err := b.scan(s); err != nil {
			return err
		}
		h.last = pointerKey{b.runAt, b.ID}
		h.lane.describe(&b.Job)
		b.Attempt++
		b.LeaseNumber++
		claimed = append(claimed, store.Claimed{Job: b.Job, ClaimedAt: timeOf(t.now), Durable: b.forked})
		return nil
	})
	if err != nil {
		return nil, err
	}
	s = t.stmt("claim_take")
	s.bindInt(h.lane.id)
	s.bindInt(h.last.runAt)
	bindID(s, h.last.id)
	return claimed, exec(s)
}

// takeMerged claims the best jobs of several lanes: it merges their pointers, which says how many to take of each and
// in which order, and then takes them lane by lane. Within a lane older jobs are never less urgent than newer ones, so that what
// it takes of a lane is always its beginning.
func (t *tx) takeMerged(heads []*head, params store.ClaimParams) ([]store.Claimed, error) {
	m := &merge{heads: slices.Clone(heads), now: t.now, aging: params.Aging.Microseconds()}
	heap.Init(m)
	var order []*head
	for len(order) < params.Limit && len(m.heads) > 0 {
		best := m.heads[0]
		if best.queue.left == 0 {
			heap.Pop(m)
			continue
		}
		best.queue.left--
		best.taken++
		order = append(order, best)
		best.rows = best.rows[1:]
		if len(best.rows) == 0 {
			if err := t.readOn(best, params.Limit-len(order)); err != nil {
				return nil, err
			}
		}
		if len(best.rows) == 0 {
			heap.Pop(m)
		} else {
			heap.Fix(m, 0)
		}
	}
	taken := make(map[*head][]store.Claimed, len(heads))
	for _, h := range heads {
		if h.taken > 0 {
			jobs, err := t.takeOne(h, h.taken)
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
func (t *tx) readOn(h *head, limit int) error {
	limit = min(limit, h.chunk)
	if h.ended || limit <= 0 {
		return nil
	}
	h.chunk *= 4
	s := t.stmt("lane_pointers")
	s.bindInt(h.lane.id)
	s.bindInt(h.last.runAt)
	bindID(s, h.last.id)
	s.bindInt(int64(limit))
	h.rows = h.rows[:0]
	err := each(s, func() error {
		h.rows = append(h.rows, pointerKey{s.readInt(), readID(s)})
		return nil
	})
	h.ended = len(h.rows) < limit
	if len(h.rows) > 0 {
		h.last = h.rows[len(h.rows)-1]
	}
	return err
}

// effective is the priority of a lane's first job: one more urgent for each aging that it has
// waited, if the clock knows that it has.
func (m *merge) effective(h *head) int64 {
	priority := int64(h.lane.priority)
	if m.aging > 0 {
		priority = max(1, priority-max(0, m.now-h.rows[0].runAt)/m.aging)
	}
	return priority
}

func (m *merge) Len() int { return len(m.heads) }

func (m *merge) Less(i, j int) bool {
	a, b := m.heads[i], m.heads[j]
	if p, q := m.effective(a), m.effective(b); p != q {
		return p < q
	}
	return a.rows[0].before(b.rows[0])
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
func (t *tx) writeClaims(params store.ClaimParams, claimed []store.Claimed) error {
	seq := params.Seq
	for start := 0; start < len(claimed); start += store.MaxClaimSlots {
		batch := claimed[start:min(start+store.MaxClaimSlots, len(claimed))]
		ids := make([]byte, 0, len(batch)*len(store.ID{}))
		var leases []byte
		for slot := range batch {
			c := &batch[slot]
			ids = append(ids, c.Job.ID[:]...)
			c.Lease = store.Lease{Job: c.Job.ID, Number: c.Job.LeaseNumber, Node: params.Node, Claim: seq, Slot: slot}
			if err := t.startRun(c); err != nil {
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
		s := t.stmt("claim_insert")
		s.bindInt(params.Node)
		s.bindInt(seq)
		s.bindInt(t.now)
		s.bindInt(1<<len(batch) - 1)
		s.bindBlob(ids)
		bindOptBlob(s, leases)
		if err := exec(s); err != nil {
			return fmt.Errorf("claim record %d of node %d, which a node may use once: %w", seq, params.Node, err)
		}
		seq++
	}
	s := t.stmt("node_claims")
	s.bindInt(seq - 1)
	s.bindInt(params.Node)
	return exec(s)
}

// startRun does what entering Running asks for, and reads what earlier runs left. The first run of a job has no such things, unless it
// is a fork.
func (t *tx) startRun(c *store.Claimed) error {
	if err := t.enter(&c.Job, store.Running); err != nil || c.Lease.Number == 1 && !c.Durable {
		return err
	}
	return t.readTraces(c)
}

// readTraces tells what earlier runs left of a job and what people asked of it.
func (t *tx) readTraces(c *store.Claimed) error {
	s := t.stmt("traces")
	bindID(s, c.Job.ID)
	found, err := s.next()
	if err != nil || !found {
		return unexpected("traces", err)
	}
	defer s.done()
	c.Durable = s.readInt() != 0
	c.CancelRequested, c.CancelReason = readOptInt(s) != 0, readOptText(s)
	if s.readNull() {
		c.Checkpoint = nil
		return nil
	}
	c.Checkpoint = scanCheckpoint(s)
	return nil
}

// claimedBefore returns the jobs that an earlier claim with the same number took and that still run.
func (t *tx) claimedBefore(params store.ClaimParams) ([]store.Claimed, error) {
	var claimed []store.Claimed
	for seq := params.Seq; seq < params.Seq+int64(params.Records()); seq++ {
		r, err := t.record(recordName{params.Node, seq})
		if err != nil {
			return nil, err
		}
		for slot := range r.slots() {
			if !r.runs(slot) || !params.After.Before(r.lease(slot)) {
				continue
			}
			if params.Sent > params.Limit && len(claimed) >= params.Limit {
				return claimed, nil
			}
			b, found, err := t.body(r.job(slot))
			if err != nil {
				return nil, err
			}
			if !found {
				continue
			}
			c := store.Claimed{Job: b.Job, Lease: r.lease(slot), ClaimedAt: timeOf(r.claimedAt)}
			c.Job.Attempt++
			c.Job.LeaseNumber = c.Lease.Number
			if err := t.readTraces(&c); err != nil {
				return nil, err
			}
			claimed = append(claimed, c)
		}
	}
	return claimed, nil
}
