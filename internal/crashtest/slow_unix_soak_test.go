//go:build soak && unix

package crashtest

import (
	"testing"
	"time"
)

// TestSlowNode freezes a node in the middle of its work until it has been declared dead and its
// jobs run elsewhere, and lets it go on. It is slow, not dead: what it still writes must be
// refused.
func TestSlowNode(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const rounds, batch, workers = 4, 120, 3
		random := newRandom(t)
		c := newCluster(t, workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, workers)
		c.joined()
		load, plan, place := newLoad(c, random()), planner{random: random()}, random()
		slow, taken, late, patience := 0, 0, 0, time.Second
		for slow < rounds || late == 0 && slow < 5*rounds {
			jobs := plan.next(batch)
			for i := range jobs {
				// When its node freezes a job is likely to be between two checkpoints, or before
				// its end, and to be so again elsewhere when the node goes on: then both write at
				// the same time.
				if w := &jobs[i]; w.Key == "" {
					switch plan.random.IntN(4) {
					case 0:
						w.Stages, w.Millis = 4, 300
					case 1, 2:
						w.Stages, w.Millis = 0, 300
					}
				}
			}
			load.enqueue(jobs)
			load.ask()
			runs, wrote, done := c.slowDown(place.IntN(workers), load.waiting(), patience)
			if !done {
				patience *= 2 // perhaps it is not the frozen process that keeps the database from writing
				continue
			}
			patience = time.Second
			if runs > 0 {
				slow, taken, late = slow+1, taken+runs, late+wrote
			}
		}
		load.cancelRunning()
		h := load.finish()
		problems, figures := verify(h)
		t.Logf("%d runs were taken from slow nodes %v; %v", taken, h.slowNodes(), figures)
		report(t, problems)
		if figures.late == 0 {
			t.Error("no slow node tried to write")
		}
	})
}
