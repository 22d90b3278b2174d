package engine

import (
	"slices"

	"github.com/holdfastdev/holdfast/internal/commit"
	"github.com/holdfastdev/holdfast/store"
)

// reserve reserves room for the first of the enqueues, as many as possible, and returns nil if
// there is no room. It stops at the first that must wait for a claim, so that jobs start in order.
func (s *starts) reserve(enqueues []*store.Enqueue) *commit.Starting {
	n := s.node
	s.mu.Lock()
	defer s.mu.Unlock()
	now := n.store.Now()
	if s.closed || !n.slots.MayStart(now) {
		return nil
	}
	jobs := commit.Startable(enqueues, now, len(enqueues), func(q *store.Enqueue) bool {
		return q.Job.Namespace == n.runner.namespace && n.slots.Serves(q.Job.Queue) && slices.Contains(n.kinds, q.Job.Kind)
	})
	room := n.slots.Reserve(jobs, now)
	for _, q := range jobs[room:] {
		q.Start = false
	}
	if room == 0 {
		return nil
	}
	n.outcomes.Add(1) // the node does not leave before settle
	id := n.id.Load()
	start := &store.Start{Node: id, Seq: n.numbers.take(id, room)}
	return &commit.Starting{Start: start, Settle: func() { s.settle(start, jobs[:room]) }}
}

// close ends fast starts: nothing is reserved from now on, and jobs committed later are given back.
func (s *starts) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// settle is called when the result of the enqueues is known: claimed jobs run, or are given back if
// the node stops, and the remaining reservations are released.
func (s *starts) settle(start *store.Start, jobs []*store.Enqueue) {
	n := s.node
	defer n.numbers.settle(start.Node, start.Seq)
	for _, q := range jobs {
		q.Start = false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		n.slots.GiveBackReserved(jobs, start.Claimed)
		for _, c := range start.Claimed {
			n.release(c)
		}
	} else {
		n.runAll(n.slots.AdmitReserved(jobs, start.Claimed))
		n.refuse()
		if len(start.Claimed) < len(jobs) {
			n.dispatch.free()
		}
	}
	n.outcomes.Done()
}

// refuse gives back jobs that have come although the node is quiet: their claim was on its way.
func (n *node) refuse() {
	for _, c := range n.slots.TakeRefused() {
		n.release(c)
	}
}

// begin starts a membership: it is called before the node has its new id.
func (c *numbers) begin(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.id, c.next, c.underway = id, 1, nil
}

// take returns the first of the record numbers for a claim of the given size. The caller calls
// settle when the result of the claim is known. If the node has joined again since the caller read
// its id, the store refuses the claim, so its numbers do not matter: they are not taken back.
func (c *numbers) take(id int64, jobs int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := c.next
	c.next += int64(store.ClaimRecords(jobs))
	if c.id == id {
		c.underway = append(c.underway, first)
	}
	return first
}

// taken returns the number that the next claim takes: those of all before it are below.
func (c *numbers) taken(id int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != id {
		return 0
	}
	return c.next
}

// settle notes that a claim is no longer in progress.
func (c *numbers) settle(id, first int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if i := slices.Index(c.underway, first); c.id == id && i >= 0 {
		c.underway = slices.Delete(c.underway, i, i+1)
	}
}

// settled returns the low-water mark: no claim below it is in progress.
func (c *numbers) settled(id int64) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.id != id:
		return 0
	case len(c.underway) > 0:
		return slices.Min(c.underway)
	}
	return c.next
}
