//go:build unix

package crashtest

import (
	"context"
	"maps"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestSlowNode freezes a node in the middle of its work until it has been declared dead and its jobs run elsewhere, and lets it go on. It
// is slow, not dead: what it still writes must be refused.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const rounds, tries, batch, workers = 4, 40, 120, 3
		random := newRandom(t)
		plan := newPlan(random, tries*batch)
		for i := range plan {
			// When its node freezes a job is likely to be between two checkpoints, or before its end, and to be so again elsewhere when the
			// node goes on: then both write at the same time.
			if w := &plan[i]; w.Key == "" {
				switch random.IntN(4) {
				case 0:
					w.Stages, w.Millis = 4, 300
				case 1, 2:
					w.Stages, w.Millis = 0, 300
				}
			}
		}
		c := newCluster(t, workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, workers)
		c.joined()
		load := newLoad(c)
		slow, taken := 0, 0
		for try := 0; slow < rounds; try++ {
			if try == tries {
				t.Fatal("too often a worker had nothing to do, or was frozen within a transaction")
			}
			load.enqueue(plan[try*batch : (try+1)*batch])
			if n := c.slowDown(random.IntN(workers)); n > 0 {
				slow++
				taken += n
			}
		}
		h := load.finish(3 * time.Minute)
		problems, figures := verify(h)
		t.Logf("%d runs were taken from slow nodes %v; %v", taken, h.slow, figures)
		report(t, problems)
		if len(h.slow) < rounds || figures.late == 0 {
			t.Error("no slow node tried to write")
		}
	})
}

// slowDown freezes the process at a place while it runs jobs, waits until they run elsewhere, and lets it go on. It returns how many
// there were, or 0 if it could not be done.
func (c *cluster) slowDown(place int) int {
	c.t.Helper()
	from := max(c.counted()-100, 0)
	w := c.workers[place]
	var id int64
	busy := wait(5*time.Second, func() bool {
		id = c.alive(place)
		return len(c.held(id, from)) >= 3
	})
	if !busy {
		return 0
	}
	if err := w.Freeze(); err != nil {
		c.t.Fatal(err)
	}
	if !c.writable() {
		c.t.Logf("worker %s was frozen within a transaction", w.name)
		c.thaw(w)
		return 0
	}
	until(c.t, "worker "+w.name+" is declared dead", func() bool { return c.alive(place) != id })
	held := c.held(id, from)
	until(c.t, "what worker "+w.name+" ran runs elsewhere", func() bool { return c.runsLater(held, from) })
	c.thaw(w)
	until(c.t, "worker "+w.name+" joined again", func() bool { return c.alive(place) != 0 })
	return len(held)
}

func (c *cluster) thaw(w *worker) {
	c.t.Helper()
	if err := w.Thaw(); err != nil {
		c.t.Fatal(err)
	}
}

// writable reports whether the database takes writes. It does not while a frozen process holds SQLite's one lock for writing; then
// nobody can declare that process dead.
func (c *cluster) writable() bool {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Second)
	defer cancel()
	return c.client.PauseQueue(ctx, "probe") == nil
}

// held are the jobs, with their leases, that a node had started and not done by the end of the file.
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

// runsLater reports whether all the jobs were started under later leases.
func (c *cluster) runsLater(held map[holdfast.ID]int64, from int) bool {
	left := maps.Clone(held)
	for _, e := range c.effects(from) {
		if lease, ok := left[e.Job]; ok && e.Event == eventStart && e.Lease > lease {
			delete(left, e.Job)
		}
	}
	return len(left) == 0
}
