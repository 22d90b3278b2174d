package core

import (
	"maps"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// maxEnds is how many ends a generation keeps.
const maxEnds = 4096

// EndCache keeps the newest ends of journals: of runs that go on, and some that do not.
type EndCache struct {
	mu         sync.Mutex
	young, old JournalEnds
}

// JournalEnd is the last entry that a lease has written. While the lease lives no other run writes
// to the journal, or removes from it.
type JournalEnd struct{ Lease, Seq int64 }

// JournalEnds are the ends of journals that this process has written, so that what follows need not
// look whether it does.
type JournalEnds map[store.ID]JournalEnd

// publish takes in what a transaction has committed.
func (c *EndCache) publish(ends JournalEnds) {
	if len(ends) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.young == nil:
		c.young, c.old = JournalEnds{}, JournalEnds{}
	case len(c.young) >= maxEnds:
		clear(c.old)
		c.young, c.old = c.old, c.young
	}
	maps.Copy(c.young, ends)
}

// Of returns the end of a journal, or none if it is not remembered.
func (c *EndCache) Of(id store.ID) JournalEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end, ok := c.young[id]; ok {
		return end
	}
	return c.old[id]
}

// Note takes in the end of what an append writes.
func (e *JournalEnds) Note(a *store.Append) {
	if *e == nil {
		*e = JournalEnds{}
	}
	(*e)[a.Lease.Job] = JournalEnd{a.Lease.Number, a.Entries[len(a.Entries)-1].Seq}
}
