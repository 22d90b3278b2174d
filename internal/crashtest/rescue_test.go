package crashtest

import (
	"testing"
	"time"

	"github.com/holdfastdev/holdfast/internal/racing"
	"github.com/holdfastdev/holdfast/store"
)

// TestRescueWithinDefaultSettings kills a node while another one lives. Nobody can know that it is
// dead, but by its silence. That it takes 25 seconds at the most is shown in virtual time, by the
// engine's tests; here it is written down.
func TestRescueWithinDefaultSettings(t *testing.T) {
	t.Parallel()
	racing.Off(t) // TestFlows has the same at work under it
	const dead = 20 * time.Second
	c := newCluster(t, workerConfig{Database: newPostgres(t), Slots: 2}, 1)
	c.hold()
	c.add()
	c.joined()
	c.kill(0)
	if d := c.rescued(); d.silence < dead-blink {
		t.Errorf("the node was declared dead after a silence of %v", d.silence)
	}
}

// TestRescueAtOnce kills a node on SQLite and starts its program again. Processes on one machine
// know at once that another is dead: its silence would tell nobody before the test is over.
func TestRescueAtOnce(t *testing.T) {
	t.Parallel()
	racing.Off(t) // TestFlows has the same at work under it
	c := newCluster(t, workerConfig{Database: newSQLite(t), Slots: 2, Beat: 5 * time.Second, Dead: time.Hour}, 1)
	c.hold()
	c.kill(0)
	c.start(0)
	if d := c.rescued(); d.silence >= c.config.Dead {
		t.Errorf("the node was declared dead after a silence of %v", d.silence)
	}
}

// hold enqueues a job whose first run does not end by itself, and waits for that run.
func (c *cluster) hold() {
	c.t.Helper()
	c.enqueue(c.client, []work{{N: 1, Holds: true}})
	c.until("the job runs", func() bool { return c.counted() > 0 })
}

// rescued waits until the job of a killed node runs again, and returns what the database says of
// the node.
func (c *cluster) rescued() death {
	c.t.Helper()
	killed := time.Now()
	c.until("the job runs again", func() bool { return c.counted() > 1 })
	c.t.Logf("the job of the killed node ran again after %v", time.Since(killed).Round(time.Millisecond))
	c.settled()
	first, second := c.effects(0)[0], c.effects(0)[1]
	for id, r := range c.records() {
		if r.State != store.Completed || r.Lease.Number != 2 || len(r.Attempts) != 1 ||
			r.Attempts[0].Reason != store.ReasonNodeLost || r.Attempts[0].Node != first.Node {
			c.t.Errorf("job %s: %+v", id, r)
		}
	}
	if second.Event != eventStart || second.Lease != 2 || second.By == first.By {
		c.t.Errorf("the second run began as %+v", second)
	}
	d, ok := c.deaths()[first.Node]
	if !ok {
		c.t.Fatalf("node %d is not dead", first.Node)
	}
	return d
}
