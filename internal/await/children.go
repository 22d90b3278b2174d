package await

import (
	"fmt"
	"strconv"

	"github.com/holdfastdev/holdfast/internal/blocked"
	"github.com/holdfastdev/holdfast/internal/journal"
	"github.com/holdfastdev/holdfast/internal/memory"
	"github.com/holdfastdev/holdfast/store"
)

// FanOut says how many children run at once, and when waiting for them ends.
type FanOut struct {
	AtOnce int // 0: all
	// Enough reports, after the given numbers of children have completed and failed, whether
	// waiting ends before all have.
	Enough func(completed, failed int) bool
	// Failures: a failure may be enough.
	Failures bool
}

// Children are many children of a kind, of which only so many run at once.
type Children struct {
	Kind    string
	Path    string           // of the operation that has started them
	All     []*Child         // nil: it was not started
	Answers []*store.Message // nil: it was not waited for

	how                        FanOut
	started, completed, failed int
	open                       []int // started and not answered
}

// NewChildren makes n children that are not started yet.
func NewChildren(kind, path string, n int, how FanOut) *Children {
	if how.AtOnce <= 0 || how.AtOnce > n {
		how.AtOnce = max(n, 1)
	}
	return &Children{Kind: kind, Path: path, All: make([]*Child, n), Answers: make([]*store.Message, n), how: how}
}

// PathOf is the path of the entry that remembers one of them.
func (c *Children) PathOf(i int) string { return c.Path + "." + strconv.Itoa(i+1) }

// Next returns which one is to be started next, if one may be now.
func (c *Children) Next() (i int, may bool) {
	return c.started, len(c.open) < c.how.AtOnce && c.started < len(c.All)
}

// Start notes that the next one was started.
func (c *Children) Start(child *Child) {
	c.All[c.started] = child
	c.open = append(c.open, c.started)
	c.started++
}

// Collect takes the answers that have arrived, and returns how many.
func (c *Children) Collect(m *memory.Memory) (found int) {
	left := c.open[:0]
	for _, i := range c.open {
		msg := m.Settled(c.All[i].Path)
		if msg == nil {
			msg = m.Answer(c.All[i].ID)
		}
		if msg == nil {
			left = append(left, i)
			continue
		}
		found++
		c.Answers[i] = msg
		if msg.State == store.Completed {
			c.completed++
		} else {
			c.failed++
		}
	}
	c.open = left
	return found
}

// IsEnough reports whether waiting ends with what was collected.
func (c *Children) IsEnough() bool {
	return c.completed+c.failed == len(c.All) || c.how.Enough != nil && c.how.Enough(c.completed, c.failed)
}

// IsReady reports whether there is something to collect.
func (c *Children) IsReady(m *memory.Memory) bool {
	for _, i := range c.open {
		if m.Answer(c.All[i].ID) != nil {
			return true
		}
	}
	return false
}

// Blocked is what a strand waits for that waits for them. It is woken when half of those that run
// have ended, or all, and not for each.
func (c *Children) Blocked() blocked.On {
	on := blocked.On{Failures: c.how.Failures, What: fmt.Sprintf("%d of %d children of kind %s", len(c.open), len(c.All), c.Kind)}
	switch {
	case c.how.Enough != nil && !c.how.Failures:
		on.Kinds = store.MessagesOf(store.MessageChild)
	case c.started < len(c.All):
		on.Count = int64(max(1, len(c.open)/2))
	default:
		on.Count = int64(max(1, len(c.open)))
	}
	return on
}

// Decide remembers what the end of the waiting rests on: failures, and, if it may end before all
// have answered, which had.
func (c *Children) Decide(m *memory.Memory) {
	for i, msg := range c.Answers {
		if msg != nil && (c.how.Enough != nil || msg.State != store.Completed) && m.Settled(c.All[i].Path) == nil {
			m.Record(store.Entry{Kind: store.EntryReceived, Path: c.All[i].Path, Ref: msg.Seq})
		}
	}
	if c.how.Enough != nil {
		m.Record(store.Entry{Kind: store.EntrySelected, Path: c.Path, Data: journal.Encode(c.completed + c.failed)})
	}
}

// Recall takes up one that the journal remembers, with the answer that was decided on.
func (c *Children) Recall(m *memory.Memory, i int, child *Child) {
	c.All[i], c.Answers[i] = child, m.Settled(child.Path)
}
