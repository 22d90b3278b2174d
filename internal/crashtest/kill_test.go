package crashtest

import (
	"maps"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast"
)

// TestKill kills three nodes again and again while they work.
func TestKill(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const batches, batch, workers = 20, 100, 3
		random := newRandom(t)
		plan := newPlan(random, batches*batch)
		config := workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}
		if strings.HasPrefix(database, "sqlite:") {
			// There a kill is known at once, and three processes that share one lock for writing beat late on a busy machine.
			config.Beat, config.Dead = time.Second, 6*time.Second
		}
		c := newCluster(t, config, workers)
		load := newLoad(c)
		kills := 0
		for i := range batches {
			load.enqueue(plan[i*batch : (i+1)*batch])
			for range 1 + i%2 {
				target := c.counted() + 10 + random.IntN(100)
				if !wait(5*time.Second, func() bool { return c.counted() >= target }) {
					continue // those that live have nothing to do until somebody is declared dead
				}
				for _, place := range random.Perm(workers)[:victims(random, workers)] {
					c.kill(place)
					c.start(place)
					kills++
				}
			}
		}
		h := load.finish(3 * time.Minute)
		problems, figures := verify(h)
		t.Logf("%d kills, slow nodes: %v; %v", kills, h.slow, figures)
		report(t, problems)
		if kills < batches || figures.lost < kills || figures.duplicates["node_lost"] == 0 {
			t.Error("the kills met too little work to mean something")
		}
	})
}

// victims is how many workers are killed at once: seldom all of them.
func victims(random *rand.Rand, workers int) int {
	switch random.IntN(8) {
	case 0:
		return workers
	case 1:
		return 2
	}
	return 1
}

// load is what the jobs of a test are, as far as they are enqueued.
type load struct {
	c       *cluster
	plan    map[int]work
	unique  []work
	jobs    map[holdfast.ID]int
	clients [3]*holdfast.Client
}

func newLoad(c *cluster) *load {
	l := &load{c: c, plan: map[int]work{}, jobs: map[holdfast.ID]int{}}
	for i := range l.clients {
		l.clients[i] = open(c.t, c.config.Database)
	}
	return l
}

// enqueue enqueues jobs, and at the same time, from two other clients, all unique ones so far once more.
func (l *load) enqueue(jobs []work) {
	l.c.t.Helper()
	for _, w := range jobs {
		l.plan[w.N] = w
		if w.Child != 0 {
			l.plan[w.Child] = child(w)
		}
		if w.Unique {
			l.unique = append(l.unique, w)
		}
	}
	var found [3]map[holdfast.ID]int
	var clients sync.WaitGroup
	for i, list := range [...][]work{jobs, l.unique, l.unique} {
		clients.Go(func() { found[i] = l.c.enqueue(l.clients[i], list) })
	}
	clients.Wait()
	for _, ids := range found {
		maps.Copy(l.jobs, ids)
	}
}

// finish waits until everything has finished, and returns the history.
func (l *load) finish(limit time.Duration) history {
	l.c.t.Helper()
	records := l.c.finished(limit)
	return history{plan: l.plan, enqueued: l.jobs, effects: l.c.effects(0), records: records, slow: l.c.slow()}
}

func report(t *testing.T, problems []string) {
	t.Helper()
	const most = 20
	for i, problem := range problems {
		if i == most {
			t.Errorf("and %d more", len(problems)-most)
			break
		}
		t.Error(problem)
	}
}
