//go:build unix

package crashtest

import (
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestSlowNode freezes a node in the middle of its work until it has been declared dead and its jobs run elsewhere, and lets it go on. It
// is slow, not dead: what it still writes must be refused.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const rounds, batch, workers = 4, 120, 3
		random := newRandom(t)
		plan := newPlan(random, rounds*batch)
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
		load := newLoad(c, plan)
		taken := 0
		for i := range rounds {
			load.enqueue(plan[i*batch:(i+1)*batch], plan[:(i+1)*batch])
			taken += c.slowDown(random)
		}
		h := load.finish(time.Minute)
		problems, figures := verify(h)
		t.Logf("%d runs were taken from slow nodes %v; %v", taken, h.slow, figures)
		report(t, problems)
		if len(h.slow) < rounds || figures.refused == 0 {
			t.Error("no slow node tried to write")
		}
	})
}

// slowDown freezes a process while it runs jobs, waits until they run elsewhere, and lets it go on. It returns how many there were.
func (c *cluster) slowDown(random *rand.Rand) int {
	c.t.Helper()
	for range 10 {
		from := max(c.counted()-100, 0)
		place := random.IntN(len(c.workers))
		w := c.workers[place]
		var id int64
		until(c.t, "worker "+w.name+" runs jobs", func() bool {
			id = c.alive(place)
			return len(c.held(id, from)) >= 3
		})
		if err := w.Freeze(); err != nil {
			c.t.Fatal(err)
		}
		dead := wait(6*time.Second, func() bool { return c.alive(place) != id })
		held := c.held(id, from)
		if dead {
			until(c.t, "what worker "+w.name+" ran runs elsewhere", func() bool { return c.runsLater(held, from) })
		}
		if err := w.Thaw(); err != nil {
			c.t.Fatal(err)
		}
		if dead {
			until(c.t, "worker "+w.name+" joined again", func() bool { return c.alive(place) != 0 })
			return len(held)
		}
		// The process held SQLite's one lock for writing. Nobody can write before it goes on, so nobody can declare it dead.
		c.t.Logf("worker %s was frozen within a transaction; trying again", w.name)
	}
	c.t.Fatal("every worker that was frozen was so within a transaction")
	return 0
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
