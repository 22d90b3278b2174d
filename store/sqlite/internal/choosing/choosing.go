package choosing

import (
	"bytes"
	"container/heap"
	"math"
	"slices"

	"github.com/holdfastdev/holdfast/store"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/core"
	"github.com/holdfastdev/holdfast/store/sqlite/internal/db"
)

// Head is a lane with something to claim, and how far a merge has read it.
type Head struct {
	Lane   *core.Lane
	demand *demand
	rows   []pointerKey // read and not yet taken
	last   pointerKey   // the last that was read
	ended  bool         // nothing comes after last
	chunk  int          // how many rows to read next
	Take   int          // how many jobs to take
	team   *team        // it stands for these lanes, and Lane is one of them
}

// demand is what may still be taken of what counts in one.
type demand struct{ left int }

// merge is a heap of lanes, the one with the best job first.
type merge struct {
	heads []*Head
	now   int64
	aging int64
}

// pointerKey is a job's place in its lane.
type pointerKey struct {
	runAt int64
	id    store.ID
}

func (a pointerKey) isBefore(b pointerKey) bool {
	return a.runAt < b.runAt || a.runAt == b.runAt && bytes.Compare(a.id[:], b.id[:]) < 0
}

func (d *demand) atMost(n int) int { return min(d.left, n) }

// AtMost is how many jobs a claim of n may take of the lane, if it takes of no other one.
func (h *Head) AtMost(n int) int { return h.demand.atMost(n) }

// Heads returns the lanes that the claim may take from, each with its first job. What is in ready
// was found to be due, even if the clock was set back since.
func Heads(t *core.Tx, params store.ClaimParams) ([]*Head, error) {
	if params.Limit <= 0 || len(params.Kinds) == 0 || params.Queues != nil && len(params.Queues) == 0 {
		return nil, nil
	}
	paused, err := t.PausedQueues()
	if err != nil {
		return nil, err
	}
	var found []*Head
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
			found = append(found, &Head{Lane: l, demand: d, rows: []pointerKey{first}, last: first, chunk: 16})
		}
	}
}

// Merge decides how many jobs a claim takes of several lanes (Take), and returns the lanes in the
// order of the jobs. It reads pointers alone. Within a lane older jobs are never less urgent than
// newer ones, so that what is taken of a lane is always its beginning.
func Merge(t *core.Tx, lanes []*Head, params store.ClaimParams) (order []*Head, err error) {
	heads, err := teamsOf(t, lanes, params)
	if err != nil {
		return nil, err
	}
	m := &merge{heads: heads, now: t.Now, aging: params.Aging.Microseconds()}
	heap.Init(m)
	for len(order) < params.Limit && len(m.heads) > 0 {
		best := m.heads[0]
		if best.demand.left == 0 {
			heap.Pop(m)
			continue
		}
		best.demand.left--
		from := best.taken()
		from.Take++
		order = append(order, from)
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
	return order, nil
}

// readOn reads the next pointers of a lane: few at first, as most lanes of a merge give few.
func readOn(t *core.Tx, h *Head, limit int) error {
	limit = min(limit, h.chunk)
	if h.ended || limit <= 0 {
		return nil
	}
	h.chunk *= 4
	s := t.Stmt("lane_pointers")
	s.BindInt(h.Lane.ID)
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
func (m *merge) effectivePriority(h *Head) int64 {
	priority := int64(h.Lane.Priority)
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
