//go:build soak

package crashtest

import (
	"cmp"
	"fmt"
	"testing"
	"time"
)

// TestOrder kills a node with one slot while it works off jobs that are all due. Those that run for
// the first time start in the order of priority, run time and enqueue, whichever process starts
// them: one that died takes only what it had claimed out of the line.
func TestOrder(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const jobs, kills = 300, 5
		random := newRandom(t)
		c := newCluster(t, workerConfig{Database: database, Slots: 1, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}, 0)
		load, draw := newLoad(c, random()), random()
		plan := make([]work, jobs)
		for i := range plan {
			plan[i] = work{N: i + 1, Millis: 1 + draw.IntN(5), Priority: 1 + draw.IntN(4), RunAt: 1 + draw.IntN(10)}
		}
		load.enqueue(plan)
		c.add()
		for range kills {
			c.works(c.counted()+10+draw.IntN(60), 0)
			c.kill(0)
			c.start(0)
		}
		h := load.finish()
		problems, figures := verify(h)
		inLine, wrong := inOrder(h)
		t.Logf("%d jobs started in line; %v", inLine, figures)
		report(t, append(problems, wrong...))
		if figures.lost == 0 || inLine < jobs/2 {
			t.Error("too little was in line, or the kills met nothing")
		}
	})
}

// inOrder checks that the jobs that start for the first time do so in the order of priority, run
// time and enqueue, and tells how many they are. Those that were claimed and did not start before
// their node died have left the line; a slow node may start them when it is somebody else's turn.
func inOrder(h history) (starts int, wrong []string) {
	var before work
	for _, e := range h.effects {
		if e.Event != eventStart || e.Lease != 1 || h.deaths[e.Node].slow {
			continue
		}
		w := h.plan[e.N]
		if starts++; cmp.Or(cmp.Compare(before.Priority, w.Priority), cmp.Compare(before.RunAt, w.RunAt), cmp.Compare(before.N, w.N)) > 0 {
			wrong = append(wrong, fmt.Sprintf("job %d: started after job %d, which comes after it: %+v, %+v", w.N, before.N, w, before))
		}
		before = w
	}
	return starts, wrong
}

// TestInOrderBites shows that inOrder looks at the priority, the run time and the place in the
// plan, in this order.
func TestInOrderBites(t *testing.T) {
	t.Parallel()
	h := history{plan: map[int]work{
		1: {N: 1, Priority: 1, RunAt: 2}, 2: {N: 2, Priority: 2, RunAt: 1}, 3: {N: 3, Priority: 2, RunAt: 1}, 4: {N: 4, Priority: 2, RunAt: 3},
	}}
	for _, test := range []struct {
		starts []int
		wrong  int
	}{{[]int{1, 2, 3, 4}, 0}, {[]int{1, 3, 4}, 0}, {[]int{2, 1, 3, 4}, 1}, {[]int{1, 3, 2, 4}, 1}, {[]int{1, 2, 4, 3}, 1}} {
		h.effects = nil
		for _, n := range test.starts {
			h.effects = append(h.effects, effect{Event: eventStart, N: n, Lease: 1})
		}
		// A further run has no place in the line.
		h.effects = append(h.effects, effect{Event: eventStart, N: 1, Lease: 2})
		if starts, wrong := inOrder(h); starts != len(test.starts) || len(wrong) != test.wrong {
			t.Errorf("%v: %d starts, %q", test.starts, starts, wrong)
		}
	}
}
