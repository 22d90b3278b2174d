package engine

import (
	"slices"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// starts lets jobs that are enqueued in this process run at once, if the node has free slots and, as far as it knows, nothing is waiting
// for them: their enqueue and their claim are one commit, and nobody looks for them. The store has the last word, since it knows what is
// waiting in their lanes.
type starts struct {
	node *node

	mu     sync.Mutex
	closed bool // the node stops: what starts now is given back
}

// starting are enqueues on their way for which the node has reserved slots.
type starting struct {
	node  *node
	start *store.Start
	jobs  []*store.Enqueue

	settled bool
}

// reserve takes slots for the first of the enqueues, as many as can run now, and returns nil if there are none. Behind one that has to wait
// for a claim nothing starts, so that jobs begin in their order.
func (s *starts) reserve(enqueues []*store.Enqueue) *starting {
	n := s.node
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || !n.dispatch.sawNothing() {
		return nil
	}
	var jobs []*store.Enqueue
	for _, q := range enqueues {
		if q.Job.Namespace != n.engine.cfg.Namespace || q.Delay > 0 || !q.Job.RunAt.IsZero() ||
			!n.slots.serves(q.Job.Queue) || !slices.Contains(n.kinds, q.Job.Kind) {
			continue // no job for this node, or none for now
		}
		q.Start = true
		if !q.MayStart() || !n.slots.reserve(q.Job.Queue) {
			q.Start = false
			break
		}
		jobs = append(jobs, q)
	}
	if jobs == nil {
		return nil
	}
	n.outcomes.Add(1) // the node does not leave before it knows what became of them
	id := n.id.Load()
	return &starting{node: n, jobs: jobs, start: &store.Start{Node: id, Seq: n.numbers.take(id, len(jobs))}}
}

// close ends the starts: from now on nothing is reserved, and what is committed later is given back.
func (s *starts) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

// settle is called once it is known what became of the enqueues: those that were claimed run, and the slots of the others are free. Nil has
// nothing to settle.
func (s *starting) settle() {
	if s == nil {
		return
	}
	n := s.node
	defer n.outcomes.Done()
	s.settled = true
	claimed := s.start.Claimed
	for _, q := range s.jobs {
		q.Start = false
		if len(claimed) > 0 && claimed[0].Job.ID == q.Job.ID {
			n.starts.begin(claimed[0])
			claimed = claimed[1:]
			continue
		}
		n.slots.unreserve(q.Job.Queue)
		n.dispatch.free()
	}
}

// begin lets a job run in the slot that was reserved for it.
func (s *starts) begin(c store.Claimed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.node.run(c)
		return
	}
	s.node.slots.unreserve(c.Job.Queue)
	s.node.release(c)
}

// cancel is settle for enqueues that did not happen, or of which nobody can know.
func (s *starting) cancel() {
	if s != nil {
		s.start.Claimed = nil
		s.settle()
	}
}

// numbers hands out the numbers of claim records of one membership after the other.
type numbers struct {
	mu       sync.Mutex
	id, next int64
}

// take returns the first of the numbers for a claim of so many jobs.
func (c *numbers) take(id int64, jobs int) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.id != id {
		c.id, c.next = id, 1
	}
	first := c.next
	c.next += int64((jobs + store.MaxClaimSlots - 1) / store.MaxClaimSlots)
	return first
}
