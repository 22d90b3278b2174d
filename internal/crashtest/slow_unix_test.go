//go:build unix

package crashtest

import (
	"maps"
	"time"

	"github.com/holdfastdev/holdfast"
)

// slowDown freezes the process at a place while it runs jobs, waits until they run elsewhere, and
// lets it go on. It returns how many there were, none if the workers ran out of jobs, and how many
// records the process wrote of them afterwards. It cannot be done if the process was frozen within
// a transaction that keeps others from writing: then nobody can declare it dead. The patience is
// how long a write may take before that is assumed.
func (c *cluster) slowDown(place, waiting int, patience time.Duration) (runs, late int, done bool) {
	c.t.Helper()
	from := max(c.counted()-100, 0)
	w := c.workers[place]
	var id int64
	c.until("worker "+w.name+" works, or there is nothing to do", func() bool {
		id = c.alive(place)
		runs = len(c.held(id, from))
		return runs >= 3 || c.idle(waiting)
	})
	if runs < 3 {
		return 0, 0, true
	}
	if err := w.Freeze(); err != nil {
		c.t.Fatal(err)
	}
	if !c.writable(patience) {
		c.t.Logf("worker %s was frozen within a transaction", w.name)
		c.thaw(w)
		return 0, 0, false
	}
	c.until("worker "+w.name+" is declared dead", func() bool { return c.alive(place) != id })
	held := c.held(id, from)
	c.until("what worker "+w.name+" ran runs elsewhere", func() bool { return c.runsLater(held, from) })
	before := c.counted()
	c.thaw(w)
	c.until("worker "+w.name+" joined again", func() bool { return c.alive(place) != 0 })
	for _, e := range c.effects(before) {
		if e.Node == id {
			late++
		}
	}
	return len(held), late, true
}

func (c *cluster) thaw(w *worker) {
	c.t.Helper()
	if err := w.Thaw(); err != nil {
		c.t.Fatal(err)
	}
}

// held are the jobs, with their leases, that a node had started and not done by the end of the
// file.
func (c *cluster) held(node int64, from int) map[holdfast.ID]int64 {
	held := map[holdfast.ID]int64{}
	for _, e := range c.effects(from) {
		switch {
		case e.Node != node:
		case e.Event == eventStart:
			held[e.Job] = e.Lease
		case e.Event == eventEffect && held[e.Job] == e.Lease:
			delete(held, e.Job)
		}
	}
	return held
}

// runsLater reports whether all the jobs were started under later leases, or have finished.
func (c *cluster) runsLater(held map[holdfast.ID]int64, from int) bool {
	c.t.Helper()
	left := maps.Clone(held)
	for _, e := range c.effects(from) {
		if lease, ok := left[e.Job]; ok && e.Event == eventStart && e.Lease > lease {
			delete(left, e.Job)
		}
	}
	for id := range left {
		if !c.record(id).State.Finished() { // it may have been cancelled
			return false
		}
	}
	return true
}
