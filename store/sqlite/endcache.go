package sqlite

import (
	"maps"
	"sync"

	"github.com/holdfastdev/holdfast/store"
)

// maxEnds is how many ends a generation keeps.
const maxEnds = 4096

// endCache keeps the newest ends of journals: of runs that go on, and some that do not.
type endCache struct {
	mu         sync.Mutex
	young, old journalEnds
}

// journalEnd is the last entry that a lease has written. While the lease lives nobody else writes to the journal, or removes from it.
type journalEnd struct{ lease, seq int64 }

// journalEnds are the ends of journals that this process has written, so that what follows need not look whether it does.
type journalEnds map[store.ID]journalEnd

// publish takes in what a transaction has committed.
func (c *endCache) publish(ends journalEnds) {
	if len(ends) == 0 {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.young == nil:
		c.young, c.old = journalEnds{}, journalEnds{}
	case len(c.young) >= maxEnds:
		clear(c.old)
		c.young, c.old = c.old, c.young
	}
	maps.Copy(c.young, ends)
}

// of returns the end of a journal, or none if it is not remembered.
func (c *endCache) of(id store.ID) journalEnd {
	c.mu.Lock()
	defer c.mu.Unlock()
	if end, ok := c.young[id]; ok {
		return end
	}
	return c.old[id]
}

// note takes in the end of what an append writes.
func (e *journalEnds) note(a *store.Append) {
	if *e == nil {
		*e = journalEnds{}
	}
	(*e)[a.Lease.Job] = journalEnd{a.Lease.Number, a.Entries[len(a.Entries)-1].Seq}
}
