//go:build soak

package crashtest

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/store"
)

// TestKill kills three nodes again and again while they work, and while jobs are enqueued,
// cancelled and retried.
func TestKill(t *testing.T) {
	t.Parallel()
	onEach(t, func(t *testing.T, database string) {
		const enough, batch, workers = 24, 100, 3
		random := newRandom(t)
		config := workerConfig{Database: database, Slots: 8, Beat: 300 * time.Millisecond, Dead: 2 * time.Second}
		if strings.HasPrefix(database, "sqlite:") {
			// There a kill is known at once, and three processes that share one lock for writing
			// beat late on a busy machine.
			config.Beat, config.Dead = time.Second, 6*time.Second
		}
		c := newCluster(t, config, workers)
		load, plan, victims := newLoad(c, random()), planner{random: random()}, random()
		kills := 0
		for round := 0; kills < enough; round++ {
			records := c.counted()
			load.enqueue(plan.next(batch))
			for range 1 + round%2 {
				records += 10 + victims.IntN(100)
				if !c.works(records, load.waiting()) {
					break
				}
				for _, place := range draw(victims, workers) {
					c.kill(place)
					c.start(place)
					kills++
				}
				load.ask()
			}
		}
		load.cancelRunning()
		h := load.finish()
		problems, figures := verify(h)
		t.Logf("%d kills, slow nodes: %v; %v", kills, h.slowNodes(), figures)
		report(t, problems)
		if figures.lost < kills || figures.duplicates["node_lost"] == 0 {
			t.Error("the kills met too little work to mean something")
		}
		if figures.asked[store.Cancelled] == 0 || figures.asked[store.Running] == 0 || figures.stopped == 0 || figures.again == 0 {
			t.Error("the cancels and retries met too little to mean something")
		}
	})
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
