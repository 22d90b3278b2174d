package core

import (
	"maps"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// maxTails is how many tails a generation keeps.
const maxTails = 4096

// TailCache keeps the newest tails of journals: of runs that go on, and some that do not.
type TailCache struct {
	mu         sync.Mutex
	young, old JournalTails
}

// JournalTail is the last entry that a lease has written to a journal. While the lease lives no
// other run writes to the journal, or removes from it.
type JournalTail struct{ Lease, Seq int64 }

// JournalTails are the tails of journals that this process has written, by their jobs, so that what
// follows need not look whether it does.
type JournalTails map[store.ID]JournalTail

// publish takes in what a transaction has committed.
func (c *TailCache) publish(tails JournalTails) {
	if len(tails) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.young == nil:
		c.young, c.old = JournalTails{}, JournalTails{}
	case len(c.young) >= maxTails:
		clear(c.old)
		c.young, c.old = c.old, c.young
	}
	maps.Copy(c.young, tails)
}

// Of returns the tail of a journal, or none if it is not remembered.
func (c *TailCache) Of(id store.ID) JournalTail {
	c.mu.Lock()
	defer c.mu.Unlock()
	if tail, ok := c.young[id]; ok {
		return tail
	}
	return c.old[id]
}

// Note takes in the tail that an append leaves.
func (t *JournalTails) Note(a *store.Append) {
	if *t == nil {
		*t = JournalTails{}
	}
	(*t)[a.Lease.Job] = JournalTail{a.Lease.Number, a.Entries[len(a.Entries)-1].Seq}
}
